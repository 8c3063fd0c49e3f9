"""Replies that are no usual ones: refused, cut off, substituted, empty. Each is scored as text, and told."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.reports.page.details import excerpt_of
from tests.cli.benches import arithmetic, board_in
from tests.cli.prompted import command, examples, prompts
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli
from tests.run.projects import records

KEY = {"OPENAI_API_KEY": "sk-canary-0123456789abcdef"}


def said(content: str | None, reason: str = "stop", who: str = "m-1", **message: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}
    return {"body": json.dumps({"model": who, "choices": [choice]})}


def odd(fake_model: StartModel) -> FakeModel:
    """Serve a model that refuses, is cut off, is another one, says nothing, and once is right."""
    return fake_model(
        [
            {**said(None, refusal="I cannot help with that."), "when": {"user": "^0 "}},
            {**said("Half of an ans", "content_filter"), "when": {"user": "^1 "}},
            {**said("5", "length"), "when": {"user": "^2 "}},
            {**said("7", who="m-2"), "when": {"user": "^3 "}},
            said(""),
        ]
    )


def prompted(folder: Path, base: str, *further: str) -> list[str]:
    examples(folder, train=5, val=1)
    prompts(folder, plain="{{question}}")
    (folder / "val.jsonl").unlink(missing_ok=True)
    words = command(*further, models=[f"m=openai/m@{base}"])
    place = words.index("--valset")
    return [*words[:place], *words[place + 2 :]]


def test_a_refusal_is_a_reply_that_is_scored_as_text_and_counted(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    server = odd(fake_model)
    done = cli(*prompted(tmp_path, server.base), env=KEY)
    assert done.status == 0, done.stderr
    by_line = {record["line"]: record for record in records(tmp_path / "r")}
    assert [by_line[line]["side_info"].get("refused") for line in range(1, 6)] == [
        True,
        True,
        None,
        None,
        None,
    ]
    assert by_line[1]["replied"] == {"finish_reason": "stop", "answered_by": "m-1", "refused": True}
    assert by_line[5]["replied"]["empty"] is True
    assert [by_line[line]["score"] for line in (1, 3, 4)] == [0, 1, 1]
    told = " ".join(cli("report", "r", "--details").stdout.split())
    assert "m: 2 of 5 scored replies (40 %) are refusals and were scored as text (--refusals fail)" in told
    assert "m: 1 of 5 scored replies are empty" in told
    assert "1 of 5 scored replies were cut off for their length" in told
    assert "name several models: m-1 4, m-2 1" in told
    assert cli("report", "r", "--check").status == 0
    outputs = (tmp_path / "r" / "outputs.jsonl").read_text()
    assert "I cannot help with that." in outputs
    before = len(server.requests())
    assert cli("rescore", "r", "-e", "@contains").status == 0
    assert len(server.requests()) == before, "refusals are kept as other replies"


def test_refusals_are_failures_where_that_is_wanted(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    done = cli(*prompted(tmp_path, odd(fake_model).base, "--refusals", "fail", "--no-preflight"), env=KEY)
    failed = [record for record in records(tmp_path / "r") if record["outcome"] == "failed"]
    failed.sort(key=lambda record: record["line"])
    assert [record["line"] for record in failed] == [1, 2]
    assert "refused to answer: I cannot help with that." in failed[0]["message"]
    assert "held back by a content filter" in failed[1]["message"]
    assert "are refusals" not in done.stdout


def test_a_board_counts_refusals_and_empty_replies(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=5)
    bench = ("bench", "sums.jsonl", "--model", f"m=openai/m@{odd(fake_model).base}")
    done = cli(*bench, "--out", "r", env=KEY)
    assert done.status == 0, done.stderr
    (model,) = board_in(tmp_path / "r")["models"]
    assert (model["refused"], model["empty"], model["cut_off"]) == (2, 1, 1)
    assert "m: 2 of 5 scored replies (40 %) are refusals" in " ".join(done.stdout.split())
    assert cli("report", "r", "--check").status == 0


def test_a_judge_that_refuses_has_failed_and_scored_nothing(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Hello")
    server = fake_model([said(None, refusal="0.5")])
    judge = ("-e", "judge:openai/m", "--objective", "o", "--api-base", server.base)
    done = cli("score", "a.txt", *judge, env=KEY)
    assert (done.status, done.json["kind"]) == (4, "model_error")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_say_how_a_reply_ended_and_who_gave_it(
    cli: Cli, fake_model: StartModel, tmp_path: Path, form: str
) -> None:
    assert cli(*prompted(tmp_path, odd(fake_model).base), env=KEY).status == 0
    text = cli("report", "r", "--format", form).stdout
    rows = (
        [*csv.DictReader(io.StringIO(text))]
        if form == "csv"
        else [json.loads(row) for row in text.splitlines()]
    )
    ended = {str(row["line"]): (row["finish_reason"], row["answered_by"]) for row in rows}
    assert ended == {
        "1": ("stop", "m-1"),
        "2": ("content_filter", "m-1"),
        "3": ("length", "m-1"),
        "4": ("stop", "m-2"),
        "5": ("stop", "m-1"),
    }


def test_show_marks_what_is_no_usual_reply(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    words = prompted(tmp_path, odd(fake_model).base)
    assert cli(*words, env=KEY).status == 0
    shown = [cli(*words, "--show", f"train-{n}", env=KEY).stdout for n in range(5)]
    marks = ["refused, by m-1", "refused, by m-1", "cut off, by m-1", "by m-2", "empty, by m-1"]
    assert [text.split("  ! ")[1].splitlines()[0] for text in shown] == marks
    lines = (tmp_path / "r" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    excerpts = [excerpt_of(line, "x") for line in lines if b'"outcome"' in line]
    assert all(b'"marks":"' in excerpt for excerpt in excerpts), "the page has them, too"


def test_records_have_ids_and_a_wide_table_has_replies(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    assert cli(*prompted(tmp_path, odd(fake_model).base), env=KEY).status == 0
    rows = [json.loads(row) for row in cli("report", "r", "--format", "jsonl").stdout.splitlines()]
    assert [row["id"] for row in rows] == [f"train-{n}" for n in range(5)]
    wide = [json.loads(row) for row in cli("report", "r", "--format", "jsonl", "--wide").stdout.splitlines()]
    assert wide[0]["m@plain reply"] == "I cannot help with that."
    table = [*csv.DictReader(io.StringIO(cli("report", "r", "--format", "csv", "--wide").stdout))]
    assert [row["m@plain reply"] for row in table][2:] == ["5", "7", ""]


def test_a_wide_table_has_prompts_as_they_were_sent_where_the_data_are_there(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    words = prompted(tmp_path, odd(fake_model).base)
    prompts(tmp_path, plain="{{question}}", polite="Please: {{question}}")
    (tmp_path / "prompts" / "short.json").write_text(
        json.dumps([{"role": "system", "content": "Short."}, {"role": "user", "content": "{{question}}"}])
    )
    named = [word.replace("*.md", "*") for word in words]
    assert cli(*named, env=KEY).status == 0
    first = json.loads(cli("report", "r", "--format", "jsonl", "--wide").stdout.splitlines()[0])
    assert (first["id"], first["plain prompt"]) == ("train-0", "0 plus 1")
    assert json.loads(first["short prompt"])["messages"][1] == {"role": "user", "content": "0 plus 1"}
    assert first["polite prompt"] == "Please: 0 plus 1"
    (row, *_) = csv.DictReader(io.StringIO(cli("report", "r", "--format", "csv", "--wide").stdout))
    asked = ["plain prompt", "polite prompt", "short prompt"]
    assert [*row][:8] == ["split", "line", "repeat", "id", *asked, "m@plain reply"]
    assert row == {**row, "plain prompt": "0 plus 1", "m@plain reply": "I cannot help with that."}
    (tmp_path / "train.jsonl").write_text("")
    table = cli("report", "r", "--format", "csv", "--wide").stdout
    (row, *_) = csv.DictReader(io.StringIO(table))
    assert (row["plain prompt"], row["m@plain reply"]) == ("", "I cannot help with that.")
