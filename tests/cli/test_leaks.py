"""Examples that train holds, too, through the front door: in no number of val, and told before any call."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.audit.__main__ import main as rederive
from tests.front_door import Cli, Result

THINGS = """
kettle lamp printer garden tablet window engine bridge violin carpet candle wallet
""".split()  # noqa: SIM905  words, as they are read
TRAIN = [f"How long does the warranty of a {thing} last in winter?" for thing in THINGS]
VAL = [f"Please tell me which colours {thing}s usually come in" for thing in THINGS]
JUDGE = """#!/bin/sh
read -r line
case "$line" in
  *'"candidate":"good'*) echo '{"score": 1}' ;;
  *) echo '{"score": 0}' ;;
esac
"""
LONG = "My parcel was delivered to the neighbour although nobody rang the doorbell yesterday."
REWORDED = (
    "Hello, my parcel was delivered to the neighbour though nobody rang our doorbell yesterday. Thanks!"
)


def write(path: Path, questions: list[str], **more: Any) -> None:
    rows = ({"id": f"{path.stem}-{n}", "question": text, **more} for n, text in enumerate(questions))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a candidate that is always right, one that never is, and val beside train."""
    (tmp_path / "judge.sh").write_text(JUDGE)
    (tmp_path / "judge.sh").chmod(0o755)
    for name in ("bad", "good"):
        (tmp_path / f"{name}.txt").write_text(name)
    write(tmp_path / "train.jsonl", TRAIN)
    write(tmp_path / "val.jsonl", VAL)
    return tmp_path


def run(cli: Cli, *options: str, out: str = "r") -> Result:
    return cli(
        *("run", "-e", "j=./judge.sh", "--candidate", "bad.txt", "--candidate", "good.txt"),
        *("--dataset", "train.jsonl", "--valset", "val.jsonl", "--out", out, *options),
    )


def summary(project: Path, out: str = "r") -> dict[str, Any]:
    told: dict[str, Any] = json.loads((project / out / "summary.json").read_bytes())
    return told


def diff_rows(cli: Cli, before: str, after: str) -> list[dict[str, Any]]:
    return list(cli("diff", before, after, "--json").json["rows"])


def assert_derived(cli: Cli, out: str = "r") -> None:
    checked = cli("report", out, "--check")
    assert checked.status == 0, checked.stdout
    assert ", 0 differ" in checked.stdout


@pytest.mark.parametrize(
    "changed",
    [TRAIN, [f"{text.upper()} !" for text in TRAIN]],
    ids=["equal", "capitals and punctuation"],
)
def test_of_a_val_that_is_train_nothing_is_said(cli: Cli, project: Path, changed: list[str]) -> None:
    write(project / "val.jsonl", changed)
    done = run(cli, "--fail-under", "j@good=0.5", "--max-gap", "0.5")
    sentence = "val is not held out: 12 of 12 examples are also in train, so there is no verdict"
    assert done.status == 1
    assert summary(project)["verdict"]["text"] == sentence
    assert summary(project)["verdict"]["state"] == "leaked"
    assert f"gate missed: j on good, val: without enough data: {sentence}" in done.stderr
    assert "the gap between train and val cannot be known" in done.stderr
    assert summary(project)["units"]["scored"] == 48  # they are called all the same
    texts = [cli("report", "r", "--format", form).stdout for form in ("terminal", "md", "junit")]
    cli("report", "r", "--format", "html")
    for text in (done.stdout, *texts, run(cli, "--quiet").stdout):
        assert "not held out" in " ".join(text.split())
        assert not [word for word in ("held-out", "beats", "✓", "▲") if word in text]
    assert_derived(cli)


def test_rows_that_leaked_are_in_no_number_of_val(cli: Cli, project: Path) -> None:
    write(project / "train.jsonl", [*TRAIN, LONG])
    assert run(cli, "--quiet", out="clean").status == 0
    write(project / "val.jsonl", [*VAL[:6], f" {TRAIN[3]}", *VAL[6:], REWORDED])
    done = run(cli, "--quiet", "--fail-under", "j@good=0.9")
    assert done.status == 0
    assert "2 val examples are also in train and left out" in done.stdout
    assert "note: 2 of 14 val examples are also in train (lines 7, 14; 1 nearly the same)" in done.stderr
    told, clean = summary(project), summary(project, "clean")
    assert told["leakage"]["val"]["share"] == 2 / 14
    assert [(row["line"], row["like"], row["how"]) for row in told["leakage"]["val"]["rows"]] == [
        (7, {"split": "train", "line": 4}, "normalised"),
        (14, {"split": "train", "line": 13}, "near"),
    ]
    assert told["rows"][1]["splits"]["val"] == clean["rows"][1]["splits"]["val"]
    assert told["pairs"] == clean["pairs"]
    assert_derived(cli)
    table = cli("report", "r", "--format", "csv", "--wide").stdout.splitlines()
    assert table[0].startswith("split,line,repeat,id,in,")
    assert [row.split(",")[4] for row in table if ",train:" in row] == [
        "train:4 (normalised)",
        "train:13 (near)",
    ]


@pytest.mark.parametrize(
    "around",
    ["- {}", "1. **{}**", "({})", '<div class="x"><p>{}</p></div>', "> ## [{}]"],
    ids=["bullet", "number and emphasis", "brackets", "tags", "quotation and heading"],
)
def test_what_is_put_around_a_row_of_train_hides_it_no_more(cli: Cli, project: Path, around: str) -> None:
    write(project / "train.jsonl", [*TRAIN, LONG])
    write(project / "val.jsonl", [*VAL, *(around.format(text) for text in (*TRAIN[:3], REWORDED))])
    run(cli, "--quiet")
    leaked = summary(project)["leakage"]["val"]["rows"]
    assert [(row["line"], row["like"]["line"], row["how"]) for row in leaked] == [
        (13, 1, "normalised"),
        (14, 2, "normalised"),
        (15, 3, "normalised"),
        (16, 13, "near"),
    ]
    assert_derived(cli)


def test_what_run_json_says_of_leaks_is_held_against_the_data_while_it_is_there(
    cli: Cli, project: Path
) -> None:
    write(project / "train.jsonl", [*TRAIN, LONG])
    write(project / "val.jsonl", [*VAL, REWORDED, f"{VAL[2]} "])
    assert run(cli, "--quiet").status == 0
    path = project / "r" / "run.json"
    honest, document = path.read_bytes(), json.loads(path.read_bytes())
    known = document["settings"]["overlaps"]["val"]
    assert (known["leaks"][0][3], known["copies"]) == ("near", [[14, 3]])
    known["leaks"], known["copies"] = [], []
    path.write_text(json.dumps(document))
    forged = cli("report", "r", "--check")
    assert forged.status == 1
    assert "the length of settings.overlaps.val.leaks is 0, the journal gives 1" in forged.stdout
    assert "the length of settings.overlaps.val.copies is 0, the journal gives 1" in forged.stdout
    path.write_bytes(honest)
    write(project / "val.jsonl", VAL)
    fine = cli("report", "r", "--check")
    said = " ".join(fine.stdout.split())
    expected = "leaks and copies are taken from run.json, as the data of val is gone or has changed"
    assert (fine.status, expected in said) == (0, True), said


def test_they_may_be_kept_and_then_confirm_nothing(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    kept = run(cli, "--leaks", "keep", "--fail-under", "j@good=0.9")
    assert kept.status == 0
    assert "; 1 of 13 val examples are also in train and count here" in kept.stderr
    assert summary(project)["rows"][1]["splits"]["val"]["n"] == 13
    assert summary(project)["verdict"]["state"] == "leaked"
    assert "and count (--leaks keep)" in summary(project)["verdict"]["text"]
    assert "held-out" not in kept.stdout
    assert_derived(cli)
    told = summary(project)
    marks = told["rows"][1]["vs_baseline"]["val"]["mark"], told["pairs"][0]["mark"]
    assert "better" not in marks
    assert told["rows"][1]["overfit"]["state"] != "kept"
    assert not [line for line in kept.stdout.splitlines() if "▲" in line or "kept  " in line]
    (project / "good.txt").write_text("bad")
    assert run(cli, "--leaks", "keep", out="before").status == 0
    compared = cli("diff", "before", "r").stdout
    assert "val is not held out: 1 of 13 examples are also in train and count" in " ".join(compared.split())
    assert not [line for line in compared.splitlines() if "▲" in line and "train" not in line]
    for sides, shown in ((("before", "r"), "better"), (("r", "before"), "worse")):
        (val,) = (
            row for row in diff_rows(cli, *sides) if (row["candidate"], row["split"]) == ("good", "val")
        )
        assert (val["mark"], val["for_gates"]["mark"]) == ("no_difference", shown)
        assert val["is_regression"] == (shown == "worse")
    assert cli("diff", "r", "before", "--no-regression-against", "r").status == 1
    (project / "good.txt").write_text("good")
    calls = (project / "r" / "journal.jsonl").read_text().count('"outcome"')
    dropped = run(cli)
    assert "1 val example is also in train and left out" in " ".join(dropped.stdout.split())
    assert (project / "r" / "journal.jsonl").read_text().count('"outcome"') == calls


def test_the_same_question_with_another_answer_is_a_contradiction(cli: Cli, project: Path) -> None:
    write(project / "train.jsonl", TRAIN, answer="yes")
    write(project / "val.jsonl", TRAIN, answer="no")
    done = run(cli, "--quiet")
    assert "12 of them with another answer there" in done.stderr
    assert summary(project)["verdict"]["state"] == "leaked"


def test_it_is_told_before_any_call(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    planned = run(cli, "--dry-run", "--json")
    words = "1 of 13 val examples are also in train (line 13)"
    assert words in planned.stderr
    assert planned.json["leakage"]["val"]["rows"][0]["like"] == {"split": "train", "line": 4}
    assert planned.json["power"]["examples"] == 12
    ready = cli("preflight", "-e", "./judge.sh", "--dataset", "train.jsonl", "--valset", "val.jsonl")
    assert words in ready.stderr
    assert "train 12 lines ok · val 13 lines ok · 1 example in both" in ready.stdout
    checked = cli("validate", "val.jsonl", "train.jsonl")
    assert "1 of 13 val.jsonl examples are also in train.jsonl (line 13)" in checked.stdout
    assert checked.status == 0
    named = cli("validate", "val.jsonl", "train.jsonl", "--json").json["files"][0]
    assert named["leaks"][0] | {"similarity": 1} == {
        "line_number": 13,
        "of": {"path": "train.jsonl", "line_number": 4},
        "how": "normalised",
        "similarity": 1,
    }


def test_a_part_is_held_against_all_of_train_and_grows_to_the_same(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[11]])
    for options in (("--limit", "3"), ("--limit", "3", "--seed", "0"), ()):
        assert run(cli, *options, "--quiet", out="grown").status == 0
    assert run(cli, "--quiet", out="whole").status == 0
    grown, whole = (summary(project, out) for out in ("grown", "whole"))
    assert {**grown, "journal": 0, "latency": 0} == {**whole, "journal": 0, "latency": 0}
    leaked = [json.dumps({"id": "x", "question": TRAIN[11]})]
    (project / "val.jsonl").write_text("\n".join(leaked) + "\n")
    run(cli, "--limit", "1", out="part")
    assert summary(project, "part")["leakage"]["val"]["rows"][0]["like"]["line"] == 12


def test_what_was_found_is_kept_and_not_looked_for_again(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    run(cli, "--quiet")
    path = project / "r" / "run.json"
    document = json.loads(path.read_bytes())
    overlap = document["settings"]["overlaps"]["val"]
    assert overlap["leaks"] == [[13, "train", 4, "normalised", 1.0]]
    overlap["leaks"] = []
    path.write_text(json.dumps(document))
    assert run(cli, "--quiet").stderr.count("also in train") == 0  # taken from there
    write(project / "val.jsonl", [*VAL, TRAIN[3], TRAIN[4]])
    assert "2 of 14 val examples are also in train" in run(cli, "--quiet", "--replace", "val").stderr


def test_a_run_that_was_never_looked_at_is_told_as_it_was(cli: Cli, project: Path) -> None:
    lines = (project / "train.jsonl").read_text().splitlines()[:2]
    with (project / "val.jsonl").open("a") as stream:
        stream.write("\n".join(lines) + "\n")
    run(cli, "--quiet")
    path = project / "r" / "run.json"
    document = json.loads(path.read_bytes())
    del document["settings"]["overlaps"]
    path.write_text(json.dumps(document))
    told = cli("report", "r")
    assert "2 held-out examples are also among the train examples" in " ".join(told.stdout.split())
    assert "good beats bad on held-out data" in told.stdout
    assert "2 val examples are also in train" in run(cli, "--quiet").stdout


def test_an_earlier_run_is_compared_without_them(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    run(cli, "--quiet", out="before")
    met = run(cli, "--quiet", "--no-regression-against", "before", out="after")
    assert met.status == 0
    assert (
        "1 val example left out, because an earlier split has the same"
        in cli("diff", "before", "after").stdout
    )
    write(project / "val.jsonl", TRAIN)
    run(cli, "--quiet", out="same")
    missed = run(cli, "--quiet", "--no-regression-against", "same", out="again")
    assert missed.status == 1
    assert "without enough data: val is not held out: 12 of 12" in missed.stderr


def test_a_test_split_confirms_by_rows_that_no_other_has(cli: Cli, project: Path) -> None:
    shutil.copy(project / "val.jsonl", project / "test.jsonl")
    done = run(cli, "--quiet", "--testset", "test.jsonl")
    assert "test is not held out: 12 of 12 examples are also in val, so there is no verdict" in done.stdout
    assert_derived(cli)


def test_copies_inside_a_split_are_known_by_their_values(cli: Cli, project: Path) -> None:
    rows = [json.dumps({"question": text, "id": n}) for n, text in enumerate(VAL)]
    rows += [json.dumps({"id": 100 + n, "question": f"{text.upper()}."}) for n, text in enumerate(VAL[:3])]
    (project / "val.jsonl").write_text("\n".join(rows) + "\n")
    words = "val.jsonl: 3 of 15 records are copies of others: line 13 equals line 1"
    assert f"note: {words}" in run(cli, "--quiet").stderr
    assert summary(project)["duplicates"] == {"val": 3}
    ready = cli("preflight", "-e", "./judge.sh", "--dataset", "train.jsonl", "--valset", "val.jsonl")
    assert f"note: {words}" in ready.stderr
    assert "val 15 lines ok · no example in both" in ready.stdout
    few = run(cli, "--quiet", "--limit", "13", out="few").stderr
    assert "val.jsonl: 1 of 13 records is a copy of another: line 13 equals line 1" in few
    assert summary(project)["clusters"] == {"val": 12}
    assert "3 of 15 records are copies of others" in cli("validate", "val.jsonl").stdout
    assert_derived(cli)


def test_each_field_of_what_leaked_is_derived_again(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    run(cli, "--quiet")
    path = project / "r" / "summary.json"
    whole = summary(project)
    (row,) = whole["leakage"]["val"]["rows"]
    changes: tuple[dict[str, Any], ...] = (
        {"state": "kept"},
        {"share": 0.5},
        {"left_out": 0},
        {"rows": []},
        {"rows": [row | {"like": {"split": "train", "line": 5}}]},
        {"rows": [row | {"how": "near"}]},
    )
    for change in changes:
        wrong = {**whole, "leakage": {"val": {**whole["leakage"]["val"], **change}}}
        path.write_text(json.dumps(wrong))
        assert rederive(project / "r") == 1, change


def search(cli: Cli, *options: str) -> Result:
    return cli(
        *("optimize", "bad.txt", "-e", "j=./judge.sh", "--dataset", "train.jsonl"),
        *("--proposer", 'echo \'{"candidate": "good"}\'', "--budget", "60", "--out", "s", *options),
    )


def test_a_search_tells_it_before_any_call(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    planned = search(cli, "--valset", "val.jsonl", "--dry-run", "--json")
    assert "note: 1 of 13 val examples are also in train (line 13): left out" in planned.stderr
    assert planned.json["leakage"]["val"]["rows"][0]["like"] == {"split": "train", "line": 4}
    told = planned.json["examples"]
    assert (told["opened"], told["deciding"]) == (13, 12)
    assert told["leaks"] == "1 of 13 val examples are also in train, left out"
    kept = " ".join(search(cli, "--valset", "val.jsonl", "--dry-run", "--leaks", "keep").stdout.split())
    assert "val is not held out: 1 of 13 examples are also in train and count" in kept
    assert "would be found" not in kept
    write(project / "val.jsonl", TRAIN)
    nothing = " ".join(search(cli, "--valset", "val.jsonl", "--dry-run").stdout.split())
    assert "val is not held out: 12 of 12 examples are also in train, so there is no verdict" in nothing
    assert "would be found" not in nothing
    done = search(cli, "--valset", "val.jsonl", "--quiet", "--require-better")
    assert done.status == 1
    assert done.stderr.count("12 of 12 val examples are also in train") == 1  # at its start alone


def test_a_share_that_is_cut_off_holds_no_row_of_the_rest(cli: Cli, project: Path) -> None:
    other = [f"How many years does the guarantee of a {thing} run in winter?" for thing in THINGS]
    texts = [*TRAIN, *VAL, *other]
    texts += [f" {text.upper()}" for text in texts]
    rows = [{"id": n, "of": "xy"[n // 36], "question": text} for n, text in enumerate(texts)]
    (project / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert search(cli, "--val-share", "0.4", "--quiet").status == 0
    document = json.loads((project / "s" / "run.json").read_bytes())
    splits = {split["name"]: split for split in document["splits"]}
    sides = {name: {(line - 1) % 36 for line in split["lines"]} for name, split in splits.items()}
    assert sides["train"].isdisjoint(sides["val"])
    assert document["settings"]["overlaps"]["val"]["leaks"] == []  # it was looked for
    assert summary(project, "s")["leakage"] == {}
    assert_derived(cli, "s")
    assert "taken from run.json" not in cli("report", "s", "--check").stdout
    document["settings"]["overlaps"]["val"]["leaks"] = [[splits["val"]["lines"][0], "train", 1, "near", 0.9]]
    (project / "s" / "run.json").write_text(json.dumps(document))
    forged = cli("report", "s", "--check")
    assert forged.status == 1
    assert "the length of settings.overlaps.val.leaks is 1, the journal gives 0" in forged.stdout


@pytest.mark.parametrize(
    ("keeps", "words"),
    [
        ("", ": give other val examples, or --leaks keep"),
        ('leaks = "keep"\n', ": they count, as --leaks keep says"),
    ],
)
def test_a_sweep_file_whose_val_is_its_train_is_told_of_it(
    cli: Cli, project: Path, keeps: str, words: str
) -> None:
    named = f'[run]\n{keeps}dataset = "train.jsonl"\nvalset = "train.jsonl"\n'
    named += 'candidates = ["bad.txt", "good.txt"]\n'
    (project / "sweep.toml").write_text(f'{named}[[evaluator]]\nname = "j"\ncommand = "./judge.sh"\n')
    checked = cli("validate", "sweep.toml", "val.jsonl")
    assert "train.jsonl: leak: 12 of 12 val examples are also in train" in checked.stdout
    assert words in checked.stdout
    files = cli("validate", "sweep.toml", "--json").json["files"]
    leaks = [file.get("leaks") for file in files if file["path"] == "train.jsonl"]
    assert (leaks[0], leaks[1][11]["of"]) == (None, {"path": "train.jsonl", "line_number": 12})
    assert words in cli("preflight", "sweep.toml").stderr
    planned = cli("run", "sweep.toml", "--dry-run", "--json")
    assert (planned.json["power"], words in planned.stderr) == (None, True)


def test_what_is_kept_is_held_out_on_no_page(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [*VAL, TRAIN[3]])
    assert run(cli, "--leaks", "keep", "--quiet").status == 0
    texts = [cli("report", "r", "--format", form).stdout for form in ("terminal", "md", "junit", "csv")]
    search(cli, "--valset", "val.jsonl", "--leaks", "keep")
    texts += [cli("report", "s", "--format", form).stdout for form in ("terminal", "md")]
    planned = run(cli, "--leaks", "keep", "--dry-run").stdout
    for text in (planned, *texts):
        assert not [word for word in ("held-out", "beats", "✓", "△", "▲", "would be found") if word in text]
    told = summary(project)
    assert {pair["mark"] for pair in told["pairs"]} == {"no_difference"}
