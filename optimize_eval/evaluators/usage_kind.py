"""What a model's reply took, as an evaluator of a run of prompts: `@latency`, `@cost`, `@tokens`."""

from dataclasses import replace
from typing import Never

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.evaluators.kinds import Kind
from optimize_eval.programs.identity import Identity, digest_words
from optimize_eval.tasks.of_replies import MEASURES, Measure

NAMES = tuple(f"@{name}" for name in MEASURES)


def parse(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Read one of the names; its scores are below zero, whatever others' may be."""
    name = target.strip()
    if name not in NAMES:
        raise UsageError(f"no evaluator is called {name}", hint=f"name one of {', '.join(NAMES)}")
    plain = replace(defaults, score_range=ScoreRange.ANY)
    return plain.at(Measure(name[1:]), name=name[1:], text=name, retries=0)


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Never:
    raise UsageError(
        f"{spec.text} is about a model's reply, and no model is called",
        hint="add --prompt and --model; the time that evaluators take is in every report",
    )


def _identify(spec: EvaluatorSpec) -> Identity:
    return Identity(name=spec.name, text=spec.text, files=(), sha256=digest_words(["measure", spec.text]))


KIND = Kind(
    noun="a measure of replies",
    parse=parse,
    targets=dict,
    connect=_connect,
    identify=_identify,
    is_started=False,
)
