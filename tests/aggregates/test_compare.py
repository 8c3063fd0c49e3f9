"""What comparisons are called, how often that is false, and that the journal says the same as the summary."""

import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pytest

from optimize_eval.aggregates import rederive
from optimize_eval.aggregates.summary import summarise
from optimize_eval.candidates import Candidate
from optimize_eval.connect import parse_evaluators
from optimize_eval.datasets import load_examples
from optimize_eval.journal import Journal, sealed
from optimize_eval.reach import EvaluatorSpec
from optimize_eval.run.folder import JOURNAL, MANIFEST, SUMMARY, write_json
from optimize_eval.run.ledger import Ledger
from optimize_eval.run.manifest import layout_of, manifest_of
from optimize_eval.run.plan import Plan, plan_run
from optimize_eval.run.source import Source
from tests.aggregates.made import (
    LEAD,
    Entry,
    Example,
    Fails,
    Made,
    No,
    Says,
    Summary,
    made,
    moved,
    noisy,
    on_val,
    row_of,
)

DRAWS = 300
ALLOWED = 28  # scipy.stats.binom.ppf(0.999, 300, 0.05): a rate of 5 % stays below in 999 of 1,000 suites


def mark(run: Made, candidate: str = "b") -> str:
    return str(row_of(run.summary(), candidate)["vs_baseline"]["val"]["mark"])


BASE = noisy(40)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (moved(BASE, 0.1, sd=0.05), "better"),
        (moved(BASE, -0.1, sd=0.05), "worse"),
        (moved(BASE, 0.005, sd=0.1), "no_difference"),
        (BASE, "no_difference"),
    ],
    ids=["better", "worse", "none", "the same"],
)
def test_a_difference_has_a_mark(after: list[float], expected: str) -> None:
    assert mark(on_val(a=BASE, b=after)) == expected


@pytest.mark.parametrize(("pairs", "expected"), [(5, "too_few"), (6, "better")])
def test_what_no_test_could_confirm_is_too_few(pairs: int, expected: str) -> None:
    assert mark(on_val(a=BASE[:pairs], b=moved(BASE[:pairs], 0.3))) == expected


def test_a_difference_that_does_not_survive_the_correction_is_a_hint() -> None:
    others = {f"c{n}": moved(BASE, 0.0, sd=0.1, seed=n) for n in range(9)}
    alone = on_val(a=BASE, b=moved(BASE, 0.04, sd=0.1))
    among = on_val(a=BASE, b=moved(BASE, 0.04, sd=0.1), **others)
    assert (mark(alone), mark(among)) == ("better", "hint_better")
    worse = on_val(a=BASE, b=moved(BASE, -0.04, sd=0.1), **others)
    assert mark(worse) == "hint_worse"


def test_failures_are_held_against_a_lead_wherever_there_are_some() -> None:
    after: list[Entry] = [*moved(BASE, 0.1)]
    equal = row_of(on_val(a=BASE, b=after).summary(), "b")["vs_baseline"]["val"]
    assert "despite_failures" not in equal
    after[0] = Fails()
    ahead = row_of(on_val(a=BASE, b=after).summary(), "b")["vs_baseline"]["val"]
    assert ahead["despite_failures"] == "surely"
    behind = row_of(on_val(a=BASE, b=[*after[:20], *[Fails()] * 20]).summary(), "b")["vs_baseline"]["val"]
    assert behind["despite_failures"] == "no"
    shared: list[Entry] = [Fails(), Fails(), Fails(), *moved(BASE, 0.03, sd=0.01)[3:]]
    both = row_of(on_val(a=[*BASE[:37], Fails(), Fails(), Fails()], b=shared).summary(), "b")
    assert both["vs_baseline"]["val"]["despite_failures"] != "surely"  # though coverage is equal


def _normal(draw: random.Random) -> float:
    return draw.gauss(0.5, 0.15)


def _share(draw: random.Random) -> float:
    return float(draw.random() < 0.7)


def _skewed(draw: random.Random) -> float:
    return draw.betavariate(5, 1)


@pytest.mark.parametrize("score", [_normal, _share, _skewed])
def test_of_20_equal_candidates_one_is_called_better_in_at_most_5_of_100_draws(
    score: Callable[[random.Random], float],
) -> None:
    draw = random.Random(20_261_118)
    false = sum(_has_a_false_winner(draw, score) for _ in range(DRAWS))
    assert false <= ALLOWED


def _has_a_false_winner(draw: random.Random, score: Callable[[random.Random], float]) -> bool:
    run = on_val(**{f"c{n}": [score(draw) for _ in range(20)] for n in range(20)})
    rows = run.summary()["rows"]
    return any(row["vs_baseline"] and row["vs_baseline"]["val"]["mark"] == "better" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a run with clusters, repeats, failures, second answers and a torn end."""
    plan = _plan(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    write_json(folder / MANIFEST, manifest := manifest_of(plan, {}, {}))
    _write_journal(folder / JOURNAL, plan)
    layout, digest = layout_of(manifest)
    ledger = Ledger.read(folder / JOURNAL, layout, digest)
    with ledger.reader(folder / JOURNAL) as reader:
        write_json(folder / SUMMARY, summarise(layout, reader.records))
    return folder


def _plan(tmp_path: Path) -> Plan:
    sources = []
    for name, n in (("train", 24), ("val", 17)):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(
            b"\n".join(orjson.dumps({"x": f"{name} {place}", "doc": place // 3}) for place in range(n))
        )
        sources.append(Source(name=name, file=str(path), examples=load_examples([path])[0]))
    specs = parse_evaluators(["judge=true", "policy=true"], EvaluatorSpec())
    candidates = [Candidate(name=name, text=name) for name in ("base", "long ▲", "short")]
    return plan_run(
        specs, candidates, sources, task_models=["m1", "m2"], repeats=3, cluster_by="doc", group_by=["doc"]
    )


def _write_journal(path: Path, plan: Plan) -> None:
    draw = random.Random(5)
    journal = Journal(path, 0)
    journal.append(sealed({"schema": "optimize-eval.journal.v1", "plan": plan.digest}))
    numbers = list(range(plan.layout.size))
    draw.shuffle(numbers)
    for number in [*numbers, *numbers[:100]]:
        unit = plan.unit(number)
        outcome = _outcome(draw)
        journal.append(sealed({"key": unit.key, **unit.coordinates, **outcome, "seconds": 0.1}))
    journal.append(sealed({"footer": "done"}))
    journal.close()
    with path.open("ab") as stream:
        stream.write(b'{"key":"torn')


def _outcome(draw: random.Random) -> dict[str, object]:
    kind = draw.random()
    if kind < 0.1:
        return {"outcome": "failed", "kind": "timeout", "message": "no answer within 10 s"}
    if kind < 0.12:
        return {"outcome": "skipped", "message": "filtered"}
    return {"outcome": "scored", "score": round(draw.random(), 3), "side_info": {"n": draw.random()}}


def _check(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, rederive.__file__, folder], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_journal_gives_the_summarys_numbers_another_way(folder: Path) -> None:
    status, said = _check(folder)
    # 12 rows and 12 pairs of two splits: a mean and an error each, and for 8 rows a difference and its error
    assert (status, said) == (0, "128 numbers computed anew from the journal, 0 differ\n")


@pytest.mark.parametrize(
    "path",
    [
        ("rows", 1, "splits", "val", "mean"),
        ("rows", 4, "splits", "train", "se"),
        ("rows", 2, "vs_baseline", "val", "diff"),
        ("rows", 5, "vs_baseline", "train", "se"),
        ("pairs", 3, "diff"),
        ("pairs", 20, "se"),
    ],
    ids=lambda path: " ".join(map(str, path)),
)
def test_a_changed_digit_is_found(folder: Path, path: Sequence[str | int]) -> None:
    summary: Summary = orjson.loads((folder / SUMMARY).read_bytes())
    *way, last = path
    place = summary
    for step in way:
        place = place[step]  # type: ignore[index]
    place[last] = place[last] + 1e-6  # type: ignore[index]
    write_json(folder / SUMMARY, summary)
    status, said = _check(folder)
    assert status == 1
    assert "1 differ" in said
    assert f"{path[-1]}: summary.json has" in said


def test_a_changed_score_is_found(folder: Path) -> None:
    text = (folder / JOURNAL).read_bytes()
    before, score, after = text.rpartition(b'"score":0.')
    (folder / JOURNAL).write_bytes(before + score.replace(b"0", b"1") + after)
    status, said = _check(folder)
    assert status == 1
    assert "mean: summary.json has" in said


def test_a_summary_without_a_row_is_found(folder: Path) -> None:
    summary = orjson.loads((folder / SUMMARY).read_bytes())
    del summary["rows"][1]
    write_json(folder / SUMMARY, summary)
    assert _check(folder)[0] == 1


def _examples(n: int) -> list[Example]:
    return [(0.1, Fails(), 0.7), (No.SKIPPED, Says(0.5, {}), 0.5)] * n


def test_a_pair_is_what_both_candidates_have_a_score_for() -> None:
    lost: list[Example] = [(Fails(), Fails(), Fails()), *_examples(2)]
    run = made({LEAD: {"a": {"val": [*_examples(2), (0.1, 0.2, 0.3)]}, "b": {"val": lost}}})
    found = row_of(run.summary(), "b")["vs_baseline"]["val"]
    assert (found["n_pairs"], found["dropped"]) == (4, 1)
