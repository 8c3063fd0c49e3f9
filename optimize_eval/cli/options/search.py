"""The options of `optimize` alone; those that it shares with other commands are in options."""

from enum import StrEnum
from typing import Annotated

import typer

from optimize_eval.cli.options import shared as options

MODEL_VARIABLE = "OPTIMIZE_ANYTHING_MODEL"


class AcceptanceRule(StrEnum):
    """What a proposal has to be on its minibatch."""

    STRICT = "strict"
    EQUAL = "equal"


class SelectionRule(StrEnum):
    """From whom the next proposal is made."""

    PARETO = "pareto"
    CURRENT_BEST = "current_best"
    EPSILON_GREEDY = "epsilon_greedy"
    TOP_K_PARETO = "top_k_pareto"


Candidate = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CANDIDATE…",
        help="What to improve; further ones join the race. Or a sweep file with [optimize].",
        callback=options.take_sweep_of_search,
        is_eager=True,
    ),
]
Dataset = Annotated[
    str | None, typer.Option("--dataset", metavar="FILE", help="Train: what proposers learn from.")
]
Valset = Annotated[
    str | None, typer.Option("--valset", metavar="FILE", help="Val: held out, decides what is kept.")
]
Testset = Annotated[
    str | None, typer.Option("--testset", metavar="FILE", help="A third split, for the final sweep only.")
]
ValShare = Annotated[
    float | None,
    typer.Option("--val-share", metavar="SHARE", help="Hold out a share of --dataset as val."),
]
Proposer = Annotated[
    list[str] | None,
    typer.Option("--proposer", metavar="SPEC", help="[NAME=]COMMAND or URL; several take turns."),
]
ReflectionModel = Annotated[
    list[str] | None,
    typer.Option(
        "--reflection-model",
        metavar="MODEL",
        envvar=MODEL_VARIABLE,
        show_envvar=False,
        help="A language model that proposes.",
    ),
]
Objective = Annotated[
    str | None, typer.Option("--objective", metavar="TEXT", help="What proposers are to reach.")
]
Background = Annotated[
    str | None, typer.Option("--background", metavar="TEXT", help="What proposers should know.")
]
FromScratch = Annotated[
    bool, typer.Option("--from-scratch", "--no-seed", help="Let the proposer write the first candidate.")
]
Components = Annotated[bool, typer.Option("--components", help="The candidate is a JSON object of texts.")]
Budget = Annotated[
    int | None,
    typer.Option("--budget", metavar="N", min=1, help="The search's calls, at most."),
]
EarlyStop = Annotated[
    bool | None,
    typer.Option(
        "--early-stop/--no-early-stop",
        help="Stop where nothing gets better.",
        show_default=False,
    ),
]
EarlyStopWindow = Annotated[
    int,
    typer.Option(
        "--early-stop-window", metavar="N", min=1, help="Proposals without a gain (10).", show_default=False
    ),
]
EarlyStopThreshold = Annotated[
    float,
    typer.Option(
        "--early-stop-threshold",
        metavar="X",
        min=0.0,
        help="Least gain, of the range (.005).",
        show_default=False,
    ),
]
Climb = Annotated[
    str | None, typer.Option("--climb", metavar="NAME", help="The evaluator that is climbed (first).")
]
Goal = Annotated[
    list[str] | None, typer.Option("--goal", metavar="NAME=W", help="Climb a weighted mean instead.")
]
Minibatch = Annotated[
    int | None, typer.Option("--minibatch", metavar="N", min=1, help="Train examples per proposal (3).")
]
Proposals = Annotated[int, typer.Option("--proposals", metavar="N", min=1, help="Proposals at once.")]
Acceptance = Annotated[
    AcceptanceRule,
    typer.Option("--acceptance", help="Better on its minibatch, or as good.", show_default=False),
]
Selection = Annotated[
    SelectionRule,
    typer.Option(
        "--selection", metavar="NAME", help="Whose text is improved next (pareto).", show_default=False
    ),
]
Merge = Annotated[bool, typer.Option("--merge", help="Join components of good candidates.")]
SearchVal = Annotated[
    int | None, typer.Option("--search-val", metavar="N", min=1, help="Val examples used in the search.")
]
MaxCandidateChars = Annotated[
    int | None, typer.Option("--max-candidate-chars", metavar="N", min=1, help="Refuse longer proposals.")
]
Top = Annotated[
    int,
    typer.Option("--top", metavar="N", min=1, help="Candidates in the final sweep (3).", show_default=False),
]
Repeats = Annotated[
    int,
    typer.Option("--repeats", metavar="N", min=1, help="Final calls per example (1).", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", metavar="S", help="For choices at random.")]
ProposerTimeout = Annotated[
    float,
    typer.Option(
        "--proposer-timeout",
        metavar="SECONDS",
        help="How long one proposal may take (300).",
        show_default=False,
    ),
]
JudgeObjective = Annotated[
    str | None, typer.Option("--judge-objective", metavar="TEXT", help="What a judge is to look for.")
]
Rubric = Annotated[
    str | None,
    typer.Option("--rubric", "--intake-file", metavar="FILE", help="TOML or JSON: how a judge is to judge."),
]
Out = Annotated[str | None, typer.Option("--out", "--run-dir", metavar="DIR", help="The search's folder.")]
File = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the best candidate there.")
]
RequireBetter = Annotated[bool, typer.Option("--require-better", help="Exit 1 if no gain is shown.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Delete what is in the folder and start over.")]
SpecFile = Annotated[
    str | None,
    typer.Option("--spec-file", metavar="FILE", hidden=True, callback=options.take_sweep, is_eager=True),
]
Cache = Annotated[bool, typer.Option("--cache", hidden=True)]
Diff = Annotated[bool, typer.Option("--diff", hidden=True)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan; call nothing.")]
