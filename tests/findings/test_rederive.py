"""What `--check` finds: every number that a decision hangs on, derived anew by code that shares nothing."""

import ast
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval import audit
from optimize_eval.audit import numerics
from optimize_eval.audit.__main__ import differences, main
from optimize_eval.audit.journaled import read
from optimize_eval.audit.leaderboard import expected_boards
from optimize_eval.audit.summary import expected
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import load_examples
from optimize_eval.evaluators.kinds import parse_evaluators
from optimize_eval.findings.stored_summary import summarise_stored
from optimize_eval.run.plan import Plan, document_of, plan_run
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.folder import JOURNAL, LEADERBOARD, SUMMARY, write_json
from optimize_eval.store.journal import Journal, seal
from optimize_eval.store.opened_run import open_stored
from optimize_eval.store.run_json import write_document
from tests.findings.boards import board_and_folder
from tests.findings.made import LEAD, Example, Fails, Made, No, made, moved, noisy, on_val
from tests.front_door import Cli

Path_ = tuple[str | int, ...]

# What no decision hangs on: times, texts, what examples said, how lopsided, what could have been found.
NOT_DERIVED = {
    *("latency", "latency_ms", "side_info", "mde", "skew", "files", "settings", "task_errors", "schema"),
}


def test_the_script_imports_nothing_of_ours_but_itself() -> None:
    folder = Path(audit.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            ours = [name for name in names if name.startswith("optimize_eval")]
            assert all(name.startswith(audit.__name__) for name in ours), path


@settings(max_examples=40)
@given(st.floats(-40, 40), st.floats(1, 3000))
def test_its_tails_are_scipys(t: float, df: float) -> None:
    from scipy import stats

    assert numerics.two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-8, abs=1e-300)


@settings(max_examples=40)
@given(st.sampled_from([0.8, 0.95, 0.975, 0.9995]), st.floats(1, 3000))
def test_its_quantiles_are_scipys(share: float, df: float) -> None:
    from scipy import stats

    assert numerics.quantile(share, df) == pytest.approx(stats.t.ppf(share, df), rel=1e-9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a run with clusters, repeats, failures, second answers and a torn end."""
    plan = _plan(tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    write_document(folder, document_of(plan, {}, {}))
    _write_journal(folder / JOURNAL, plan)
    write_json(folder / SUMMARY, summarise_stored(open_stored(folder)).to_dict())
    return folder


def _plan(tmp_path: Path) -> Plan:
    sources = []
    for name, n in (("train", 24), ("val", 17)):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(
            b"\n".join(orjson.dumps({"x": f"{name} {place}", "doc": place // 3}) for place in range(n))
        )
        sources.append(SplitSource(name=name, file=str(path), examples=load_examples([path])[0]))
    specs = parse_evaluators(["judge=true", "policy=true"], EvaluatorSpec())
    candidates = [Candidate(name=name, text=name) for name in ("base", "long ▲", "short")]
    return plan_run(
        specs, candidates, sources, task_models=["m1", "m2"], repeats=3, cluster_by="doc", group_by=["doc"]
    )


def _write_journal(path: Path, plan: Plan) -> None:
    draw = random.Random(5)
    journal = Journal(path, 0)
    journal.append(seal({"schema": "optimize-eval.journal.v1", "plan": plan.digest}))
    numbers = list(range(plan.layout.size))
    draw.shuffle(numbers)
    for number in [*numbers, *numbers[:100]]:
        unit = plan.unit(number)
        outcome = _outcome(draw)
        journal.append(seal({"key": unit.key, **unit.coordinates, **outcome, "seconds": 0.1}))
    journal.append(seal({"footer": "done"}))
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


def test_the_journal_gives_the_same_another_way(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(folder) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].endswith("fields recomputed from the journal, 0 differ")
    assert "intervals" in said[0]


def test_a_changed_score_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / JOURNAL).read_bytes()
    before, score, after = text.rpartition(b'"score":0.')
    (folder / JOURNAL).write_bytes(before + score.replace(b"0", b"1") + after)
    assert main(folder) == 1
    assert ".mean is 0." in capsys.readouterr().out


@pytest.mark.parametrize("part", ["rows", "pairs"])
def test_what_is_gone_from_a_summary_is_found(
    folder: Path, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = orjson.loads((folder / SUMMARY).read_bytes())
    del summary[part][1]
    write_json(folder / SUMMARY, summary)
    assert main(folder) == 1
    assert f"the length of {part}" in capsys.readouterr().out


TRAIN, VAL = noisy(30, seed=3), noisy(40)


def shares(n: int, p: float, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [float(draw.random() < p) for _ in range(n)]


def failing(scores: Sequence[float], every: int) -> list[Example]:
    return [Fails() if place % every == 0 else score for place, score in enumerate(scores)]


def several() -> Made:
    """Make a run with failures, groups and an evaluator of zeros and ones."""
    first: dict[str, dict[str, Sequence[Example]]] = {
        "base": {"train": TRAIN, "val": VAL},
        "up": {"train": moved(TRAIN, 0.1), "val": failing(moved(VAL, 0.12, sd=0.05), 13)},
        "fit": {"train": moved(TRAIN, 0.2, sd=0.1), "val": VAL},
    }
    second: dict[str, dict[str, Sequence[Example]]] = {
        name: {"train": shares(30, p, seed), "val": shares(40, p, seed + 9)}
        for seed, (name, p) in enumerate(zip(first, (0.4, 0.6, 0.95), strict=True))
    }
    groups = {"train": {"kind": ["a", "b"] * 15}, "val": {"kind": ["a", "b", "b", "c"] * 10}}
    return made({LEAD: first, "exact": second}, groups=groups)


def clustered() -> Made:
    """Make a run with clusters, copies of a line, and a winner whose gain may carry over."""
    cells = {
        "base": {"train": TRAIN, "val": VAL},
        "up": {"train": moved(TRAIN, 0.1), "val": moved(VAL, 0.1, sd=0.05)},
        "too": {"train": moved(TRAIN, 0.1, seed=8), "val": moved(VAL, 0.09, sd=0.05, seed=9)},
    }
    clusters = {"train": [str(n // 2) for n in range(30)], "val": [str(n // 3) for n in range(40)]}
    copies = {"train": [str(n) for n in range(30)], "val": [str(n % 38) for n in range(40)]}
    return made({LEAD: cells}, clusters=clusters, sha256=copies)


def for_some() -> Made:
    """Make a run of two models whose evaluators are for one split each, and one for both."""
    a, b = noisy(12), failing(noisy(9, seed=3), 4)
    evaluators: dict[str, dict[str, Sequence[Example]]] = {
        "of a": {"a": a},
        "of b": {"b": b},
        "of both": {"a": a, "b": b},
    }
    return made({(name, m): {"x": splits} for name, splits in evaluators.items() for m in ("m", "n")})


def with_margins(score_range: ScoreRange = ScoreRange.UNIT) -> Made:
    """Make a run whose margins are held by bets, also of clusters of many sizes, and by Tango's test."""
    cells: dict[str, dict[str, Sequence[Example]]] = {
        "base": {"train": TRAIN, "val": VAL},
        "up": {"train": moved(TRAIN, 0.1), "val": moved(VAL, 0.02)},
        "same": {"train": TRAIN, "val": VAL},
    }
    exact = {name: {split: [1.0] * len(one) for split, one in told.items()} for name, told in cells.items()}
    clusters = {"train": [str(n // 2) for n in range(30)], "val": [str(n * n // 100) for n in range(40)]}
    return made(
        {LEAD: cells, "exact": exact},
        score_range=score_range,
        clusters=clusters if score_range is ScoreRange.UNIT else None,
        margins={LEAD: 0.05, "exact": 0.1},
    )


SCENES: dict[str, Callable[[], Made]] = {
    "several": several,
    "clustered": clustered,
    "exactly better": lambda: on_val(a=[0.5] * 12, b=[0.7] * 12, c=[0.5] * 12),
    "repeats of zeros and ones": lambda: on_val(a=[(1.0, 0.0), (1.0, 1.0)] * 9, b=[(1.0, Fails())] * 18),
    "any number": lambda: made(
        {LEAD: {"a": {"val": VAL, "test": TRAIN}, "b": {"val": moved(VAL, 9), "test": moved(TRAIN, 9)}}},
        score_range=ScoreRange.ANY,
    ),
    "margins, clusters": with_margins,
    "margins, any number and shares": lambda: with_margins(ScoreRange.ANY),
    "a margin": lambda: made(
        {LEAD: {"a": {"val": VAL}, "b": {"val": moved(VAL, 0.01)}}}, margins={LEAD: 0.05}
    ),
    "alone": lambda: on_val(a=[0.5, 0.4]),
    "nothing scored": lambda: on_val(a=[Fails()] * 3, b=[0.5] * 3),
    "skips": lambda: on_val(
        a=[No.SKIPPED, *VAL], b=[No.SKIPPED, Fails(), *moved(VAL, 0.1)[1:]], c=[*VAL[::-1], No.SKIPPED]
    ),
    "skips of one side": lambda: on_val(
        a=[*VAL[:30], No.SKIPPED, Fails(), *VAL[32:]],
        b=[*moved(VAL, 0.3)[:38], No.SKIPPED, No.SKIPPED],
        c=[No.SKIPPED, *VAL[1:]],
    ),
    "skipped repeats of one side": lambda: on_val(
        a=[(0.1, 0.2), (0.3, No.SKIPPED)] * 9, b=[(No.SKIPPED, 1.0), (0.9, Fails())] * 9
    ),
    "evaluators for some splits": for_some,
    "all skipped": lambda: on_val(a=[(No.SKIPPED, No.SKIPPED)] * 6, b=[(No.SKIPPED, No.SKIPPED)] * 6),
}


def leaves(value: Any, path: Path_ = ()) -> Iterator[tuple[Path_, float]]:
    """Give every number below a value that a decision hangs on, with the way to it."""
    match value:
        case bool():
            return
        case int() | float():
            yield path, value
        case dict():
            for key, item in value.items():
                if key not in NOT_DERIVED and (key, path) != ("failures", ()):
                    yield from leaves(item, (*path, key))
        case list():
            for place, item in enumerate(value):
                yield from leaves(item, (*path, place))


def of_margins(summary: Any) -> Iterator[tuple[Path_, str | bool]]:
    """Give what is said of margins beside numbers."""
    for place, row in enumerate(summary["rows"]):
        for split, d in (row["vs_baseline"] or {}).items():
            for key, value in d.get("margin", {}).items():
                if isinstance(value, str | bool):
                    yield ("rows", place, "vs_baseline", split, "margin", key), value


def put(document: Any, path: Path_, value: Any) -> None:
    *way, last = path
    for step in way:
        document = document[step]
    document[last] = value


def written(path: Path_) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def all_falsified(stored: Any, again: Any) -> int:
    """Falsify every number; each has to be named, and nothing else."""
    assert not list(differences(stored, again, Counter()))
    edited = orjson.loads(orjson.dumps(stored))
    paths = dict(leaves(stored))
    for path, value in paths.items():
        put(edited, path, value + 1 if isinstance(value, int) else value + 1e-6 * max(1, abs(value)))
    named = [one for one, *_ in differences(edited, again, Counter())]
    assert sorted(named) == sorted(map(written, paths))
    assert_what_is_gone_is_named(again)
    return len(paths)


def assert_what_is_gone_is_named(again: Any) -> None:
    """Take each key that is derived out of the mapping that has it; the walk has to name it."""
    match again:
        case dict():
            for key, derived in again.items():
                assert [one for one, *_ in differences({}, {key: derived}, Counter())] == [key]
                assert_what_is_gone_is_named(derived)
        case list() | tuple():
            for derived in again:
                assert_what_is_gone_is_named(derived)


@pytest.mark.parametrize("scene", SCENES)
def test_every_falsified_number_of_a_summary_is_named(scene: str, tmp_path: Path) -> None:
    folder = SCENES[scene]().write(tmp_path / "r")
    stored = orjson.loads(orjson.dumps(summarise_stored(open_stored(folder)).to_dict()))
    again = expected(read(folder))
    assert all_falsified(stored, again) > 10
    for path, value in list(of_margins(stored)):
        put(stored, path, "edited" if isinstance(value, str) else not value)
        assert [one for one, *_ in differences(stored, again, Counter())] == [written(path)]
        put(stored, path, value)
    for field in ("state", "winner"):
        told = stored["verdict"][field]
        stored["verdict"][field] = "edited"
        named = [one for one, *_ in differences(stored, again, Counter())]
        assert named == [f"verdict.{field}"]
        stored["verdict"][field] = told


def test_tests_among_more_than_a_hundred_comparisons_are_derived_again(tmp_path: Path) -> None:
    labels = [f"{n % 101}" for n in range(101 * 15)] + ["large"] * 51
    base = noisy(len(labels))
    run = made(
        {LEAD: {"a": {"val": base}, "b": {"val": moved(base, 0.1, sd=0.05)}}},
        groups={"val": {"kind": labels}},
    )
    folder = run.write(tmp_path / "r")
    stored = orjson.loads(orjson.dumps(summarise_stored(open_stored(folder)).to_dict()))
    groups = stored["rows"][1]["groups"]
    assert groups["kind=large"]["vs_baseline"]["val"]["test"] == "t"
    few = groups["kind=7"]["vs_baseline"]["val"]
    assert (few["test"], few["comparisons"]) == ("flip", 102)
    assert not list(differences(stored, expected(read(folder)), Counter()))


BOARDS: dict[str, dict[str, Any]] = {
    "files": {
        "models": {
            "x": {"a": shares(9, 0.7, 1), "b": [0.2, 0.9, 0.4], "c": failing(shares(12, 0.5, 2), 6)},
            "y": {"a": shares(9, 0.4, 3), "b": [0.1, 0.9, 0.5], "c": shares(12, 0.6, 4)},
        }
    },
    "records": {
        "models": {"x": {"a": noisy(14)}, "y": {"a": noisy(14, seed=5)}, "z": {"a": [Fails(), *noisy(13)]}},
        "categories": {"a": ["mcq", "sum"] * 7},
    },
    "repeats": {"models": {"x": {"a": [(1.0, 0.0)] * 3, "b": [(1.0, 1.0)]}}, "include_per_example": True},
    "skips": {
        "models": {
            "x": {"a": [No.SKIPPED, *noisy(9)], "b": [No.SKIPPED] * 4, "c": [0.5, No.SKIPPED, Fails()]},
            "y": {
                "a": [*noisy(9, seed=5), No.SKIPPED],
                "b": [0.4, No.SKIPPED, 0.6, 0.7],
                "c": [0.5, 0.2, 0.1],
            },
        },
        "include_per_example": True,
    },
}


@pytest.mark.parametrize("scene", BOARDS)
def test_every_falsified_number_of_a_leaderboard_is_named(scene: str, tmp_path: Path) -> None:
    found, folder = board_and_folder(tmp_path / "r", **BOARDS[scene])
    write_json(folder / LEADERBOARD, found)
    stored = orjson.loads((folder / LEADERBOARD).read_bytes())
    assert all_falsified(stored, expected_boards(folder, read(folder))[LEADERBOARD]) > 20


def test_report_check_names_what_was_edited_in_both_documents(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        "".join(
            f'{{"id": "q{n}", "prompt": "compute: {n} + 1", "targets": ["1"], "metric": "exact_match"}}\n'
            for n in range(6)
        )
    )
    assert cli("bench", "t.jsonl", "--model", "toy", "--model", "silent", "--out", "r").status == 0
    fine = cli("report", "r", "--check")
    assert fine.status == 0, fine.stdout
    assert "corrected p values" in fine.stdout
    board = orjson.loads((tmp_path / "r" / LEADERBOARD).read_bytes())
    board["pairs"][0]["p"] = 0.001
    write_json(tmp_path / "r" / LEADERBOARD, board)
    edited = cli("report", "r", "--check")
    assert edited.status == 1
    assert f"{LEADERBOARD}: pairs[0].p is 0.001, the journal gives" in edited.stdout
    told = cli("report", "r", "--check", "--json")
    assert (told.status, told.json["agrees"]) == (1, False)


def test_the_script_without_a_run_says_how_it_is_called() -> None:
    script = [sys.executable, "-m", "optimize_eval.audit"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("python -m optimize_eval.audit RUN")
