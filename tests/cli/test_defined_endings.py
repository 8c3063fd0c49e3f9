"""Metrics of tasks in YAML that are code: how long they may take, and a command that is stopped meanwhile."""

import signal
import subprocess
from pathlib import Path

from tests.cli.measured import TASK, VALUES, command, metrics_of, values_of, write
from tests.front_door import Cli
from tests.paths import PROGRAM
from tests.run.projects import await_that

_BEGINS = "def compute_metrics(scores):\n"
SLOW = TASK.replace(_BEGINS, f"{_BEGINS}                import time; time.sleep(60)\n")
WAITS = TASK.replace(
    _BEGINS,
    _BEGINS
    + """\
                import os, time
                if not os.path.exists("go"):
                    open("began", "w").write(str(os.getpid()))
                    os.rename("began", "began.pid")
                    time.sleep(60)
""",
)


def test_code_of_a_metric_has_the_seconds_of_the_timeout_and_keeps_them(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*command()).status == 0
    (tmp_path / "answers.yaml").write_text(SLOW)
    told = cli("rescore", "r", "--metrics", "answers.yaml", "--timeout", "0.2")
    assert (told.status, "compute_metrics takes longer than 0." in " ".join(told.stderr.split())) == (
        0,
        True,
    )
    assert "longer than 0." in metrics_of(cli)["metrics"][-1]["problem"]
    again = cli("rescore", "r", "--metrics", "answers.yaml")
    assert "takes longer than 0." in " ".join(again.stderr.split()), "the run keeps what it was given"


def test_a_command_that_is_stopped_in_a_metric_leaves_nothing_and_the_same_again_ends_it(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path, WAITS)
    process = subprocess.Popen(
        [str(PROGRAM), *command()], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        await_that((tmp_path / "began.pid").exists, 60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, ""), err
    assert "the same command again applies rules and computes metrics" in " ".join(err.split())
    assert "Traceback" not in err
    host = int((tmp_path / "began.pid").read_text())
    await_that(lambda: not Path(f"/proc/{host}").exists())
    report = cli("report", "r", "--details").stdout
    assert "its code was not run yet" in report
    assert "1 excluded (huge 1)" in report, "what rules came to before is there"
    calls = (tmp_path / "r" / "journal.jsonl").read_text().count('"outcome":"scored"')
    (tmp_path / "go").touch()
    assert cli(*command()).status == 0
    assert values_of(metrics_of(cli)) == VALUES
    assert (tmp_path / "r" / "journal.jsonl").read_text().count('"outcome":"scored"') == calls


def test_a_run_that_was_killed_before_its_rules_were_applied_shows_no_verdict_and_meets_no_gate(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path)
    assert cli(*command()).status == 0
    verdict = cli("report", "r", "--json").json["verdict"]
    journal = tmp_path / "r" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    later = b'"rules":', b'"metric":'
    journal.write_bytes(b"".join(line for line in lines if not any(word in line for word in later)))
    (tmp_path / "r" / "summary.json").write_text(cli("report", "r", "--json").stdout)
    report = cli("report", "r", "--fail-under", "answers.fields=0.1")
    words = " ".join(report.stdout.split())
    assert "Unfinished: the rules of answers were not applied yet" in words
    assert report.status == 1
    assert "gate missed: the run is not finished: the rules of answers" in report.stderr
    assert cli("report", "r", "--check").status == 0, "as derived apart"
    some = cli("report", "r", "--id", "a", "--id", "b", "--fail-under", "answers.fields=0.1")
    words = " ".join(some.stdout.split())
    assert "over 2 of 6 train examples (id a or b): Unfinished: the rules of answers were not" in words
    assert "gate missed: the run is not finished: the rules of answers" in some.stderr
    assert cli("report", "r", "--id", "a", "--json").json["rules_waiting"] == ["answers"]
    calls = journal.read_bytes().count(b'"outcome":"scored"')
    assert cli(*command()).status == 0
    assert journal.read_bytes().count(b'"outcome":"scored"') == calls, "the same command again calls nothing"
    assert cli("report", "r", "--json").json["verdict"] == verdict
