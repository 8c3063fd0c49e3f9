"""`bench`, and `diff`, `verify`, `rescore` and `report` on what it leaves."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import orjson
import pytest

from optimize_eval.store.command_units import Reader
from optimize_eval.store.layout import Cell, CellName
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, board_in, model, timeless
from tests.front_door import Cli
from tests.paths import PROGRAM, ROOT
from tests.tools import write_program

TASKS = ROOT / "datasets" / "tasks"


@pytest.mark.parametrize("files", [[ROOT / "datasets" / "tasks.jsonl"], [TASKS]], ids=["spec", "examples"])
def test_toy_knows_all_that_ships_and_silent_nothing(cli: Cli, tmp_path: Path, files: Sequence[Path]) -> None:
    done = cli("bench", *files, "--model", "toy", "--model", "silent", "--out", "run")
    assert done.status == 0, done.stderr
    board = board_in(tmp_path / "run")
    assert (board["schema"], board["adapter"], board["overall_score"]) == ("leaderboard.v1", "toy", 1.0)
    assert [(one["adapter"], one["overall_score"]) for one in board["models"]] == [
        ("toy", 1.0),
        ("silent", 0.0),
    ]
    assert {task["score"] for task in board["tasks"]} == {1.0}
    assert all(task["correct"] == task["perfect"] == task["total"] for task in board["tasks"])
    assert [one["win_rate"] for one in board["models"]] == [1.0, 0.0]
    assert "toy" in done.stdout
    assert (tmp_path / "run" / "outputs.jsonl").exists()


SAID = """\
key: said
display_name: Said
description: What was said?
definition:
  dataset: {key: sums}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.prompt }}"}]
  scorers:
    - {key: same, type: string_equals, ground_truth: "{{ sample.targets[0] }}"}
    - {key: other, type: string_equals, ground_truth: "no"}
"""
REASONS = 5  # of the lowest scores of each row, which are looked up once the numbers are known


@pytest.mark.parametrize(("file", "rows"), [("sums.jsonl", 1), ("said.yaml", 2)])
def test_a_bench_reads_each_record_once_for_its_summary_its_board_its_metrics_and_its_gates(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, rows: int
) -> None:
    arithmetic(tmp_path, size=30)
    (tmp_path / "said.yaml").write_text(SAID)
    lines_of, reads = Reader.lines, Counter[tuple[CellName, int]]()

    def count(reader: Reader, cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        for place, line in lines_of(reader, cell, places):
            reads[cell[:4], place] += 1
            yield place, line

    monkeypatch.setattr(Reader, "lines", count)
    done = cli(
        "bench",
        file,
        "--model",
        "silent",
        "--out",
        "run",
        "--fail-under",
        "silent=0",
        "--include-per-example",
    )
    assert done.status == 0, done.stderr
    assert board_in(tmp_path / "run")["models"][0]["tasks"][0]["per_example"]
    assert len(reads) == 30 * rows
    assert reads.total() <= len(reads) + REASONS * rows


def test_a_record_is_a_task_in_one_dialect_and_a_file_is_in_the_other(cli: Cli, tmp_path: Path) -> None:
    done = cli("bench", ROOT / "datasets" / "tasks.jsonl", TASKS, "--model", "toy", "--out", "run", "--json")
    board = done.json
    assert board.pop("run") == "run"
    assert board.pop("status") == "done"
    assert board == board_in(tmp_path / "run")
    assert [task["total"] for task in board["tasks"][:10]] == [1] * 10
    assert [task["task"] for task in board["tasks"][10:]] == sorted(path.stem for path in TASKS.iterdir())
    categories = {one["category"]: one["tasks"] for one in board["models"][0]["categories"]}
    assert categories == dict.fromkeys(("arithmetic", "mcq", "code_exec", "classification", "summary"), 2)
    assert {task["metric_id"] for task in board["tasks"]} >= {"code_exec@assertions", "code_exec@io_pairs"}


def test_a_model_that_answers_half_the_tasks_stands_below_one_that_answers_all(
    cli: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path, name="a.jsonl")
    arithmetic(tmp_path, name="b.jsonl")
    (tmp_path / "b.jsonl").write_text((tmp_path / "b.jsonl").read_text().replace(" =", " is"))
    half = model(tmp_path / "half", f"{{'error': 'no'}} if 'is' in asked['prompt'] else {RIGHT}")
    weak = model(tmp_path / "weak", "'0'")
    done = cli("bench", "a.jsonl", "b.jsonl", "--model", half, "--model", weak, "--out", "run")
    assert done.status == 0, done.stderr
    best, other = board_in(tmp_path / "run")["models"]
    assert (best["adapter"], other["adapter"]) == ("weak", "half")
    assert [task["score"] for task in other["tasks"]] == [1.0, None]
    assert (other["overall_score"], other["lower_bound"], other["not_run"]) == (1.0, 0.5, ["b"])
    assert (other["failed"], other["errors"], other["coverage"]) == (12, {"reported": 12}, 0.5)
    assert "half did not run 1 of 2 tasks: b" in done.stdout
    assert "12 of 24 calls failed (50 %: 12 reported)" in " ".join(done.stdout.split())
    assert "No leader: only weak ran all tasks" in done.stdout


def test_a_model_that_answers_nothing_has_no_score_and_says_why(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    write_program(tmp_path / "broken", ["#!/bin/sh", "echo out of cheese >&2", "exit 3"])
    done = cli(
        "bench", "sums.jsonl", "--model", "cmd:./broken", "--model", "toy", "--no-preflight", "--out", "r"
    )
    assert done.status == 4
    board = board_in(tmp_path / "r")
    assert (board["overall_score"], board["tasks"][0]["score"], board["tasks"][0]["total"]) == (
        None,
        None,
        12,
    )
    assert "model broken failed on every call (12), exit_code: " in done.stderr
    assert "out of cheese" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_is_not_there_is_told_as_a_program_not_as_an_evaluator(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    (tmp_path / "empty").mkdir()
    hints = {
        "./empty/model": "check the path; a relative one counts from the folder that programs run in (--cwd)",
        "no-such-model-of-mine": "install it, or write its path, such as ./no-such-model-of-mine",
    }
    for name, hint in hints.items():
        told = cli("bench", "sums.jsonl", "--model", f"cmd:{name}", "--out", "r", "--fresh")
        assert (told.status, f"no program {name}" in told.stderr) == (4, True), told.stderr
        assert f"  try: {hint}\n" in told.stderr
        assert "evaluat" not in told.stderr


def test_a_late_answer_has_its_own_column(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=4)
    late = model(tmp_path / "late", f"__import__('time').sleep(30) if '3 +' in asked['prompt'] else {RIGHT}")
    done = cli("bench", "sums.jsonl", "--model", late, "--timeout", "3", "--out", "run", "--json")
    assert done.status == 0, done.stderr
    (told,) = done.json["models"]
    assert (told["timeouts"], told["errors"], told["tasks"][0]["timeouts"]) == (1, {"timeout": 1}, 1)
    assert told["overall_score"] == 1.0


def test_bad_lines_are_refused_together_or_left_out_and_told(cli: Cli, tmp_path: Path) -> None:
    good = arithmetic(tmp_path)
    (tmp_path / "bad.jsonl").write_text(good.read_text() + '{"prompt": "x", "targets": []}\nnot json\n')
    refused = cli("bench", "bad.jsonl", "--model", "toy", "--out", "run")
    assert refused.status == 2
    assert "bad.jsonl:13: missing_required metric" in refused.stderr
    assert "bad.jsonl:14: bad_json _line" in refused.stderr
    assert not (tmp_path / "run").exists()
    allowed = cli("bench", "bad.jsonl", "--model", "silent", "--allow-bad-tasks", "--out", "run", "--json")
    assert allowed.status == 0, allowed.stderr
    assert [(one["path"], one["line_number"], one["rule"]) for one in allowed.json["task_errors"]] == [
        ("bad.jsonl", 13, "missing_required"),
        ("bad.jsonl", 14, "bad_json"),
    ]
    assert allowed.json["files"][0]["errors"] == 2
    assert allowed.json["tasks"][0]["total"] == 12


def test_boards_of_the_same_inputs_are_equal_but_for_times(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    often = model(tmp_path / "often", OFTEN_WRONG)
    for out, how in (("one", ["--concurrency", "1"]), ("two", ["--no-persistent"])):
        command = ["bench", "sums.jsonl", "--model", often, "--model", "toy", "--include-per-example"]
        assert cli(*command, "--out", out, *how).status == 0
    one, two = board_in(tmp_path / "one"), board_in(tmp_path / "two")
    assert one != two
    assert timeless(one) == timeless(two)
    example = one["tasks"][0]["per_example"][3]
    assert example == {
        "id": "q3",
        "prompt": "3 + 3 =",
        "prediction": "7",
        "targets": ["6"],
        "score": 0.0,
        "line": 4,
    }


def test_a_killed_bench_goes_on_and_asks_for_no_output_twice(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=40)
    stop_at = tmp_path / "stop"
    stop_at.write_text("")
    slow = f"(open('reached', 'w').close(), __import__('time').sleep(30)) and '' if '30 +' in asked['prompt'] and os.path.exists('stop') else {RIGHT}"  # noqa: E501  one expression
    name = model(tmp_path / "slow", slow)
    command = ["bench", "sums.jsonl", "--model", name, "--out", "run", "--concurrency", "1", "--workers", "1"]
    environment = {**os.environ, "CALLS": str(tmp_path / "calls")}
    with subprocess.Popen(
        [PROGRAM, *command], cwd=tmp_path, env=environment, start_new_session=True, stderr=subprocess.DEVNULL
    ) as running:
        while not (tmp_path / "reached").exists():
            assert running.poll() is None
        os.killpg(running.pid, signal.SIGKILL)
    for child in _children_of(tmp_path / "slow"):
        os.kill(child, signal.SIGKILL)
    stop_at.unlink()
    asked = (tmp_path / "calls").read_text().splitlines()
    done = cli(*command, "--json", env={"CALLS": str(tmp_path / "calls")})
    assert done.status == 0, done.stderr
    assert done.json["overall_score"] == 1.0
    again = (tmp_path / "calls").read_text().splitlines()
    assert sorted(set(again)) == sorted(again[: len(asked) - 1] + again[len(asked) :])  # only 30 + 30 twice


def _children_of(program: Path) -> list[int]:
    """Find what a killed run left: programs whose command line names the program."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
            if str(program).encode() in words or b"./slow" in words:
                found += [int(folder.name)] if (folder / "cwd").readlink() == program.parent else []
        except OSError:
            continue
    return found


def test_another_evaluator_scores_what_was_said_though_the_model_is_gone(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    often = model(tmp_path / "often", OFTEN_WRONG)
    assert cli("bench", "sums.jsonl", "--model", often, "--model", "toy", "--out", "run").status == 0
    before = (tmp_path / "run" / "leaderboard.json").read_bytes()
    (tmp_path / "often").unlink()
    done = cli("rescore", "run", "-e", "@length_limit --max 1", "--json")
    assert done.status == 0, done.stderr
    told = {one["adapter"]: one["tasks"][0] for one in done.json["models"]}
    assert told["often"]["metric_id"] == "length_limit"
    assert told["often"]["correct"] == 5  # 1, 2, 4, 7 and 8 have one letter
    assert (tmp_path / "run" / "leaderboard.json").read_bytes() == before
    again = cli("rescore", "run", "-e", "@length_limit --max 1", "--json")
    assert "none of its calls is owed" in again.stderr
    assert timeless(again.json) == timeless(done.json)
    assert cli("rescore", "run", "-e", "@f1", "-e", "@exact").status == 2
    beyond = cli("rescore", "run", "-e", "@f1", "--score-range", "any")
    assert (beyond.status, "scores from 0 to 1" in beyond.stderr) == (2, True)
    assert "often" in cli("report", "run").stdout


def test_a_bench_that_did_not_come_to_its_end_has_no_board_of_another_time(
    cli: Cli, program: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--out", "run", "--concurrency", "1", "--model"]
    assert cli(*bench, model(tmp_path / "mine", RIGHT)).status == 0
    met = cli("report", "run", "--fail-under", "mine=0.9")
    assert (met.status, "gate met: mine, overall" in met.stderr) == (0, True), met.stderr
    killer = f"os.kill(os.getppid(), 9) if '6 +' in asked['prompt'] else {RIGHT}"
    done = program(*bench, model(tmp_path / "mine", killer), "--fresh", "--no-preflight", "--workers", "1")
    assert done.status == -signal.SIGKILL
    assert not (tmp_path / "run" / "leaderboard.json").exists()
    told = cli("report", "run")
    assert (told.status, "of 12 calls done" in told.stdout) == (0, True), told.stderr
    (listed,) = cli("runs", ".", "--json").json["runs"]
    assert (listed["state"], "mine" in (listed["verdict"] or "")) == ("unfinished", False)
    assert cli(*bench, model(tmp_path / "mine", RIGHT), "--fresh").status == 0
    (listed,) = cli("runs", ".", "--json").json["runs"]
    assert (listed["state"], listed["verdict"].split(" (")[0]) == ("done", "mine scores 1.000")


def test_runs_shows_the_verdict_of_a_benchs_board(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    often = model(tmp_path / "often", OFTEN_WRONG)
    assert cli("bench", "sums.jsonl", "--model", "silent", "--model", often, "--out", "run").status == 0
    verdict = board_in(tmp_path / "run")["verdict"]["text"]
    assert "often leads" in verdict
    assert cli("runs", ".", "--json").json["runs"][0]["verdict"] == verdict
    assert f"   {verdict.partition(' (95 %')[0]}\n" in cli("runs", ".", "--long").stdout
    for board in (b"[]", b'{"verdict": 5}', b"{"):
        (tmp_path / "run" / "leaderboard.json").write_bytes(board)
        assert cli("runs", ".").status == 0


def test_a_board_that_was_edited_is_not_reported(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    assert cli("bench", "sums.jsonl", "--model", "toy", "--out", "run").status == 0
    board = board_in(tmp_path / "run")
    for edited in (
        {key: value for key, value in board.items() if key != "verdict"},
        board | {"verdict": 5},
        board | {"models": []},
    ):
        (tmp_path / "run" / "leaderboard.json").write_bytes(orjson.dumps(edited))
        done = cli("report", "run")
        assert (done.status, "is not as bench wrote it" in done.stderr) == (2, True), done.stderr


def test_a_model_that_changed_while_it_was_asked_gets_no_verdict(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    changing = "open(sys.argv[0], 'a').write('#') and " + RIGHT
    bench = ["bench", "sums.jsonl", "--model", model(tmp_path / "moody", changing), "--workers", "1"]
    done = cli(*bench, "--out", "run")
    assert done.status == 3
    assert "No verdict: moody changed while being called" in done.stdout
    assert board_in(tmp_path / "run")["changed"] == ["moody"]


def test_a_model_that_was_given_twice_is_rescored_once(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    models = ["--model", "toy", "--model", "toy", "--model", "silent"]
    asked = cli("bench", "sums.jsonl", *models, "--out", "run")
    assert asked.status == 0
    assert "note: toy-2 is the same model as toy: its replies count for both" in asked.stderr
    done = cli("rescore", "run", "-e", "@length_limit --max 1", "--json")
    assert done.status == 0, done.stderr
    assert {one["adapter"] for one in done.json["models"]} == {"toy", "silent"}
    assert "toy-2 is the same model as toy" in done.stderr


def test_diff_tells_what_moved_and_which_predictions_changed(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--include-per-example", "--model"]
    assert cli(*bench, model(tmp_path / "right", RIGHT), "--out", "before").status == 0
    assert cli(*bench, model(tmp_path / "often", OFTEN_WRONG), "--out", "after").status == 0
    boards = "before/leaderboard.json", "after/leaderboard.json"
    done = cli("diff", *boards, "--json")
    assert done.status == 0, done.stderr
    (moved,) = done.json["models"]
    assert (moved["model"], moved["model_in_a"], moved["paired"]) == ("often", "right", True)
    (task,) = moved["tasks"]
    assert (task["a"], task["losses"], task["ties"], task["predictions_changed"]) == (1.0, 4, 8, 4)
    assert task["diff"] == pytest.approx(-1 / 3)
    assert {one["id"] for one in moved["changed"]} == {"q0", "q3", "q6", "q9"}
    assert moved["changed"][0]["a"]["prediction"] == "0"
    text = cli("diff", *boards).stdout
    assert "often" in text
    assert "1 of 1 task moved, 4 predictions changed" in " ".join(text.split())
    assert cli("diff", boards[0], boards[0], "--json").json["models"][0]["tasks"][0]["diff"] == 0.0


def test_diff_takes_benches_by_their_folders_and_pairs_them_by_their_journals(
    cli: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", ROOT / "datasets" / "tasks.jsonl", "--model", "silent", "--model"]
    for out, answer, extra in (("a", RIGHT, ["--include-per-example"]), ("b", OFTEN_WRONG, [])):
        said = f"{answer} if '+' in asked['prompt'][:5] else ''"
        named = f"m={model(tmp_path / f'model-{out}', said)}"
        assert cli(*bench, named, "--out", out, *extra).status == 0
    done = cli("diff", "a", "b", "--json")
    assert done.status == 0, done.stderr
    moved = {one["model"]: one for one in done.json["models"]}
    assert (moved["m"]["paired"], moved["silent"]["predictions_changed"]) == (True, 0)
    sums = next(task for task in moved["m"]["tasks"] if task["task"] == "sums")
    assert (sums["losses"], sums["ties"], sums["predictions_changed"]) == (4, 8, 4)
    assert ("sums", "line 1") in [(one["task"], one["id"]) for one in moved["m"]["changed"]]
    assert cli("diff", "a/run.json", "b", "--json").stdout == done.stdout
    (tmp_path / "alone.json").write_bytes((tmp_path / "b" / "leaderboard.json").read_bytes())
    unpaired = cli("diff", "a/leaderboard.json", "alone.json", "--json").json
    assert "nothing is paired" in unpaired["caveats"][0]
    (tmp_path / "b" / "leaderboard.json").unlink()
    refused = cli("diff", "a", "b")
    assert (refused.status, "the bench is not finished" in refused.stderr) == (2, True)
    assert cli("diff", "a", "nothing").status == 2


def test_with_repeats_every_prediction_is_on_the_board_and_diff_looks_at_each(
    cli: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path, size=2)
    count = "len(open('calls', 'a+').write('.') and open('calls').read())"
    third_differs = f"'x' if {count} % 3 == 0 and os.path.exists('moody') else {RIGHT}"
    moody = model(tmp_path / "model", third_differs)
    bench = ["bench", "sums.jsonl", "--model", moody, "--repeats", "3", "--include-per-example"]
    bench += ["--concurrency", "1", "--workers", "1", "--no-preflight"]
    assert cli(*bench, "--out", "before").status == 0
    (tmp_path / "moody").touch()
    assert cli(*bench, "--out", "after").status == 0
    row = board_in(tmp_path / "after")["tasks"][0]["per_example"][1]
    assert (row["prediction"], row["score"]) == ("2", pytest.approx(2 / 3))
    assert row["predictions"] == [
        {"prediction": "2", "score": 1.0},
        {"prediction": "2", "score": 1.0},
        {"prediction": "x", "score": 0.0},
    ]
    (moved,) = cli("diff", "before/leaderboard.json", "after/leaderboard.json", "--json").json["models"]
    assert moved["predictions_changed"] == 2
    assert moved["changed"][0]["b"] == {"prediction": "x", "score": 0.0, "error": None}


def test_diff_refuses_boards_that_measure_something_else(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    assert cli("bench", "sums.jsonl", "--model", "toy", "--out", "a").status == 0
    text = (tmp_path / "sums.jsonl").read_text()
    (tmp_path / "sums.jsonl").write_text(text.replace("exact_match", "f1"))
    assert cli("bench", "sums.jsonl", "--model", "toy", "--out", "b").status == 0
    boards = "a/leaderboard.json", "b/leaderboard.json"
    refused = cli("diff", *boards)
    assert refused.status == 2
    assert "task sums has another metric: exact_match@normalised in A, f1 in B" in refused.stderr
    assert "task sums is of another file" in refused.stderr
    forced = cli("diff", *boards, "--force", "--json")
    assert forced.status == 0
    assert len(forced.json["caveats"]) >= 2
    assert cli("diff", boards[0], "a/nothing.json").status == 2
    assert cli("diff", *boards, "--fail-under", "x=1").status == 2


def test_verify_looks_at_each_task_file(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    assert cli("bench", "sums.jsonl", "--model", "silent", "--out", "run").status == 0
    assert cli("verify", "run").stdout == "sums.jsonl: ok\n"
    assert cli("verify", "run/leaderboard.json", "--json").json["ok"] is True
    (tmp_path / "sums.jsonl").rename(tmp_path / "run" / "sums.jsonl")  # beside the board
    assert cli("verify", "run/leaderboard.json").status == 0
    with (tmp_path / "run" / "sums.jsonl").open("a") as file:
        file.write("\n")
    changed = cli("verify", "run")
    assert (changed.status, "CHANGED" in changed.stdout) == (1, True)
    (tmp_path / "run" / "sums.jsonl").unlink()
    gone = cli("verify", "run", "--json")
    assert (gone.status, gone.json["files"][0]["state"]) == (1, "gone")
    (tmp_path / "other.json").write_text('{"schema": "something"}')
    os.mkfifo(tmp_path / "pipe.json")
    for what in ("other.json", "missing.json", "run/journal.jsonl", ".", "pipe.json"):
        assert cli("verify", what).status == 2, what


def test_show_goes_through_one_task_without_asking_for_what_is_stored(cli: Cli, tmp_path: Path) -> None:
    good = arithmetic(tmp_path)
    (tmp_path / "more.jsonl").write_text(good.read_text())
    loud = model(tmp_path / "loud", "'\\x1b[31m' + asked['prompt'][0]")
    calls = {"CALLS": str(tmp_path / "calls")}
    assert cli("bench", "sums.jsonl", "--model", loud, "--out", "run", env=calls).status == 0
    asked = (tmp_path / "calls").read_bytes()
    shown = cli("bench", "sums.jsonl", "--model", loud, "--out", "run", "--show", "q3", env=calls)
    assert shown.status == 0, shown.stderr
    assert (tmp_path / "calls").read_bytes() == asked
    assert "prompt    │ 3 + 3 =" in shown.stdout
    assert "targets   │ 6" in shown.stdout
    assert "score     0" in shown.stdout
    assert "\x1b" not in shown.stdout
    told = cli("bench", "sums.jsonl", "--model", loud, "--show", "q3", "--json").json
    assert (told["models"][0]["output"], told["models"][0]["score"]) == ("\x1b[31m3", 0.0)
    (tmp_path / "none.jsonl").write_text('{"id": "other", "output": "4"}')
    failed = cli("bench", "sums.jsonl", "--model", "replay:none.jsonl", "--show", "q3")
    assert (failed.status, "model_error: model: none.jsonl has no output" in failed.stdout) == (4, True)
    unknown = cli("bench", "sums.jsonl", "--model", "toy", "--show", "q33")
    assert (unknown.status, "did you mean q3?" in unknown.stderr) == (2, True)
    both = ["bench", "sums.jsonl", "more.jsonl", "--model", "toy", "--show"]
    assert "name one of sums:q3, more:q3" in cli(*both, "q3").stderr
    assert cli(*both, "more:q3").status == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.jsonl", "--model", "toy"], "nothing.jsonl: no such file"),
        (["empty", "--model", "toy"], "the folder empty has no task file (*.yaml, *.yml or *.jsonl)"),
        (["sums.jsonl", "--model", "toyy"], "did you mean toy?"),
        (["sums.jsonl", "--model", "./m.py"], "a program is written cmd:./m.py"),
        (["sums.jsonl", "--model", "openai/m"], "OPENAI_API_KEY"),
        (["sums.jsonl"], "--model"),
        (["sums.jsonl", "--model", "toy", "--sandbox", "foo"], "strict"),
        (["sums.jsonl", "--model", "toy", "--out", ""], "--out needs a name"),
        (["sums.jsonl", "--model", "toy", "--format", "yaml"], "no format of task files is called 'yaml'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_benched_is_refused(
    cli: Cli, tmp_path: Path, arguments: Sequence[str], told: str
) -> None:
    arithmetic(tmp_path)
    (tmp_path / "empty").mkdir()
    done = cli("bench", *arguments)
    assert done.status == 2, done.stderr
    assert told in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "runs").exists()
