"""Sweep files: TOML that says what `run` and `preflight` otherwise take as options.

A Sweep is one that can be used. How one is read, with every problem and its line, is said in reading; which
keys there are and what each takes, in keys. What the options mean is the commands' business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from optimize_eval.connect import command_spec, endpoint_spec, parse_evaluator, split_command
from optimize_eval.names import distinct
from optimize_eval.reach import EvaluatorSpec

SUFFIX = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What a sweep file says: options by their names, and one entry for each evaluator."""

    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    entries: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @property
    def stem(self) -> str:
        return Path(self.path).stem

    def specs(self, defaults: EvaluatorSpec, given: Mapping[str, Any]) -> tuple[EvaluatorSpec, ...]:
        """Make the evaluators; what is `given` by flags wins over what the file says of each."""
        start = replace(defaults, cwd=str(Path(self.path).parent))
        specs = [spec_of(entry, start, given) for entry in self.entries]
        names = distinct(spec.name for spec in specs)
        return tuple(replace(spec, name=name) for spec, name in zip(specs, names, strict=True))


def spec_of(entry: Mapping[str, Any], start: EvaluatorSpec, given: Mapping[str, Any]) -> EvaluatorSpec:
    """Make one evaluator of its entry; raises UsageError where its target is none."""
    said = {key: value for key, value in entry.items() if key not in {"name", *TARGETS}}
    defaults = replace(start, **{**said, **given})
    target = next(key for key in TARGETS if key in entry)
    spec = TARGETS[target](entry[target], defaults)
    return replace(spec, name=entry["name"]) if "name" in entry else spec


def _command(command: str | list[str], defaults: EvaluatorSpec) -> EvaluatorSpec:
    argv = split_command(command) if isinstance(command, str) else tuple(command)
    return command_spec(argv, defaults)


TARGETS = {  # key → how its value becomes an evaluator
    "command": _command,
    "url": endpoint_spec,
    "use": parse_evaluator,
}
