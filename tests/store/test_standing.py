"""How a run stands after a session that called nothing, or that broke off before its first call."""

from pathlib import Path

from optimize_eval import load_run
from optimize_eval.store.folder import holder
from tests.front_door import Cli
from tests.run.projects import await_that, project


def standing(cli: Cli, folder: Path) -> tuple[str, int | None]:
    """Give a run's state and what it owes, as they are listed."""
    (run,) = cli("runs", "r", "--json").json["runs"]
    assert str(load_run(folder / "r").status) == run["state"]
    return run["state"], run["units"].get("owed")


def test_a_recheck_leaves_a_run_done(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 3)
    made.run("--recheck", "2")
    assert standing(cli, tmp_path) == ("done", 0)


def test_a_part_that_is_scored_is_done_though_the_whole_is_not(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 6)
    made.run("--limit", "2")
    late = cli(*made.command, "--out", "r", "--max-time", "0.000001s", env=made.env())
    assert (late.status, standing(cli, tmp_path)[0]) == (4, "out_of_time"), late.stderr
    made.forget()
    made.run("--limit", "2")
    assert (made.asked().total(), standing(cli, tmp_path)) == (0, ("done", 0))


def test_a_session_that_breaks_off_before_its_first_call_leaves_the_run_unfinished(
    cli: Cli, tmp_path: Path
) -> None:
    made = project(tmp_path, 3)
    made.run()
    before = (tmp_path / "r" / "journal.jsonl").read_bytes()
    (tmp_path / "c.txt").write_text("cc")
    with made.started("--out", "r", "--candidate", "c.txt", WAITS="cc:*") as process:
        await_that(lambda: made.asked()["cc:1"])
        process.kill()
    await_that(lambda: holder(tmp_path / "r") is None)  # a child that was being started has the lock, too
    made.counted.with_name("asked.go").touch()
    (tmp_path / "r" / "journal.jsonl").write_bytes(before)  # its header did not come to the disk
    assert standing(cli, tmp_path) == ("unfinished", None)
    made.run("--candidate", "c.txt")
    assert standing(cli, tmp_path) == ("done", 0)


def test_the_check_of_an_unfinished_run_says_so(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 3)
    stopped = cli(*made.command, "--out", "r", "--max-time", "0.000001s", env=made.env())
    assert stopped.status == 4
    unfinished = "the run is not finished: 6 of 6 calls were not made"
    told = cli("report", "r", "--check")
    assert (told.status, told.stderr.splitlines()[-1]) == (0, f"note: {unfinished}; what it has is checked")
    assert cli("report", "r", "--check", "--json").json["unfinished"] == unfinished
    (tmp_path / "r" / "summary.json").unlink()
    told = cli("report", "r", "--check")
    assert (told.status, told.stdout) == (3, "")
    assert (
        f"error: there is no r/summary.json to check: {unfinished}\n  try: run the run's own" in told.stderr
    )
    made.run()
    done = cli("report", "r", "--check", "--json")
    assert (done.status, done.stderr, "unfinished" in done.json) == (0, "", False)
