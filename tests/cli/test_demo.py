"""`demo`: a verdict without a key, of files that stay where somebody can edit them."""

import contextlib
import os
import re
import select
from pathlib import Path

from tests.front_door import Cli
from tests.paths import ROOT
from tests.tools import recording, write_program


def test_the_demo_ends_in_a_verdict_and_a_page_and_keeps_what_was_edited(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "demo/prompts").mkdir(parents=True)
    for name in ("model.py", "prompts/short.md"):  # as an earlier demo left them
        (tmp_path / "demo" / name).write_bytes((ROOT / "datasets/routing" / name).read_bytes())
    prompt = tmp_path / "demo/prompts/short.md"
    prompt.write_text(f"Read it well.\n{prompt.read_text()}")
    os.mkfifo(tmp_path / "opened")
    browser = write_program(
        tmp_path / "browser", ["#!/bin/sh", f'echo "$PPID $1" > {tmp_path.as_posix()}/opened']
    )
    done = cli("demo", "--open", env={"BROWSER": str(browser)})
    assert (done.status, done.stdout.splitlines()[-1]) == (0, "demo/run/report.html")
    assert "teams beats short on held-out data: +0.250 exact_match" in done.stdout
    opener, _, address = (tmp_path / "opened").read_text().strip().partition(" ")
    assert address == (tmp_path / "demo/run/report.html").as_uri()
    wait_for(int(opener))
    assert done.stderr.startswith("wrote 4 files into demo: ")
    assert (
        "\n$ optimize-eval run --prompt demo/prompts/short.md --prompt demo/prompts/teams.md " in done.stderr
    )
    assert prompt.read_text().startswith("Read it well.")
    assert len((tmp_path / "demo/run/outputs.jsonl").read_text().splitlines()) == 1 + 2 * 140


def wait_for(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        select.select([descriptor := os.pidfd_open(pid)], [], [])
        os.close(descriptor)


def test_a_folder_that_is_no_demo_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/train.jsonl").write_text("mine")
    done = cli("demo", "mine")
    assert (done.status, done.stdout) == (2, "")
    assert "mine exists and holds something else\n  try: name another folder" in done.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["train.jsonl"]


def test_the_recording_of_the_readme_shows_what_the_tutorial_s_first_command_prints() -> None:
    """The test of the docs runs that command; the picture is made by `python -m tests.tools.recording`."""
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    printed = re.search(r"```sh\noptimize-eval demo\n```\n\n```text\n(.*?)```", tutorial, re.DOTALL)
    assert printed
    shown = recording.lines_of(recording.FILE.read_text(encoding="utf-8"))
    assert shown == ["$ optimize-eval demo", *printed[1].splitlines()]
