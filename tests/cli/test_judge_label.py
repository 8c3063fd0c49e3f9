"""People are asked where their labels decide; what they write joins the run, and weighs as it was chosen."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from tests.cli.peopled import called, pairs, start
from tests.fake_model import StartModel
from tests.front_door import Cli


def filled(text: str, rows: list[dict[str, Any]], most: int | None = None) -> str:
    """Write what people say of each row that is asked for, up to so many."""
    asked = [*csv.DictReader(io.StringIO(text))]
    for row in asked[:most]:
        row["label"] = str(rows[int(row["line"]) - 1]["truth"][row["candidate"]])
    stream = io.StringIO()
    writer = csv.DictWriter(stream, asked[0])
    writer.writeheader()
    writer.writerows(asked)
    return stream.getvalue()


def start_unlabelled(fake_model: StartModel, folder: Path, many: int) -> list[dict[str, Any]]:
    rows = pairs(many, bias=0.4)
    truths = [{**row, "truth": row["people"]} for row in rows]
    start(fake_model, folder, [{k: v for k, v in row.items() if k != "people"} for row in rows], "")
    return truths


def test_labels_where_they_decide_turn_the_verdict_of_a_judge_that_errs(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rows = start_unlabelled(fake_model, tmp_path, 80)
    assert called(cli).status == 0
    asked = cli("judge", "label", "r", "--by", "Ada", "--most", "50")
    assert (asked.status, "50 rows to label" in asked.stderr) == (0, True), asked.stderr
    assert "truth" not in asked.stdout
    table = [*csv.DictReader(io.StringIO(asked.stdout))]
    assert [row["candidate"] for row in table[:2]] == ["old", "new"]
    assert {row["by"] for row in table} == {"Ada"}
    assert "old" not in json.loads(table[0]["example"]), "who labels sees one of two at a time"
    (tmp_path / "l.csv").write_text(filled(asked.stdout, rows))
    done = cli("rescore", "r", "--labels", "l.csv")
    assert done.status == 0, done.stderr
    assert "new beats old on held-out data by what people say" in " ".join(done.stdout.split())
    [people] = json.loads((tmp_path / "r/summary.json").read_text())["people"]
    assert (people["chosen"], people["looks"], people["labels"], people["raters"]) == (True, 1, 50, ["Ada"])
    chances = json.loads((tmp_path / "r/run.json").read_text())["settings"]["people"]["helps"]["asked"][0][
        "chances"
    ]
    assert len(chances) == 80
    assert 20 < sum(chances.values()) < 30
    assert cli("report", "r", "--check").status == 0
    assert "no label that the run does not have" in cli("rescore", "r", "--labels", "l.csv").stderr
    again = cli("judge", "label", "r", "--by", "Ada", "-o", "more.csv")
    assert "it is settled" in again.stderr
    later = [*csv.DictReader(io.StringIO((tmp_path / "more.csv").read_text()))]
    assert not {(row["line"], row["candidate"]) for row in later} & {
        (r["line"], r["candidate"]) for r in table
    }
    assert called(cli).status == 0, "labels stay where the run is called again"
    assert json.loads((tmp_path / "r/summary.json").read_text())["people"] == [people]
    assert called(cli, "--fresh").status == 0
    assert json.loads((tmp_path / "r/summary.json").read_text())["people"] == [people], "nobody labels twice"


def test_who_stops_early_has_a_sample_and_foreign_labels_are_a_random_one(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    rows = start_unlabelled(fake_model, tmp_path, 30)
    called(cli)
    asked = cli("judge", "label", "r", "--by", "Ada", "--most", "40")
    assert "how many it takes is said once 20 are there of each candidate" in asked.stderr
    (tmp_path / "l.csv").write_text(filled(asked.stdout, rows, most=10))
    assert "10 labels are too few" in " ".join(cli("rescore", "r", "--labels", "l.csv").stdout.split())
    [cell, _] = json.loads((tmp_path / "r/run.json").read_text())["settings"]["people"]["helps"]["asked"]
    assert sum(cell["chances"].values()) < 10
    said = "".join(f"{n + 1},old,{row['truth']['old']}\n" for n, row in enumerate(rows))
    (tmp_path / "foreign.csv").write_text(f"line,candidate,label\n{said}")
    called(cli, "--out", "other")
    done = cli("rescore", "other", "--labels", "foreign.csv")
    assert "they are taken for a random sample" in done.stderr
    [people] = json.loads((tmp_path / "other/summary.json").read_text())["people"]
    assert (people["labels"], people.get("chosen"), people["raters"]) == (30, None, ["people"])


def test_what_cannot_be_a_label_is_named_with_its_line(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    start_unlabelled(fake_model, tmp_path, 3)
    called(cli)
    (tmp_path / "l.csv").write_text("line,candidate,label\n1,old,7\n2,neither,1\n9,old,1\n3,new,fine\n")
    done = cli("rescore", "r", "--labels", "l.csv")
    assert done.status == 2
    assert all(f"l.csv:{line}" in done.stderr for line in (2, 3, 4, 5)), done.stderr
    (tmp_path / "l.csv").write_text("row,label\n1,1\n")
    assert "no columns line and label" in cli("rescore", "r", "--labels", "l.csv").stderr
    assert cli("rescore", "r", "--labels", "l.csv", "-e", "true").status == 2
    refused = cli("judge", "label", "r", "--by", "Ada", "--judge", "other")
    assert (refused.status, "no judge 'other'" in refused.stderr) == (2, True)
