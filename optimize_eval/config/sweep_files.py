"""Sweep files: TOML that says what options say; every problem at once, each at its line.

A Sweep is one that can be used. What the options mean is the commands' business. Most keys of [[evaluator]]
are options of evaluators; the others have no flag.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base import checks, files, strict_json
from optimize_eval.base.checks import Check, Keys
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.config import compared, evaluators, model_tables, prompts, search
from optimize_eval.config.declared import declared
from optimize_eval.config.evaluators import ReachOptions, trial_keys
from optimize_eval.config.model_tables import NamedModel
from optimize_eval.config.values import prices_of
from optimize_eval.data.candidates import CandidatePath
from optimize_eval.evaluators.kinds import kinds, named_apart

if TYPE_CHECKING:
    from optimize_eval.evaluators.kinds import Kind


class KeyPlace(NamedTuple):
    """A key of a table; the table's number counts those of the same name."""

    table: str
    number: int = 0
    key: str = ""


class EvaluatorEntry(NamedTuple):
    """What the file says of one evaluator, which is its table number `number`."""

    number: int
    said: JsonMapping


@frozen
class Sweep:
    """What a sweep file says: options by their names, the candidates, and one entry for each evaluator."""

    path: str
    candidates: tuple[CandidatePath, ...] = ()
    options: JsonMapping = field(default_factory=dict)
    search: JsonMapping = field(default_factory=dict)  # options of `optimize` alone
    entries: tuple[EvaluatorEntry, ...] = field(default=(), repr=False)
    models: Mapping[str, NamedModel] = field(default_factory=dict)  # that no evaluator judges by
    lines: Mapping[KeyPlace, int] = field(default_factory=dict, repr=False)

    def problem(self, where: KeyPlace, reason: str, rule: str = "bad_value") -> Problem:
        """Place a problem at the line of a key, or of its table where the key is not there."""
        line = self.lines.get(where) or self.lines.get(where._replace(key=""))
        return Problem(path=self.path, rule=rule, reason=reason, line=line)

    def specs(self, defaults: EvaluatorSpec, given: JsonMapping) -> tuple[EvaluatorSpec, ...]:
        """Make the evaluators; what is `given` by flags wins over what the file says of each."""
        start = replace(defaults, cwd=str(Path(self.path).parent))
        return named_apart(spec_of(entry.said, start, given) for entry in self.entries)


def spec_of(said: JsonMapping, start: EvaluatorSpec, given: JsonMapping) -> EvaluatorSpec:
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


_COMMON = {field.name for field in fields(EvaluatorSpec)} - {"name", "target"}


GROUPS = (
    *(
        compared.SplitOptions,
        compared.CandidateOptions,
        compared.AxisOptions,
        compared.PartOptions,
        compared.GroupingOptions,
        compared.LeakOptions,
    ),
    *(
        compared.EngineOptions,
        compared.SlotOptions,
        compared.StopOptions,
        compared.SpendingOptions,
        compared.ServerOptions,
        compared.ResumeOptions,
    ),
    *(prompts.PromptingOptions, prompts.SandboxOptions, prompts.TurnOptions),
    *(compared.FolderOptions, evaluators.ReachOptions, compared.RunGateOptions),
    *(
        search.ProposerOptions,
        search.GoalOptions,
        search.BudgetOptions,
        search.StepOptions,
        search.SearchSplitOptions,
        search.BestOptions,
    ),
)


def run_keys(folder: str) -> Keys:
    """List what [run] takes; paths are relative to the sweep file's folder."""
    return _keys(compared.RUN, folder)


def gate_keys(folder: str) -> Keys:
    """List what [gates] takes; paths are relative to the sweep file's folder."""
    return _keys(compared.GATES, folder)


def optimize_keys(folder: str) -> Keys:
    """List what [optimize] takes."""
    return _keys(search.OPTIMIZE, folder)


def _keys(table: str, folder: str) -> Keys:
    return {
        option.key: option.option.value.key(folder)
        for group in GROUPS
        for option in declared(group).values()
        if option.option.table == table and option.option.value
    }


def evaluator_keys(folder: str) -> Keys:
    """List what [[evaluator]] takes."""
    options = {
        option.key: option.option.value.key(folder)
        for option in declared(ReachOptions).values()
        if option.option.value is not None
    }
    common = {"name": checks.name, "env": checks.environment, "weight": checks.weight}
    return {**common, **_target_keys(), **options, **trial_keys(folder), **_settings(folder)}


def _target_keys() -> dict[str, Check]:
    return {key: target.check for kind in kinds() for key, target in kind.targets().items()}


def _settings(folder: str) -> dict[str, Check]:
    return {key: check for kind in kinds() for key, check in kind.settings(folder).items()}


_TABLES = ("run", "evaluator", "gates", "optimize", "prices", "model")

_LIST = ".jsonl"
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w-]+)(?:\s*\.\s*([\w-]+))?")
_KEY = re.compile(r"\s*([\w-]+)\s*=")
_SPEC_KEYS = {"env": "environment"}


def load_sweep(path: str) -> Sweep:
    """Read a sweep file; raises DataError with all its problems."""
    sweep, problems = read_sweep(path)
    if problems:
        raise DataError(problems)
    return sweep


def read_sweep(path: str) -> tuple[Sweep, list[Problem]]:
    """Read what can be used of a sweep file, and list what is wrong with the rest."""
    try:
        text = files.read(path, files.SETTINGS).decode()
        tables = strict_json.loads_toml(text)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte 0x{error.object[error.start]:02X} at offset {error.start}"
        return Sweep(path=path), [Problem(path=path, rule="bad_utf8", reason=reason)]
    except strict_json.TomlFault as fault:
        reason = f"not TOML: {fault.reason}"
        problem = Problem(path=path, rule="bad_toml", reason=reason, line=fault.line, column=fault.column)
        return Sweep(path=path), [problem]
    reading = _Reading(path, text)
    return reading.sweep(tables), sorted(reading.problems, key=lambda problem: problem.line or 0)


def read_evaluator(table: JsonMapping, called: str) -> JsonMapping:
    """Check what a program says of one evaluator, by the keys of [[evaluator]]; raises DataError."""
    reading = _Reading(called, "")
    entry = reading.entry(KeyPlace("evaluator"), table)
    if entry is None or reading.problems:
        raise DataError(reading.problems)
    return entry


def read_model(table: JsonMapping, called: str) -> NamedModel:
    """Check what a program says of one model, by the keys of [[model]]; raises DataError or UsageError."""
    reading = _Reading(called, "")
    checked = reading.table(KeyPlace("model"), table, model_tables.model_keys())
    if reading.problems:
        raise DataError(reading.problems)
    unnamed = {"name": checked["model"].partition("@")[0]} if "model" in checked else {}
    model: NamedModel = model_tables.named_model({**unnamed, **checked})
    return model


class _Reading:
    """One file, checked key by key."""

    def __init__(self, path: str, text: str) -> None:
        self._folder = str(Path(path).parent)
        self._sweep = Sweep(path=path, lines=dict(reversed(list(_lines_of(text)))))  # the first ones count
        self.problems: list[Problem] = []
        self._models: Mapping[str, NamedModel] = {}
        self._judging: set[str] = set()  # of them

    def sweep(self, tables: JsonMapping) -> Sweep:
        self._refuse_unknown(KeyPlace(""), tables, _TABLES)
        run = self.table(KeyPlace("run"), tables.get("run", {}), run_keys(self._folder))
        gates = self.table(KeyPlace("gates"), tables.get("gates", {}), gate_keys(self._folder))
        self._models = self._named_models(tables["model"]) if "model" in tables else {}
        search = self.table(KeyPlace("optimize"), tables.get("optimize", {}), optimize_keys(self._folder))
        entries = self._entries(tables.get("evaluator", []))
        if self._has_prices(tables):
            run["prices"] = self._sweep.path
        candidates = tuple(CandidatePath(path, path.endswith(_LIST)) for path in run.pop("candidates", ()))
        sweep = replace(
            self._sweep,
            candidates=candidates,
            options=_options(run, gates),
            search=_options(search, {}),
            entries=tuple(entries),
            models={name: model for name, model in self._models.items() if name not in self._judging},
        )
        for key in ("fail_under", "min_agreement"):
            if bounds := gates.get(key):
                self._check_bounds(key, bounds, [spec.name for spec in sweep.specs(EvaluatorSpec(), {})])
        return sweep

    def _has_prices(self, tables: JsonMapping) -> bool:
        try:
            return bool(prices_of(tables.get("prices", {})))
        except ValueError as error:
            self._complain(KeyPlace("prices"), f"prices: {error}")
            return False

    def _check_bounds(self, key: str, bounds: Iterable[str], evaluators: Sequence[str]) -> None:
        where = KeyPlace("gates", 0, key)
        for bound in bounds:
            if evaluators and not any(
                f"{bound}@".startswith(f"{name}@") or checks.demand_behind(name, bound) for name in evaluators
            ):
                self._complain(where, f"no evaluator is called {bound!r}{_close(bound, evaluators)}")

    def _named_models(self, listed: object) -> dict[str, NamedModel]:
        named = {}
        for number, table in enumerate(listed if isinstance(listed, list) else [listed]):
            where = KeyPlace("model", number)
            known = len(self.problems)
            checked = self.table(where, table, model_tables.model_keys())
            try:
                model = model_tables.named_model(checked)
            except UsageError as error:
                if len(self.problems) == known:
                    self._complain(where, f"{error.message}: {error.hint}")
            else:
                named[model.name] = model
        return named

    def _model(self, check: Check, value: object) -> Any:
        """Find the model that an evaluator names, or several: of [[model]], or of a provider."""
        if isinstance(value, list) and value:
            return [self._model(check, item) for item in value]
        if not (isinstance(value, str) and value in self._models):
            return check(value)
        self._judging.add(value)
        return self._models[value]

    def _entries(self, listed: object) -> list[EvaluatorEntry]:
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            self._complain(KeyPlace("evaluator"), "write each evaluator as a table of its own: [[evaluator]]")
            return []
        entries = [self.entry(KeyPlace("evaluator", number), table) for number, table in enumerate(listed)]
        return [EvaluatorEntry(number, entry) for number, entry in enumerate(entries) if entry]

    def entry(self, where: KeyPlace, table: JsonMapping) -> JsonDict | None:
        """Check an evaluator; None where it has no target that could be called."""
        known = target_keys()
        checked = self.table(where, table, self._checks_of_evaluator(known))
        targets = [key for key in known if key in table]
        if len(targets) != 1 and (targets or table.keys().isdisjoint(_MEANT)):
            had = f"it has {' and '.join(targets)}" if targets else "it has none"
            self._complain(where, f"an evaluator has one of {', '.join(known)}: {had}")
        entry = {_SPEC_KEYS.get(key, key): value for key, value in checked.items()}
        if len(targets) != 1 or targets[0] not in entry:
            return None
        self._refuse_foreign(where, table, known[targets[0]])
        try:
            spec_of(entry, EvaluatorSpec(), {})
        except DataError as error:
            self.problems += error.problems
            return None
        except UsageError as error:
            self._complain(where._replace(key=targets[0]), f"{error.message} ({error.hint})")
            return None
        return entry

    def _checks_of_evaluator(self, known: "Mapping[str, Kind]") -> dict[str, Check]:
        """List the checks of [[evaluator]]'s keys, some of which may name a table [[model]]."""
        checks = dict(evaluator_keys(self._folder))
        of_models = [key for key, kind in known.items() if kind.targets()[key].is_model]
        return {**checks, **{key: partial(self._model, checks[key]) for key in of_models}}

    def _refuse_foreign(self, where: KeyPlace, table: JsonMapping, own: "Kind") -> None:
        """Refuse keys that only another kind of evaluator has."""
        for kind in kinds():
            for key in kind.settings(self._folder) if kind is not own else ():
                if key in table:
                    self._complain(where._replace(key=key), f"{key}: only {kind.noun} has it")

    def table(self, where: KeyPlace, table: object, keys: Keys) -> JsonDict:
        """Check a table's keys, and return those that are as they should be."""
        if not isinstance(table, dict):
            self._complain(where, f"write it as a table: [{where.table}]")
            return {}
        self._refuse_unknown(where, table, keys)
        checked = {}
        for key in table.keys() & keys.keys():
            try:
                checked[key] = keys[key](table[key])
            except UsageError as error:  # a ValueError, too: it comes first
                self._complain(where._replace(key=key), f"{key}: {error.message}")
            except ValueError as error:
                self._complain(where._replace(key=key), f"{key}: {error}")
        return checked

    def _refuse_unknown(self, where: KeyPlace, table: JsonMapping, known: Iterable[str]) -> None:
        among = f"[{where.table}]" if where.table else "a sweep file"
        for key in table:
            if key not in known:
                spot = where._replace(key=key) if where.table else KeyPlace(key)
                meant = (
                    ": write it under [run]"
                    if not where.table and key in run_keys(".")
                    else _close(key, known)
                )
                self._complain(spot, f"unknown key {key!r} in {among}{meant}", "unknown_key")

    def _complain(self, where: KeyPlace, reason: str, rule: str = "bad_value") -> None:
        self.problems.append(self._sweep.problem(where, reason, rule))


def _options(run: JsonMapping, gates: JsonMapping) -> JsonDict:
    """Write what the file says as flags do, by its keys."""
    options = {**run, **gates}
    for key in ("fail_under", "min_agreement", "goal"):
        if by_name := options.pop(key, None):
            options[key] = [f"{name}={value!r}" for name, value in by_name.items()]
    if "score_range" in options:
        options["score_range"] = str(options["score_range"])
    return {key: value for key, value in options.items() if value != []}


def _lines_of(text: str) -> Iterator[tuple[KeyPlace, int]]:
    """Find the line of each table and key; a table inside another one stands for a key of that."""
    where, numbers = KeyPlace(""), Counter[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table, key = header[2], header[3] or ""
            if header[1] == "[[":
                numbers[table] += 1
            where = KeyPlace(table, max(0, numbers[table] - 1), key)
            yield where, number
        elif (match := _KEY.match(line)) and not where.key:
            yield where._replace(key=match[1]) if where.table else KeyPlace(match[1]), number


_MEANT = {"cmd": "command", "program": "command", "exec": "command", "script": "command"}


def _close(word: str, known: Iterable[str]) -> str:
    known = list(known)
    meant = _MEANT.get(word)
    close = [meant] if meant in known else get_close_matches(word, known, n=1)
    return f": did you mean {close[0]!r}?" if close else f": it takes {', '.join(sorted(known))}"
