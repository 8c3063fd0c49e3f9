"""An evaluator that does not apply to an example says so: no score, no failure, and not called again."""

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval import EvaluationError, Skipped, command_evaluator, load_run, optimize
from tests.cli.benches import RIGHT, arithmetic, model
from tests.front_door import Cli
from tests.paths import PROGRAMS
from tests.reports.reading import cases_of, read_csv, read_jsonl, read_junit
from tests.run.projects import Project, records
from tests.tools import need, write_program

SKIPS = [str(PROGRAMS / "skips.pl")]


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return Project(tmp_path, 12)


def summary(run: Path) -> Any:
    return json.loads((run / "summary.json").read_bytes())


def outcomes(run: Path) -> Counter[str]:
    return Counter(record["outcome"] for record in records(run))


def told(run: Path) -> list[tuple[Any, ...]]:
    fields = ("candidate", "line", "outcome", "score", "message", "side_info")
    return sorted((tuple(str(record.get(name)) for name in fields) for record in records(run)), key=str)


def test_what_is_skipped_is_counted_apart_and_not_called_again(cli: Cli, made: Project) -> None:
    skips = made.env(SKIPS="*:[369]")
    done = cli(*made.command, "--out", "r", "--details", env=skips)
    assert done.status == 0, done.stderr
    assert outcomes(made.folder / "r") == {"scored": 18, "skipped": 6}
    found = summary(made.folder / "r")
    assert found["units"] == {"total": 24, "scored": 18, "failed": 0, "skipped": 6, "owed": 0}
    split = found["rows"][0]["splits"]["train"]
    assert (split["n"], split["skipped"], split["failed"], split["coverage"]) == (9, 3, 0, 1.0)
    assert found["rows"][1]["vs_baseline"]["train"]["dropped"] == 3
    assert [(one["candidate"], one["count"], one["lines"]) for one in found["skips"]] == [
        ("a", 3, [3, 6, 9]),
        ("b", 3, [3, 6, 9]),
    ]
    assert " skipped    6 ×  counts · a, b · train 3: not for 3\n" in done.stdout
    again = cli(*made.command, "--out", "r", "--details", env=skips)
    assert (again.status, made.asked().total()) == (0, 24)
    assert again.stdout == done.stdout
    assert cli("report", "r", "--check").status == 0


def test_skips_are_reused_like_scores(cli: Cli, made: Project) -> None:
    made.run()
    skips = made.env(SKIPS="*:[369]")
    assert cli(*made.command, "--out", "s", env=skips).status == 0
    made.forget()
    dry = cli(*made.command, "--out", "t", "--dry-run", env=skips)
    assert "already has all 24 of these scores" in dry.stdout
    reused = cli(*made.command, "--out", "t", "--reuse", "s", env=skips)
    assert reused.status == 0, reused.stderr
    assert "note: 18 scored calls of s reused\nnote: 6 skipped calls of s reused\n" in reused.stderr
    assert not made.asked()
    assert told(made.folder / "t") == told(made.folder / "s")


def test_where_all_is_skipped_there_is_no_mean_and_no_failure(cli: Cli, made: Project) -> None:
    skips = made.env(SKIPS="*")
    done = cli(*made.command, "--out", "r", "--json", env=skips)
    assert done.status == 0, done.stderr
    assert done.json["verdict"]["text"] == (
        "No scores: counts skipped every call on train (24 calls): not for 1"
    )
    assert done.json["summary"]["verdict"]["state"] == "too_few"
    assert [row["splits"]["train"]["mean"] for row in done.json["summary"]["rows"]] == [None, None]
    assert cli("report", "r", "--check").status == 0
    gate = cli(*made.command, "--out", "r", "--fail-under", "counts=0", env=skips)
    assert gate.status == 1
    assert (
        "gate missed: counts on a, train: the mean (every call was skipped, 12 in all) cannot be known"
        in gate.stderr
    )


def test_skips_do_not_count_among_the_calls_of_which_too_many_failed(cli: Cli, made: Project) -> None:
    made.command[made.command.index("--candidate") : made.command.index("--dataset")] = [
        "--candidate",
        "a.txt",
    ]
    few = cli(*made.command, "--out", "few", env=made.env(SKIPS="a:[1-8]", FAILS="a:9"))
    assert few.status == 0, few.stderr  # 1 failed, 3 scored
    many = cli(*made.command, "--out", "many", env=made.env(SKIPS="a:[1-7]", FAILS="a:[89]*"), stdin=b"")
    assert many.status == 0, many.stderr
    most = cli(*made.command, "--out", "most", env=made.env(SKIPS="a:[1-9]", FAILS="a:1[01]"))
    assert most.status == 4
    assert "counts failed on 2 of 3 calls that it did not skip, more than half" in most.stderr
    none = cli(*made.command, "--out", "none", env=made.env(SKIPS="a:[1-9]", FAILS="a:1?"))
    assert none.status == 4
    assert "counts failed on every call that it did not skip (3)" in none.stderr


def test_a_skip_shows_that_an_evaluator_is_not_broken(cli: Cli, made: Project) -> None:
    """Where the first calls all fail, the others are not made; a skip among them is an answer."""
    done = cli(*made.command, "--out", "r", env=made.env(SKIPS="a:1", FAILS="*:[2-5]"))
    assert outcomes(made.folder / "r") == {"scored": 15, "skipped": 1, "failed": 8}
    assert done.status == 0, done.stderr


def test_a_call_that_is_skipped_when_it_is_repeated_has_changed(cli: Cli, made: Project) -> None:
    made.run()
    again = cli(*made.command, "--out", "r", "--recheck", "24", env=made.env(SKIPS="bbb:4"))
    assert "recheck: 23 of 24 scores are the same\n" in again.stderr
    assert "counts on b, train:4: 0.43 before, skipped now: not for 4\n" in again.stderr
    assert outcomes(made.folder / "r") == {"scored": 24}


def test_score_prints_a_skip_and_has_not_failed(cli: Cli, made: Project) -> None:
    scored = cli("score", "a.txt", "-e", "./counts.sh", "--example", "d.jsonl:3", env=made.env(SKIPS="*:3"))
    assert scored.status == 0, scored.stderr
    assert scored.json | {"seconds": 0} == {
        "outcome": "skipped",
        "message": "not for 3",
        "side_info": {"id": 3},
        "seconds": 0,
    }
    wrong = write_program(made.folder / "wrong.sh", ["#!/bin/sh", 'echo \'{"skip": ""}\''])
    failed = cli("score", "a.txt", "-e", wrong)
    assert (failed.status, failed.json["kind"]) == (4, "missing_score")


def test_preflight_takes_skips_and_warns_where_all_is_skipped(cli: Cli, made: Project) -> None:
    check = [
        *("preflight", "-e", "./counts.sh", "--candidate", "a.txt"),
        *("--dataset", "d.jsonl", "--seconds", "20"),
    ]
    some = cli(*check, env=made.env(SKIPS="a:1"))
    assert some.status == 0, some.stdout
    assert "skipped: not for 1; side info: id; 1 of " in some.stdout
    every = cli(*check, "--json", env=made.env(SKIPS="*"))
    assert every.status == 0
    (found,) = every.json["evaluators"]
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["answers train"]["message"] == "skipped: not for 1"
    assert checks["more answers"]["status"] == "warn"
    assert "were skipped, the first: not for 1; a run without a score" in checks["more answers"]["message"]


@need("perl")
def test_the_plain_callable_raises_skipped_which_is_no_failure() -> None:
    with command_evaluator(SKIPS, on_failure=0.0) as evaluator:
        assert evaluator("a", {"id": 7}) == (0.07, {})
        with pytest.raises(Skipped, match="9 is no prime") as caught:
            evaluator("a", {"id": 9})
    assert not isinstance(caught.value, EvaluationError)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.message, copied.side_info) == ("9 is no prime", {"lang": "en"})


def test_a_function_that_raises_skipped_skips(made: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.folder)
    calls: Counter[str] = Counter()

    def evaluator(candidate: str, example: dict[str, Any]) -> float:
        calls[f"{candidate}:{example['id']}"] += 1
        if example["id"] % 4 == 0:
            raise Skipped("no fours")
        return min(1.0, int(candidate) / 10)

    def climbs(request: dict[str, Any]) -> str:
        return str(int(request["candidate"]) + 1)

    (made.folder / "v.jsonl").write_text("".join(f'{{"id":{n}}}\n' for n in range(101, 113)))
    given: Any = {"dataset": "d.jsonl", "valset": "v.jsonl", "budget": 100, "out": "r"}
    done = optimize({"first": "1"}, evaluator, proposer=climbs, **given)
    called = calls.total()
    assert optimize({"first": "1"}, evaluator, proposer=climbs, **given).best == done.best
    assert calls.total() == called
    assert max(calls.values()) == 1, "the final sweep asks nothing again"
    assert done.verdict["state"] == "better"
    assert any("counted as the mean of the batch" in point["text"] for point in done.verdict["points"])
    units = summary(made.folder / "r")["units"]
    assert units["skipped"] == units["total"] / 4
    none = optimize({"s": "4"}, _skips_all, proposer=lambda _: "5", dataset="d.jsonl", budget=50, out="none")
    assert (none.exit_code, none.status) == (4, "evaluator")


def _skips_all(_candidate: str, _example: Any = None) -> float:
    raise Skipped("never")


def test_every_report_says_what_was_skipped_and_nothing_where_nothing_was(cli: Cli, made: Project) -> None:
    reports = [["md"], ["junit"], ["csv"], ["csv", "--wide"], ["jsonl"]]
    assert cli(*made.command, "--out", "r", env=made.env(SKIPS="*:[36]")).status == 0
    md, junit, csv, wide, jsonl = (cli("report", "r", "--format", *form).stdout for form in reports)
    assert "| n | failed | skipped | coverage |" in md
    assert "**4 calls skipped**, in no mean and no pair" in md
    assert "- 4 × counts · a, b · train 3: not for 3\n" in md
    root = read_junit(junit)
    assert [one.get("message") for one in root.iter("skipped")] == ["2 × not for 3"] * 2
    assert {name for _, name, told in cases_of(root) if told.get("count")} == {
        "a · train · skipped",
        "b · train · skipped",
    }
    assert [row["message"] for row in read_csv(csv) if row["outcome"] == "skipped"] == [
        "not for 3",
        "not for 6",
    ] * 2
    assert [row["message"] for row in read_jsonl(jsonl) if row["outcome"] == "skipped"] == [
        *("not for 3", "not for 6"),
        *("not for 3", "not for 6"),
    ]
    assert [row["counts@b reason"] for row in read_csv(wide)][2] == "skipped: not for 3"
    assert "<th>skipped</th>" in load_run(made.folder / "r")._repr_html_()
    made.command[-1] = "e.jsonl"
    (made.folder / "e.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    assert cli(*made.command, "--out", "none", env=made.env()).status == 0
    for form in ([], ["--format", "md"], ["--all"]):
        assert "skip" not in cli("report", "none", *form).stdout
    assert "skip" not in load_run(made.folder / "none")._repr_html_()


@need("perl")
def test_a_bench_whose_metric_skips(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    metric = write_program(
        tmp_path / "even.sh",
        [
            "#!/usr/bin/env bash",
            "read -r line",
            'case "$line" in *[02468]\\",*) echo \'{"skip": "even"}\' ;; *) echo \'{"score": 1}\' ;; esac',
        ],
    )
    bench = [
        "bench",
        "sums.jsonl",
        "--model",
        model(tmp_path / "m", RIGHT),
        "--model",
        "silent",
        "--out",
        "r",
    ]
    done = cli(*bench, "-e", f"even={metric}", "--details")
    assert done.status == 0, done.stderr
    assert cli("report", "r", "--check").status == 0
    board = orjson.loads((tmp_path / "r" / "leaderboard.even.json").read_bytes())
    assert {one["adapter"]: one["overall_score"] for one in board["models"]} == {"silent": 1.0, "m": None}
    skipped = {one["adapter"]: one.get("skipped", 0) for one in board["models"]}
    assert 0 < sum(skipped.values()) < 24
    for one in board["models"]:
        assert one["scored"] + one["failed"] + one.get("skipped", 0) == one["total"]
    assert "skipped" in done.stdout
    assert "The models skipped different calls" in done.stdout
    assert "skipped" in cli("report", "r", "--format", "md").stdout
    header, *_ = cli("report", "r", "--format", "csv").stdout.splitlines()
    assert header.endswith(",latency_ms,skipped")
    root = read_junit(cli("report", "r", "--format", "junit").stdout)
    said = {one.get("message") for one in root.iter("skipped")}
    assert {f"{many} calls skipped" for many in skipped.values() if many} <= said
