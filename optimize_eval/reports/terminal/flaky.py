"""Flaky examples: which pass in one call and not in another, here and in other runs."""

from collections.abc import Iterator

from optimize_eval.findings.flaky import FlakyExample, FlakyExamples
from optimize_eval.findings.wording import count, place_of_scores
from optimize_eval.reports.text import Screen

_MOST = 40


def render(listed: FlakyExamples, screen: Screen) -> str:
    """Write a line for each, those nearest to one half first."""
    return "\n".join(line for text in _texts(listed) for line in screen.wrap(" ", text))


def _texts(listed: FlakyExamples) -> Iterator[str]:
    others = f" and {count(len(listed.runs), 'run')} beside it" if listed.runs else ""
    yield f"{len(listed.flaky):,} of {count(listed.examples, 'example')} flaky, in {listed.run}{others}"
    for example in listed.flaky[:_MOST]:
        yield f"{_place(example)}: {_passes(example)}"
    if len(listed.flaky) > _MOST:
        yield f"… and {len(listed.flaky) - _MOST:,} more, which --json lists"
    for name in listed.graded:
        yield f"{name} has scores other than 0 and 1, which neither pass nor fail"


def _place(example: FlakyExample) -> str:
    where = example.where
    line = "" if example.line is None else f" {example.line}"
    name = f" ({example.name})" if example.name else ""
    return f"{place_of_scores(where)}, {where.split}{line}{name}"


def _passes(example: FlakyExample) -> str:
    here, *others = example.runs
    fresh = example.fresh
    parts = [f"passes {here.passed:,} of {here.calls:,}"]
    parts += [f"{fresh.passed:,} of {fresh.calls:,} fresh ones"] if fresh else []
    parts += [f"{other.passed:,} of {other.calls:,} in {other.run}" for other in others]
    return ", ".join(parts)
