"""What makes an evaluator of tasks the same one tomorrow: its model, and the metrics that score.

A model is its program's files, its recorded outputs, or its name and settings; never a timeout or a key. How
a scorer is identified is handed in, for it may be of any kind.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.programs.identity import Identity, has_other_programs
from optimize_eval.tasks.target import tasks_of
from optimize_eval.tasks.under_test.identity import identify_model, sha256_of
from optimize_eval.tasks.under_test.table import CMD, parse_model, program_spec

Identify = Callable[[EvaluatorSpec], Identity]

_SHOWN = 8  # of a digest

_Files = tuple[tuple[str, str], ...]


def identify(spec: EvaluatorSpec, identify_scorer: Identify) -> Identity:
    """Read the files that a model and its scorers name, and digest what they are."""
    task = tasks_of(spec)
    model = identify_model(task.model, spec) if task.model else None
    scorer = task.scorer.target if task.scorer else None
    scorers = [(scorer.name, identify_scorer(scorer)) for scorer in task.scorers]
    files = tuple(
        file for identity in (model, *(known for _, known in scorers)) if identity for file in identity.files
    )
    return Identity(
        name=spec.name,
        text=model.text if model else _text_of(spec, scorers),
        files=tuple(dict.fromkeys(files)),
        sha256=sha256_of(
            [
                model and model.sha256,
                [(name, known.sha256) for name, known in scorers],
                *(["shown the prompt"] if getattr(scorer, "shows_prompt", False) else []),
            ]
        ),
        model=model.sha256 if model else "",
    )


def _text_of(spec: EvaluatorSpec, scorers: Sequence[tuple[str, Identity]]) -> str:
    """Write down what scores: a task file, or who does so in the place of its metrics."""
    return scorers[0][1].text if tasks_of(spec).scorer else f"task:{Path(spec.text).name}"


def has_changed(spec: EvaluatorSpec, known: Identity, identify_scorer: Identify) -> bool:
    """Return True if a program is not the one that was identified; data that it writes to may change."""
    try:
        now = identify(spec, identify_scorer).files
    except UsageError:  # it cannot be read any more
        return True
    task = tasks_of(spec)
    named = parse_model(task.model) if task.model else None
    program = program_spec(named.rest, spec) if named and named.kind == CMD else spec
    return has_other_programs(known, now, program)


def model_has_changed(spec: EvaluatorSpec) -> bool:
    """Return True if the program of a model, which was identified when it was planned, is another one now."""
    task = tasks_of(spec)
    named = parse_model(task.model)
    if named.kind != CMD or task.known_as is None:
        return False
    try:
        now = identify_model(task.model, spec).files
    except UsageError:  # it cannot be read any more
        return True
    return has_other_programs(task.known_as, now, program_spec(named.rest, spec))


def model_of(known: Identity) -> Identity:
    """Give the identity of the model that an evaluator of tasks calls."""
    return Identity(name=known.text, text=known.text, files=(), sha256=known.model)
