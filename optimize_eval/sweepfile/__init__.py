"""Sweep files: TOML that says what `run` and `preflight` otherwise take as options.

A Sweep is one that can be used. How one is read, with every problem and its line, is said in reading; which
keys there are and what each takes, in keys. What the options mean is the commands' business.
"""

from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base.errors import Problem
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.data.candidates import CandidatePath
from optimize_eval.evaluators.kinds import kinds, named_apart

if TYPE_CHECKING:
    from optimize_eval.evaluators.kind import Kind
    from optimize_eval.sweepfile.models import NamedModel

SUFFIX = ".toml"


class KeyPlace(NamedTuple):
    """A key of a table; the table's number counts those of the same name."""

    table: str
    number: int = 0
    key: str = ""


class EvaluatorEntry(NamedTuple):
    """What the file says of one evaluator, which is its table number `number`."""

    number: int
    said: Mapping[str, Any]


@frozen
class Sweep:
    """What a sweep file says: options by their names, the candidates, and one entry for each evaluator."""

    path: str
    candidates: tuple[CandidatePath, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)  # options of `optimize` alone
    entries: tuple[EvaluatorEntry, ...] = field(default=(), repr=False)
    models: Mapping[str, "NamedModel"] = field(default_factory=dict)  # that no evaluator judges by
    lines: Mapping[KeyPlace, int] = field(default_factory=dict, repr=False)

    def problem(self, where: KeyPlace, reason: str, rule: str = "bad_value") -> Problem:
        """Place a problem at the line of a key, or of its table where the key is not there."""
        line = self.lines.get(where) or self.lines.get(where._replace(key=""))
        return Problem(path=self.path, rule=rule, reason=reason, line=line)

    def specs(self, defaults: EvaluatorSpec, given: Mapping[str, Any]) -> tuple[EvaluatorSpec, ...]:
        """Make the evaluators; what is `given` by flags wins over what the file says of each."""
        start = replace(defaults, cwd=str(Path(self.path).parent))
        return named_apart(spec_of(entry.said, start, given) for entry in self.entries)


def spec_of(said: Mapping[str, Any], start: EvaluatorSpec, given: Mapping[str, Any]) -> EvaluatorSpec:
    """Make one evaluator of what is said of it; raises UsageError where its target is none."""
    options = {**said, **given}
    common = {key: value for key, value in options.items() if key in _COMMON}
    target, kind = next((key, kind) for key, kind in target_keys().items() if key in said)
    settings = {key: options[key] for key in kind.settings("") if key in options}
    spec = kind.targets()[target].spec(said[target], replace(start, target=None, **common), settings)
    return replace(spec, name=said["name"]) if "name" in said else spec


def target_keys() -> dict[str, "Kind"]:
    """List the keys that name an evaluator, each with the kind of evaluator that it is."""
    return {key: kind for kind in kinds() for key in kind.targets()}


_COMMON = {one.name for one in fields(EvaluatorSpec)} - {"name", "target"}
