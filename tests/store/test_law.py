"""The law of runs that grow: whatever came before, a summary is that of one run of the last command alone.

But for what was tried in the folder, and what that decides.

And nothing that is scored is called again, wherever a session broke off.
Calls are made up here: a unit's score is drawn from its key, so what is another unit scores otherwise.
"""

import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.audit.__main__ import differences
from optimize_eval.audit.journaled import read
from optimize_eval.audit.summary import expected
from optimize_eval.base.errors import FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Failed, Scored
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import make_example
from optimize_eval.data.example import Example
from optimize_eval.evaluators.kinds import parse_evaluators
from optimize_eval.findings.stored_summary import summarise_stored
from optimize_eval.run.begin_or_resume import open_run
from optimize_eval.run.plan import Plan, Unit, document_of, plan_run
from optimize_eval.run.runner import record_of
from optimize_eval.run.splits import SplitSource
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.opened_run import StoredRun, open_stored
from tests.run.projects import without_history


@dataclass(frozen=True)
class Command:
    """What one command names; texts of evaluators, candidates and examples are of a version."""

    evaluators: dict[str, int]
    candidates: dict[str, int]
    models: tuple[str | None, ...]
    splits: dict[str, tuple[int, int]]  # how many examples, and of which version the second one is
    repeats: int
    fields: bool
    clusters: bool


def versions(names: str, most: int) -> st.SearchStrategy[dict[str, int]]:
    """Draw some names in any order, each with a version."""
    chosen = st.lists(st.sampled_from(names), min_size=1, unique=True)
    return chosen.flatmap(lambda some: st.fixed_dictionaries({name: st.integers(0, most) for name in some}))


COMMANDS = st.builds(
    Command,
    evaluators=versions("ef", 1),
    candidates=versions("abc", 2),
    models=st.sampled_from([(None,), ("m",), ("m", None), ("n", "m")]),
    splits=st.sampled_from(["train", "val", "train val"]).flatmap(
        lambda names: st.fixed_dictionaries(
            {name: st.tuples(st.integers(2, 4), st.integers(0, 1)) for name in names.split()}
        )
    ),
    repeats=st.integers(1, 2),
    fields=st.booleans(),
    clusters=st.booleans(),
)


def plan_of(command: Command) -> Plan:
    texts = [f"{name}=true {name} {'again ' * version}" for name, version in command.evaluators.items()]
    candidates = [
        Candidate(name=name, field=f"{name}{version % 2}")
        if command.fields
        else Candidate(name=name, text=f"{name}{version}")
        for name, version in command.candidates.items()
    ]
    return plan_run(
        parse_evaluators(texts, EvaluatorSpec()),
        candidates,
        [source(name, *chosen) for name, chosen in command.splits.items()],
        task_models=command.models,
        repeats=command.repeats,
        cluster_by="k" if command.clusters else None,
    )


def source(name: str, many: int, version: int) -> SplitSource:
    fields = {f"{letter}{n}": f"{letter} {n} of {name}" for letter in "abc" for n in range(2)}
    rows: list[dict[str, Any]] = [{"n": n, "k": f"{n // 2}", **fields} for n in range(1, many + 1)]
    rows[1]["x"] = version
    examples = [replace(make_example(row), line=n) for n, row in enumerate(rows, 1)]
    return SplitSource(name=name, file=f"{name}.jsonl", examples=tuple(examples))


def carry_out(folder: Path, command: Command, most: int | None = None) -> list[str]:
    """Call what is owed, at most so many calls, after which a kill leaves half a line; give the keys."""
    plan = plan_of(command)
    run = open_run(folder, plan, document_of(plan, {}, {}), fresh=False, replace=command.evaluators)
    view = run.ledger.of(plan.layout)
    owed = [plan.unit(number) for number in view.owed(range(plan.layout.size))][:most]
    lines = [called(unit) for unit in owed]
    with (folder / JOURNAL).open("ab") as file:
        file.truncate(run.ledger.ledger.end)
        file.write(journal.seal({"schema": journal.SCHEMA, "plan": run.document.id}))
        file.write(b"".join(lines) + (b"" if most is None else b'{"key":"torn'))
    if most is None:
        open_stored(folder).note_counts()
    return [unit.key for unit in owed if not fails(unit)]


def fails(unit: Unit) -> bool:
    return int(unit.key[:4], 16) % 9 == 0


def called(unit: Unit) -> bytes:
    """Answer as an evaluator that always says the same of the same, and always fails at the same."""
    if fails(unit):
        failed = Failed(kind=FailureKind.TIMEOUT, message="late", hint="", stderr="", seconds=1)
        return record_of(unit, failed, "now").line
    scored = Scored(score=int(unit.key[4:8], 16) / 65536, side_info={"key": unit.key[:3]}, seconds=1)
    return record_of(unit, scored, "now").line


def summary(run: StoredRun) -> bytes:
    told = summarise_stored(run).to_dict()
    del told["latency"], told["journal"]  # where it stands in a journal is that journal's
    return orjson.dumps(without_history(orjson.loads(orjson.dumps(told))))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(COMMANDS, st.none() | st.integers(0, 12)), max_size=5), COMMANDS)
def test_the_summary_is_that_of_the_last_command_alone(
    before: list[tuple[Command, int | None]], last: Command
) -> None:
    with tempfile.TemporaryDirectory() as place:
        grown, alone = Path(place, "grown"), Path(place, "alone")
        grown.mkdir()
        alone.mkdir()
        keys: Counter[str] = Counter()
        for command, most in [*before, (last, None)]:
            keys.update(carry_out(grown, command, most))
        carry_out(alone, last)
        run = open_stored(grown)
        assert summary(run) == summary(open_stored(alone))
        assert keys.most_common(1)[0][1] == 1, "nothing that is scored is called again"
        told = orjson.loads(orjson.dumps(summarise_stored(run).to_dict()))
        assert not list(differences(told, expected(read(grown)), Counter()))


def test_an_example_is_made_as_datasets_are() -> None:
    assert isinstance(source("train", 2, 0).examples[0], Example)
