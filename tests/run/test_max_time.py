"""--max-time: at its end no call begins, those in flight get what Ctrl-C gives them, the run can go on."""

import json
from pathlib import Path

import pytest

from optimize_eval.base.checks import parse_duration
from optimize_eval.run.host import GRACE, Stop
from tests.front_door import Cli
from tests.run.projects import Project, await_that, project, scored, summary, undisturbed

TASK = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'


def again_line(made: Project, *words: str) -> str:
    return " ".join(["  optimize-eval", *made.command, *words])


def test_when_the_time_is_over_no_call_begins_and_the_run_says_how_to_go_on(cli: Cli, tmp_path: Path) -> None:
    made, run = project(tmp_path), tmp_path / "r"
    words = ("--out", "r", "--max-time", "0s", "--fail-under", "counts=0.1")
    done = cli(*made.command, *words, "--json", env=made.env())
    assert (done.status, made.asked().total()) == (4, 0)
    assert "out of time (--max-time): 0 of 24 calls are done; to resume:" in done.stderr
    assert again_line(made, *words, "--json") in done.stderr.splitlines()
    assert done.json["status"] == "out_of_time"
    assert done.json["verdict"]["text"].startswith("Unfinished: 0 of 24 calls done. The verdict")
    assert done.json["gates"]
    assert not any(gate["met"] for gate in done.json["gates"])
    assert cli("runs", "r", "--json").json["runs"][0]["state"] == "out_of_time"
    assert "out of time" in cli("runs", "r").stdout
    assert cli(*made.command, "--out", "r", "--quiet", env=made.env()).status == 0
    assert (made.asked().total(), summary(run)) == (24, undisturbed())


def test_calls_in_flight_may_finish(cli: Cli, tmp_path: Path) -> None:
    """They wait until the time is up, and are let go then; whichever they are, they are scored."""
    made, run = project(tmp_path), tmp_path / "r"
    with made.started("--out", "r", "--concurrency", "2", "--max-time", "0.7s", WAITS="*") as process:
        await_that(lambda: "the time is up: " in made.said() or process.poll() is not None)
        asked = made.asked()  # none where the machine is so busy that the time was over before
        Path(f"{made.counted}.go").touch()
        assert process.wait(30) == 4
    assert made.asked() == asked
    assert scored(run) == set(asked)
    assert f"out of time (--max-time): {len(asked)} of 24 calls are done" in made.said()
    assert json.loads((run / "journal.jsonl").read_bytes().splitlines()[-1])["status"] == "out_of_time"
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    assert (made.asked().total(), summary(run)) == (24, undisturbed())


class Clock:
    """A clock that stands still until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_run_that_is_done_in_time_is_done(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    done = cli(*made.command, "--out", "r", "--max-time", "1h", "--json", env=made.env())
    assert (done.status, done.json["status"]) == (0, "done")
    done = cli(*made.command, "--out", "r", "--max-time", "0", "--json", env=made.env())
    assert (done.status, done.json["status"]) == (0, "done"), "nothing is owed"


def test_benches_and_rescores_have_it_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(TASK)
    bench = ("bench", "tasks.jsonl", "--model", "toy", "-e", "own=@exact_match", "--out", "b")
    done = cli(*bench, "--max-time", "0s", "--fail-under", "toy=0.5", "--json")
    assert (done.status, done.json["status"], done.json["models"]) == (4, "out_of_time", [])
    assert [gate["met"] for gate in done.json["gates"]] == [False]
    assert "out of time (--max-time): 0 of 1 calls are done; to resume:" in done.stderr
    assert cli(*bench, "--max-time", "10m", "--quiet").status == 0
    words = ("rescore", "b", "-e", "other=@exact_match --x", "--max-time", "0s")
    done = cli(*words)
    assert done.status == 4, done.stderr
    assert "  optimize-eval rescore b -e 'other=@exact_match --x' --max-time 0s" in done.stderr


def test_a_sweep_file_has_it_and_a_flag_wins(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    sweep = (
        'max_time = {}\ncandidates = ["a.txt"]\ndataset = "d.jsonl"\n[[evaluator]]\ncommand = "./counts.sh"\n'
    )
    for value, status in (('"0s"', 4), ("0", 4), ('"1h30m"', 0)):
        (tmp_path / "s.toml").write_text("[run]\n" + sweep.format(value))
        assert cli("run", "s.toml", "--out", "r", "--quiet", env=made.env()).status == status
    assert cli("run", "s.toml", "--fresh", "--out", "r", "--max-time=0s", env=made.env()).status == 4
    for value in ('"soon"', "true", "-1", "[]", '""'):
        (tmp_path / "s.toml").write_text("[run]\n" + sweep.format(value))
        done = cli("run", "s.toml", "--out", "r")
        assert done.status == 2
        assert "s.toml:2: max_time: write a duration" in done.stderr


@pytest.mark.parametrize(
    "text", ["", "soon", "10 m", "-1s", "1m30", "30m1h", "1h1h", "nan", "1e3", "1" * 400]
)
def test_what_is_no_duration_is_refused_before_any_call(cli: Cli, tmp_path: Path, text: str) -> None:
    done = cli(*project(tmp_path).command, "--out", "r", f"--max-time={text}")
    assert done.status == 2
    assert "write a duration, such as 90s, 10m or 1h30m" in done.stderr
    assert not (tmp_path / "r").exists()


def test_durations_are_sums_of_their_parts() -> None:
    assert parse_duration("1d2h3m4.5s") == 86_400 + 2 * 3600 + 3 * 60 + 4.5
    assert parse_duration("0") == 0


def test_the_clock_asks_to_stop_once_and_whoever_came_first_counts() -> None:
    clock = Clock()
    by_time, by_hand = Stop(clock), Stop(clock)
    for stop in (by_time, by_hand):
        stop.end_at(110.0)
    by_hand.request()
    assert (by_time.is_requested, by_hand.is_requested) == (False, True)
    clock.now = 110.0
    assert (by_time.is_requested, by_time.is_over, by_time.is_out_of_time) == (True, False, True)
    assert (by_hand.is_requested, by_hand.is_out_of_time) == (True, False)
    clock.now = 110.1 + GRACE
    assert by_time.is_over


def test_after_the_time_is_up_ctrl_c_ends_at_once() -> None:
    clock = Clock()
    stop = Stop(clock)
    stop.end_at(99.0)
    assert (stop.is_requested, stop.is_over) == (True, False)
    stop.request()
    assert (stop.is_over, stop.is_out_of_time) == (True, True)
