"""`optimize-eval optimize`: a candidate improved by who proposes, believed only by a final sweep."""

import typer

from optimize_eval.cli.command_line import SearchedCandidates, SpecFile, SweepOption
from optimize_eval.config.search import OptimizeCommand

EXAMPLES = """\b
Examples:
  optimize-eval optimize prompt.txt -e ./judge.sh --dataset d.jsonl --valset v.jsonl --proposer ./propose.sh
  optimize-eval optimize p.txt -e ./judge.sh --dataset d.jsonl --val-share 0.3 --reflection-model ollama/qwen3
  optimize-eval optimize --prompt p.md --model openai/gpt-4o-mini -e @f1 --dataset d.jsonl --proposer ./p.sh
  optimize-eval optimize rules.txt -e @routing --dataset d.jsonl --valset v.jsonl --proposer ./p.sh --dry-run

\b
Run the same command again to resume the search; a larger --budget goes on
from where it ended.
Exit codes: 0 done, 1 no gain shown (--require-better), 2 wrong option or
data, 3 it could not go on, 4 the evaluator or the proposer failed, 130
interrupted.
"""


def optimize(
    context: typer.Context,
    options: OptimizeCommand,
    texts: SearchedCandidates = None,
    _sweep_file: SweepOption = None,
    _spec_file: SpecFile = None,
) -> None:
    """Improve a candidate: the dataset drives the search, val is opened once, at the end."""
    from optimize_eval.cli.improving import improve  # noqa: PLC0415  a plain --help needs no search

    improve(context, options, texts or ())
