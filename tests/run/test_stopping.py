"""How a run ends before its end: by signals, and by failures. However it ended, it resumes."""

import json
import signal
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.faults.servers import served
from tests.front_door import Cli
from tests.run.projects import Project, await_that, project, records, scored, summary, undisturbed
from tests.serving import serving


def last_line(run: Path) -> dict[str, Any]:
    line: dict[str, Any] = json.loads((run / "journal.jsonl").read_bytes().splitlines()[-1])
    return line


def resume_line(made: Project) -> str:
    return " ".join(["  optimize-eval", *made.command, "--out", "r", "--concurrency", "2"])


def test_ctrl_c_once_lets_the_calls_in_flight_finish_and_asks_no_more(cli: Cli, tmp_path: Path) -> None:
    made, run = project(tmp_path), tmp_path / "r"
    expected = undisturbed()
    with made.started("--out", "r", "--concurrency", "2", WAITS="a:[5-9]") as process:
        await_that(lambda: {"a:5", "a:6"} <= made.asked().keys())
        process.send_signal(signal.SIGINT)
        await_that(lambda: "stopping: " in made.said())
        Path(f"{made.counted}.go").touch()
        assert process.wait(30) == 130
    assert made.asked() == Counter(f"a:{n}" for n in range(1, 7))
    assert scored(run) == set(made.asked())
    assert last_line(run)["status"] == "interrupted"
    assert "interrupted: 6 of 24 calls are done; to resume:" in made.said()
    assert resume_line(made) in made.said().splitlines()
    assert "Unfinished: 6 of 24 calls done. The verdict comes at the end" in (tmp_path / "stdout").read_text()
    assert cli("report", "r").status == 0
    assert cli("report", "r", "--check").status == 0
    again = cli(*made.command, "--out", "r", env=made.env())
    assert again.status == 0
    assert (made.asked().total(), summary(run)) == (24, expected)


@pytest.mark.parametrize("hanging", ["a:[12]", "a:[56]"], ids=["first calls", "later calls"])
def test_ctrl_c_twice_ends_at_once_whatever_still_runs(cli: Cli, tmp_path: Path, hanging: str) -> None:
    made, run = project(tmp_path), tmp_path / "r"
    expected = undisturbed()
    first = 1 if hanging == "a:[12]" else 5
    flags = ("--out", "r", "--concurrency", "2", "--timeout", "100", "--json")
    with made.started(*flags, HANGS=hanging) as process:
        await_that(lambda: f"a:{first}" in made.asked())
        process.send_signal(signal.SIGINT)
        await_that(lambda: "stopping: " in made.said())
        process.send_signal(signal.SIGINT)
        status = process.wait(30)
    told = json.loads((tmp_path / "stdout").read_bytes())
    assert (status, told["status"]) == (130, "interrupted"), made.said()
    assert all(record["outcome"] == "scored" for record in records(run)), "what we broke off is no failure"
    assert not [unit for unit in scored(run) if int(unit.partition(":")[2]) >= 7]
    before = made.asked()
    known = scored(run)
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    assert summary(run) == expected
    assert not known & (made.asked() - before).keys()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_polite_signal_lets_the_calls_in_flight_finish(
    cli: Cli, tmp_path: Path, number: signal.Signals
) -> None:
    made = project(tmp_path)
    with made.started("--out", "r", "--fresh", "--concurrency", "2", WAITS="a:[5-9]") as process:
        await_that(lambda: {"a:5", "a:6"} <= made.asked().keys())
        process.send_signal(number)
        await_that(lambda: "stopping: " in made.said())
        Path(f"{made.counted}.go").touch()
        assert process.wait(30) == 130
    assert scored(tmp_path / "r") == {f"a:{n}" for n in range(1, 7)}
    assert resume_line(made) in made.said().splitlines(), "to go on is not to start anew"
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    assert made.asked().total() == 24


def test_calls_that_outlast_the_grace_are_ended_and_stay_owed(tmp_path: Path) -> None:
    made = project(tmp_path)
    with made.started("--out", "r", "--concurrency", "2", "--timeout", "100", HANGS="a:5") as process:
        await_that(lambda: "a:5" in made.asked())
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    assert "a:5" not in scored(tmp_path / "r")
    assert not [record for record in records(tmp_path / "r") if record["outcome"] != "scored"]


def test_a_signal_while_a_busy_server_is_given_time_leaves_the_call_owed(tmp_path: Path) -> None:
    with served() as server:
        made = project(tmp_path)
        made.command[2] = f"busy={server.url}/busy-for-long"
        with made.started("--out", "r", "--timeout", "10000", "--concurrency", "2") as process:
            server.await_request(30)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130, made.said()
    assert records(tmp_path / "r") == []


@pytest.mark.parametrize("options", [[], ["--no-preflight"]], ids=["probed", "not probed"])
def test_an_evaluator_that_always_fails_exits_4_and_says_why(
    cli: Cli, tmp_path: Path, options: list[str]
) -> None:
    made = project(tmp_path)
    result = cli(*made.command, "--out", "r", "--json", *options, env=made.env(FAILS="*"))
    assert result.status == 4
    assert result.json["status"] == "too_many_failures"
    assert made.asked().total() == (24 if options else 3)
    assert "counts failed on every call" in result.stderr
    assert "exit_code" in result.stderr
    assert "exit_code: exit status 3: out of luck" in result.stderr
    assert "| ./counts.sh" in result.stderr, "a line to try it by hand"
    assert not result.json["summary"]["rows"][0]["splits"]["train"]["mean"]
    mended = cli(*made.command, "--out", "r", env=made.env())
    assert mended.status == 0, mended.stderr
    assert len(scored(tmp_path / "r")) == 24


def test_one_broken_evaluator_among_two_is_named(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    result = cli(*made.command, "-e", "false", "--out", "r", "--no-preflight", "--quiet", env=made.env())
    assert (result.status, len(scored(tmp_path / "r"))) == (4, 24)
    assert "error: false failed on every call (24)" in result.stderr
    assert "error: counts" not in result.stderr


def test_failures_are_left_out_named_and_lift_nobody(cli: Cli, tmp_path: Path) -> None:
    """Candidate b is better on each example by a little, and fails where everyone's score is low."""
    made = project(tmp_path, 40)
    result = cli(*made.command, "--out", "r", "--json", env=made.env(FAILS="bbb:7"))
    assert result.status == 0
    row = result.json["summary"]["rows"][1]
    (split,) = row["splits"].values()
    assert (split["scored"], split["failed"], split["coverage"]) == (39, 1, 39 / 40)
    assert split["bounds"][0] < split["mean"] < split["bounds"][1]
    assert row["vs_baseline"]["train"]["diff"] == pytest.approx(0.02), "pairs, not means of other examples"
    assert (row["vs_baseline"]["train"]["n_pairs"], row["vs_baseline"]["train"]["dropped"]) == (39, 1)
    points = " ".join(point["text"] for point in result.json["verdict"]["points"])
    assert "b: 1 of 40 counts calls failed" in points
    assert "exit_code" in points
    assert "and are in no mean" in points
    assert "b has scores for only 39 of 40 train examples" in points
    (failure,) = result.json["summary"]["failures"]
    assert (failure["candidate"], failure["kind"], failure["count"], failure["lines"]) == (
        "b",
        "exit_code",
        1,
        [7],
    )


def test_what_failed_is_asked_again_and_what_scored_is_not(cli: Cli, tmp_path: Path) -> None:
    made, run = project(tmp_path), tmp_path / "r"
    expected = undisturbed()
    failing = cli(*made.command, "--out", "r", env=made.env(FAILS="a:[5-9]"))
    assert failing.status == 0
    assert "retry what failed" in failing.stdout
    made.forget()
    again = cli(*made.command, "--out", "r", env=made.env())
    assert made.asked() == Counter(f"a:{n}" for n in range(5, 10))
    assert (again.status, summary(run)) == (0, expected)
    assert cli("report", "r").stdout == again.stdout


LIMITS = {  # options → failures after which a run with one slot has ended
    "abort": (["--on-failure", "abort"], 1),
    "two allowed": (["--max-failures", "2"], 3),
    "a share of 24": (["--max-failures", "10%"], 3),
}


@pytest.mark.parametrize(("options", "failures"), LIMITS.values(), ids=LIMITS.keys())
def test_too_many_failures_end_a_run(cli: Cli, tmp_path: Path, options: list[str], failures: int) -> None:
    made, run = project(tmp_path), tmp_path / "r"
    env = made.env(FAILS="*:[2468]")
    result = cli(*made.command, "--out", "r", "--concurrency", "1", "--json", *options, env=env)
    assert (result.status, result.json["status"]) == (4, "too_many_failures")
    failed = [record for record in records(run) if record["outcome"] == "failed"]
    assert (len(failed), made.asked().total()) == (failures, 2 * failures)
    assert f"stopped: {failures} call" in result.stderr
    assert f"({options[0]}" in result.stderr
    assert "  optimize-eval run -e counts=./counts.sh" in result.stderr
    assert last_line(run)["status"] == "too_many_failures"
    made.forget()
    known = scored(run)
    mended = cli(*made.command, "--out", "r", *options, env=made.env())
    assert mended.status == 0, mended.stderr
    assert (made.asked().total(), known & made.asked().keys()) == (24 - len(known), set())


@pytest.mark.parametrize("bound", ["few", "5 %", ""])
def test_a_bound_on_failures_that_is_no_number_is_refused(cli: Cli, tmp_path: Path, bound: str) -> None:
    made = project(tmp_path)
    result = cli(*made.command, f"--max-failures={bound}", env=made.env())
    assert result.status == 2
    assert "--max-failures" in result.stderr
    assert not made.asked()


def test_fewer_failures_than_allowed_end_nothing(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    result = cli(*made.command, "--out", "r", "--max-failures", "2", env=made.env(FAILS="*:5"))
    assert (result.status, len(scored(tmp_path / "r"))) == (0, 22)


def test_a_busy_server_is_asked_again_after_the_time_it_asked_for(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    with served() as server:
        made.command[2] = f"busy={server.url}/busy-twice"
        result = cli(*made.command, "--out", "r", "--concurrency", "1", "--json")
        assert (result.status, len(server.requests)) == (0, 26)
    assert [record["attempts"] for record in records(tmp_path / "r")] == [3] + [1] * 23
    assert result.json["summary"]["units"]["failed"] == 0


def test_while_a_server_wants_to_be_left_alone_nobody_asks_it(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 6)
    with serving(BusyOnce()) as server:
        made.command[2] = f"busy=http://127.0.0.1:{server.server_port}/"
        result = cli(*made.command, "--out", "r", "--concurrency", "4", "--json")
    assert (result.status, len(server.asked_at)) == (0, 13), result.stderr
    assert result.json["summary"]["units"]["failed"] == 0
    assert min(server.asked_at[1:]) - server.asked_at[0] >= 1


class BusyOnce(ThreadingHTTPServer):
    """Answers the first request with 429 and a wish to be left alone for a second."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Busy)
        self.asked_at: list[float] = []


class Busy(BaseHTTPRequestHandler):
    server: BusyOnce

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked_at.append(time.monotonic())
        is_first = len(self.server.asked_at) == 1
        body = b"" if is_first else b'{"score": 0.5}'
        self.send_response(429 if is_first else 200)
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_is_busy_for_longer_than_a_call_may_take_fails_the_call(
    cli: Cli, tmp_path: Path
) -> None:
    made = project(tmp_path, 1)
    with served() as server:
        made.command[2] = f"busy={server.url}/busy-for-long"
        result = cli(*made.command, "--out", "r", "--timeout", "2", "--json")
        asked = len(server.requests)
    assert result.status == 4
    assert asked == len(records(tmp_path / "r")) <= 2
    assert {record["kind"] for record in records(tmp_path / "r")} == {"http_status"}


def test_json_is_one_value_and_quiet_is_two_lines(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    done = cli(*made.command, "--out", "r", "--json", env=made.env())
    assert (done.json["run"], done.json["status"]) == ("r", "done")
    assert done.json["summary"] == json.loads((tmp_path / "r" / "summary.json").read_bytes())
    assert done.json["verdict"] == done.json["summary"]["verdict"]
    quiet = cli(*made.command, "--out", "r", "--quiet", env=made.env())
    assert quiet.stdout == f"{done.json['verdict']['text']}\nr\n"
    assert quiet.stderr == ""


def test_a_hangup_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    made = project(tmp_path)
    nohup = "trap '' HUP; exec \"$@\""
    with made.started("--out", "r", before=("sh", "-c", nohup, "-"), WAITS="a:5") as process:
        await_that(lambda: "a:5" in made.asked())
        process.send_signal(signal.SIGHUP)
        Path(f"{made.counted}.go").touch()
        assert process.wait(30) == 0
    assert len(scored(tmp_path / "r")) == 24


def test_half_of_the_calls_may_fail_and_one_more_is_too_many(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 4)
    half = cli(*made.command, "--out", "half", "--json", env=made.env(FAILS="*:[34]"))
    assert (half.status, half.json["status"]) == (0, "done"), half.stderr
    more = cli(*made.command, "--out", "more", "--json", env=made.env(FAILS="*:[234]"))
    assert (more.status, more.json["status"]) == (4, "too_many_failures")
    assert "6 of 8 calls, more than half" in more.stderr
    assert cli(*made.command, "--out", "more", env=made.env()).status == 0, "the same command again goes on"
