"""Sweep files: TOML that says what `run` and `preflight` otherwise take as options.

A Sweep is one that can be used. How one is read, with every problem and its line, is said in reading; which
keys there are and what each takes, in keys. What the options mean is the commands' business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.candidates import Named
from optimize_eval.errors import Problem
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.kinds.judge.rubric import JudgeSpec
from optimize_eval.kinds.table import command_spec, endpoint_spec, judge_spec, parse_evaluator, plan_judge
from optimize_eval.names import distinct
from optimize_eval.programs.text import split_command

if TYPE_CHECKING:
    from optimize_eval.sweepfile.models import NamedModel

SUFFIX = ".toml"
OF_SIGHT = ("shows", "hides", "human")
OF_A_JUDGE = ("objective", "rubric", "api_base", "temperature", "max_tokens", "seed", *OF_SIGHT)


class Where(NamedTuple):
    """A key of a table; the table's number counts those of the same name."""

    table: str
    number: int = 0
    key: str = ""


class Entry(NamedTuple):
    """What the file says of one evaluator, which is its table number `number`."""

    number: int
    said: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep file says: options by their names, the candidates, and one entry for each evaluator."""

    path: str
    candidates: tuple[Named, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)  # options of `optimize` alone
    entries: tuple[Entry, ...] = field(default=(), repr=False)
    lines: Mapping[Where, int] = field(default_factory=dict, repr=False)

    def problem(self, where: Where, reason: str, rule: str = "bad_value") -> Problem:
        """Tell a problem at the line of a key, or of its table where the key is not there."""
        line = self.lines.get(where) or self.lines.get(where._replace(key=""))
        return Problem(path=self.path, rule=rule, reason=reason, line=line)

    def specs(self, defaults: EvaluatorSpec, given: Mapping[str, Any]) -> tuple[EvaluatorSpec, ...]:
        """Make the evaluators; what is `given` by flags wins over what the file says of each."""
        start = replace(defaults, cwd=str(Path(self.path).parent))
        specs = [spec_of(entry.said, start, given) for entry in self.entries]
        names = distinct(spec.name for spec in specs)
        return tuple(replace(spec, name=name) for spec, name in zip(specs, names, strict=True))


def spec_of(said: Mapping[str, Any], start: EvaluatorSpec, given: Mapping[str, Any]) -> EvaluatorSpec:
    """Make one evaluator of what is said of it; raises UsageError where its target is none."""
    told = {**said, **given}
    how = {key: value for key, value in told.items() if key not in {"name", *TARGETS, *OF_A_JUDGE}}
    target = next(key for key in TARGETS if key in said)
    judging = {key: told[key] for key in OF_A_JUDGE if key in told}
    judge = plan_judge(judging) if target == "judge" else None
    spec = TARGETS[target](said[target], replace(start, judge=judge, **how))
    return replace(spec, name=said["name"]) if "name" in said else spec


def _command(command: str | list[str], defaults: EvaluatorSpec) -> EvaluatorSpec:
    argv = split_command(command) if isinstance(command, str) else tuple(command)
    return command_spec(argv, defaults)


def _judge(model: "str | NamedModel", defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Make a judge of a model's text, or of a table of its own."""
    if isinstance(model, str):
        return judge_spec(model, defaults)
    judge = replace(defaults.judge or JudgeSpec(), table=model.spec)
    return judge_spec(model.text, replace(defaults, judge=judge, manners=model.handled(defaults.manners)))


def _task(file: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    return parse_evaluator(f"task:{file}", defaults)


TARGETS = {  # key → how its value becomes an evaluator
    "command": _command,
    "url": endpoint_spec,
    "use": parse_evaluator,
    "task": _task,
    "judge": _judge,
}
