"""`demo`: a verdict without a key, of files that stay where somebody can edit them."""

import contextlib
import os
import re
import select
from pathlib import Path

from tests.front_door import Cli
from tests.tools import recording, write_program


def test_the_demo_ends_in_a_verdict_and_a_page_and_goes_on_from_what_was_edited(
    cli: Cli, tmp_path: Path
) -> None:
    first = cli(*recording.COMMAND, env=recording.LOOKS)
    assert first.status == 0
    drawn = recording.draw("optimize-eval demo", first.stdout.splitlines())
    assert recording.FILE.read_text() == drawn, "make it anew: python -m tests.tools.recording"
    assert recording.lines_of(drawn)[1:] == plain(first.stdout).splitlines()
    assert "teams beats short on held-out data: +0.250 exact_match" in first.stdout
    (command,) = re.findall(r"^\$ optimize-eval .*\n", first.stderr, re.MULTILINE)
    prompt = tmp_path / "demo/prompts/short.md"
    prompt.write_text(f"Read it well.\n{prompt.read_text()}")
    os.mkfifo(tmp_path / "opened")
    browser = write_program(
        tmp_path / "browser", ["#!/bin/sh", f'echo "$PPID $1" > {tmp_path.as_posix()}/opened']
    )
    again = cli("demo", "--open", env={"BROWSER": str(browser)})
    assert (again.status, again.stdout.splitlines()[-1]) == (0, "demo/run/report.html")
    opener, _, address = (tmp_path / "opened").read_text().strip().partition(" ")
    assert address == (tmp_path / "demo/run/report.html").as_uri()
    wait_for(int(opener))
    assert command in again.stderr
    assert "wrote" not in again.stderr
    assert prompt.read_text().startswith("Read it well.")
    assert len((tmp_path / "demo/run/outputs.jsonl").read_text().splitlines()) == 1 + 3 * 140


def plain(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def wait_for(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        select.select([descriptor := os.pidfd_open(pid)], [], [])
        os.close(descriptor)


def test_a_folder_that_is_no_demo_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/train.jsonl").write_text("mine")
    done = cli("demo", "mine")
    assert (done.status, done.stdout) == (2, "")
    assert "mine is there already, and holds something else\n  try: name another folder" in done.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["train.jsonl"]
