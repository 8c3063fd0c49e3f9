"""How a search ends that has nothing new to show: words, exit code and the file that it leaves."""

import re
from pathlib import Path

import pytest

from optimize_eval.base.outcome import Progress
from optimize_eval.cli.host import Lines
from optimize_eval.run.host import Stop
from tests.front_door import Cli, Result

HALF = '{\\"score\\": 0.5, \\"why\\": \\"half\\"}'
NEW = '{\\"candidate\\": \\"$$\\"}'  # the number of a process is new each time


USELESS = "10 proposals in a row were unusable; the last was"


def search(cli: Cli, folder: Path, reply: str, *options: str, answer: str = HALF) -> Result:
    """Improve `seed` by a proposer and an evaluator that print the same each time."""
    for name, text in (("propose", reply), ("evaluate", answer)):
        (folder / name).write_text(f'#!/bin/sh\nread line; echo "{text}"\n')
        (folder / name).chmod(0o755)
    (folder / "a.txt").write_text("seed")
    (folder / "d.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    what = ("a.txt", "-e", "./evaluate", "--proposer", "./propose", "--dataset", "d.jsonl", "--budget", "30")
    return cli("optimize", *what, "--out", "r", "-o", "best.txt", *options)


@pytest.mark.parametrize(
    ("reply", "answer", "told"),
    [
        (
            '{\\"candidate\\": \\"seed\\"}',
            HALF,
            f"No winner: a is unchanged, because {USELESS} equal to an earlier one",
        ),
        (
            '{\\"skip\\": \\"good as it is\\"}',
            HALF,
            f"No winner: a is unchanged, because {USELESS} none: the proposer had nothing to propose",
        ),
        (
            NEW,
            '{\\"score\\": 1}',
            "No winner: a is unchanged, because the search found nothing to improve on evaluate",
        ),
    ],
    ids=["repeated", "skipped", "perfect"],
)
def test_an_unchanged_result_is_the_seed_and_no_failure(
    cli: Cli, tmp_path: Path, reply: str, answer: str, told: str
) -> None:
    done = search(cli, tmp_path, reply, "--json", answer=answer)
    assert done.status == 0, done.stderr
    assert (done.json["verdict"]["state"], done.json["verdict"]["text"]) == ("seed_only", told)
    assert "error: " not in done.stderr
    assert (tmp_path / "best.txt").read_text() == "seed"
    required = search(cli, tmp_path, reply, "--require-better", answer=answer)
    assert (required.status, "no clear gain" in required.stderr) == (1, True), required.stderr


def test_proposals_that_are_all_empty_are_a_failure_of_the_proposer(cli: Cli, tmp_path: Path) -> None:
    done = search(cli, tmp_path, '{\\"candidate\\": \\"\\"}', "--json")
    assert (done.status, done.json["verdict"]["state"]) == (4, "failed")
    assert "error: no proposal could be used: 10 proposals in a row were unusable; the last was empty" in (
        done.stderr
    )


def test_the_last_line_of_progress_counts_all_calls(cli: Cli, tmp_path: Path) -> None:
    done = search(cli, tmp_path, NEW)
    lines = re.findall(r"^\d\d:\d\d:\d\d search (\d+)/30", done.stderr, re.MULTILINE)
    (calls,) = re.findall(r"calls +(\d+) of 30 in the search", done.stdout)
    assert lines[-1] == calls


def test_what_came_after_the_last_line_of_progress_is_told_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, part = Progress("whole", total=2, done=0), Progress("part", total=50, done=0)
    shown = Lines(Stop())
    for done in range(3):
        whole.done = part.done = done
        shown([whole, part])
    shown.close()
    lines = [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["whole 2/2, 0 failed", "part 2/50, 0 failed"]
