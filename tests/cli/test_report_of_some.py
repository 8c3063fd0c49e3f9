"""`report --filter` and `--id`: the numbers over some examples, as a run of these alone would have them."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.front_door import Cli, in_this_process
from tests.reports.pages import details, parts
from tests.tools import write_program

EVALUATOR = [
    f"#!{sys.executable}",
    "import json, sys, zlib",
    "for line in sys.stdin:",
    "    asked = json.loads(line)",
    '    drawn = zlib.crc32(json.dumps([sys.argv[1:], asked["candidate"], asked["example"]]).encode())',
    '    said = {"score": drawn % 1000 / 1000} if drawn % 11 else {"error": "unlucky"}',
    '    said |= {"_id": asked.get("_id"), "_capabilities": {"persistent": True}}',
    "    print(json.dumps(said), flush=True)",
]
COMMAND = (
    *("run", "-e", "e=./e.py", "-e", "f=./e.py f", "--candidate", "[ab].txt", "--dataset", "train.jsonl"),
    *("--valset", "val.jsonl", "--repeats", "2", "--group-by", "kind", "--cluster-by", "of"),
    *("--workers", "1", "--concurrency", "2", "--quiet"),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run over 30 train and 12 val examples of three kinds."""
    folder = tmp_path_factory.mktemp("finished")
    write_program(folder / "e.py", EVALUATOR)
    for name in "ab":
        (folder / f"{name}.txt").write_text(name)
    for split, many in (("train", 30), ("val", 12)):
        lines = [{"id": f"{split}-{n}", "kind": "xyz"[n % 3], "of": n // 6, split: True} for n in range(many)]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = in_this_process(folder)(*COMMAND, "--out", "r", "--fail-under", "e=0.01")
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def made(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def numbers(summary: dict[str, Any]) -> dict[str, Any]:
    """Leave out what two runs of the same examples differ in, what was spent, and the verdict's words."""
    others = {"latency", "spent", "verdict", "selected", "gates", "journal", "tried", "largest_gain"}
    return {key: value for key, value in summary.items() if key not in others}


@pytest.mark.parametrize(
    "words", [["--filter=kind=x"], ["--filter=kind=y", "--filter=of=2"], ["--filter=train=true"]]
)
def test_the_numbers_are_those_of_a_run_of_these_examples(cli: Cli, made: Path, words: list[str]) -> None:
    before = (made / "r" / "summary.json").read_bytes()
    told = cli("report", "r", *words, "--json").json
    alone = cli(*COMMAND[:-1], *words, "--out", "alone", "--json").json["summary"]
    assert numbers(told) == numbers(alone)
    assert told["verdict"]["text"].endswith(
        "No verdict: this part was chosen afterwards. --group-by corrects for that"
    )
    assert (told["verdict"]["state"], told["verdict"]["points"]) == (None, [])
    assert (made / "r" / "summary.json").read_bytes() == before


def test_the_report_says_which_examples_it_is_about(cli: Cli, made: Path) -> None:
    why = "over 10 of 30 train and 4 of 12 val examples (kind=x): "
    for words in ([], ["--format", "md"], ["--format", "junit"]):
        assert why in " ".join(cli("report", "r", "--filter=kind=x", *words).stdout.split())
    told = cli("report", "r", "--id=train-1", "--id=val-1", "--json").json
    assert told["verdict"]["text"].startswith(
        "over 1 of 30 train and 1 of 12 val examples (id train-1 or val-1): "
    )
    selected = {
        "why": "id train-1 or val-1",
        "examples": {"train": 1, "val": 1},
        "of": {"train": 30, "val": 12},
    }
    assert told["selected"] == selected
    assert "selected" not in cli("report", "r", "--json").json
    told = cli("report", "r", "--id=val-3", "--json").json
    assert told["verdict"]["text"].startswith("over 0 of 30 train and 1 of 12 val examples")
    assert (told["decided_on"], list(told["rows"][0]["splits"])) == ("val", ["val"])
    assert made.exists()


@pytest.mark.usefixtures("made")
def test_the_records_are_those_of_these_examples(cli: Cli) -> None:
    lines = cli(
        "report", "r", "--filter=kind=x", "--filter=val=true", "--format", "jsonl"
    ).stdout.splitlines()
    assert len(lines) == 2 * 2 * 4 * 2
    assert {(one["split"], one["line"]) for one in map(json.loads, lines)} == {
        ("val", n) for n in (1, 4, 7, 10)
    }
    table = cli("report", "r", "--id=val-3", "--format", "csv").stdout.splitlines()
    assert len(table) == 1 + 2 * 2 * 2


@pytest.mark.usefixtures("made")
def test_gates_are_those_that_are_given_over_these_examples(cli: Cli) -> None:
    assert cli("report", "r", "--json").json["gates"], "the run had one"
    assert "gates" not in cli("report", "r", "--filter=kind=x", "--json").json
    done = cli("report", "r", "--filter=kind=x", "--fail-under=e=0.999", "--max-gap=0.5", "--json")
    assert done.status == 1
    assert "gate missed: " in done.stderr


REFUSED = {
    "a field that nothing has": (["--filter=knd=x"], "did you mean 'kind'?"),
    "an id that nothing has": (["--id=val-77"], "no example has the id 'val-77'"),
    "the check": (["--filter=kind=x", "--check"], "--check is about all examples"),
    "a gap of one split": (["--filter=val=true", "--max-gap=0.5"], "--max-gap"),
    "another run": (["--filter=kind=x", "--no-regression-against=r"], "--no-regression-against is about all"),
    "files for nothing": (["--dataset=train.jsonl"], "a report needs no examples"),
    "a split that is not": (["--filter=kind=x", "--testset=val.jsonl"], "the run has no test examples"),
}


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_chosen_is_refused(cli: Cli, words: list[str], said: str) -> None:
    done = cli("report", "r", *words)
    assert (done.status, done.stdout) == (2, "")
    assert said in done.stderr


def test_examples_that_moved_are_named_and_those_that_changed_are_refused(cli: Cli, made: Path) -> None:
    (made / "val.jsonl").rename(made / "moved.jsonl")
    done = cli("report", "r", "--filter=kind=x")
    assert done.status == 2
    assert "val.jsonl: no such file" in done.stderr
    assert "--valset" in done.stderr
    assert cli("report", "r", "--filter=kind=x", "--valset=moved.jsonl").status == 0
    text = (made / "moved.jsonl").read_text()
    (made / "moved.jsonl").write_text(text.replace("val-4", "val-44"))
    done = cli("report", "r", "--filter=kind=x", "--valset=moved.jsonl")
    assert done.status == 2
    assert "moved.jsonl:5: the example has changed since the run" in done.stderr


def test_benches_and_runs_without_examples_have_nothing_to_choose(cli: Cli, made: Path) -> None:
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (made / "tasks.jsonl").write_text(task)
    assert cli("bench", "tasks.jsonl", "--model", "toy", "--out", "b", "--quiet").status == 0
    assert "choose tasks before: bench --filter, --id" in cli("report", "b", "--id=t").stderr
    write_program(made / "half.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    assert cli("run", "-e", "./half.sh", "--candidate", "a.txt", "--out", "s", "--quiet").status == 0
    done = cli("report", "s", "--id=t")
    assert done.status == 2
    assert "choose examples, and the run has none" in done.stderr


def test_the_page_and_the_table_are_about_the_chosen_examples_only(made: Path) -> None:
    cli = in_this_process(made)
    (made / "train.jsonl").rename(made / "moved.jsonl")
    chosen = ["report", "r", "--filter", "kind=x", "--dataset", "moved.jsonl"]
    told = cli(*chosen, "--json").json
    done = cli(*chosen, "--format", "html")
    assert (done.status, done.stdout) == (0, "r/some.html\n"), done.stderr
    page = parts((made / "r" / "some.html").read_bytes())
    head = json.loads(page["head"])
    assert head["summary"] == {key: told[key] for key in head["summary"]}
    assert head["summary"]["verdict"]["text"].startswith("over 10 of 30 train and 4 of 12 val examples")
    assert head["axes"]["sizes"] == [10, 4]
    assert head["commands"]["report"] == "optimize-eval report r --filter kind=x"
    examples = [one["example"] for one in details((made / "r" / "some.html").read_bytes()).values()]
    assert [one["kind"] for one in examples] == ["x"] * 14
    rows = cli(*chosen, "--format", "jsonl", "--wide", "--with", "kind").stdout.splitlines()
    assert [json.loads(row)["kind"] for row in rows] == ["x"] * 14 * 2
    records = cli(*chosen, "--format", "jsonl").stdout.splitlines()
    scores = {(one["split"], one["line"], one["repeat"]): one for one in map(json.loads, rows)}
    for one in map(json.loads, records):
        row = scores[one["split"], one["line"], one["repeat"]]
        assert row[f"{one['evaluator']}@{one['candidate']}"] == one["score"]
    assert cli("runs", "rm", "r", "--yes").status == 0
    assert not (made / "r").exists()
