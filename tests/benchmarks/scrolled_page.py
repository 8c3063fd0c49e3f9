"""How smooth the grid of replies scrolls: 1,000 examples × 12 prompts, 1 KB a reply, by Chromium's own trace.

Told is processor time of the page's main thread: frames that other programs take are not its own.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.benchmarks.measure import Row
from tests.cli.benches import model
from tests.cli.prompted import command, examples, prompts
from tests.front_door import in_this_process
from tests.page.browser import chromium
from tests.page.made import report

_EXAMPLES, _PROMPTS = 1000, 12
_FRAME = 1000 / 60  # ms
_PATIENCE = 60.0  # seconds for a trace of some 100 MB to be written
_LOOK = "tab=examples&sort=line&sp=2&cols=" + ",".join(map(str, range(_PROMPTS)))
_CATEGORIES = "toplevel,devtools.timeline"
_REPLY = "' '.join(f'word{(7 * n + len(asked[\"prompt\"])) % 97}' for n in range(150))[:1000]"
_SCROLL = """
const [done, grid, begun] = [arguments[0], document.querySelector(".grid"), performance.now()];
const step = now => {
  grid.scrollTop = 3 * (now - begun);
  if (now - begun < 5000) requestAnimationFrame(step);
  else done(true);
};
requestAnimationFrame(step);
"""


def longest_task() -> Row | None:
    """Tell the longest task of a scroll of 3,000 px a second; a frame of 60 a second has 16.7 ms."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return None
    longest = max(task["tdur"] for task in _tasks()) / 1000
    what = "grid of 1,000 × 12 replies of 1 KB, scrolled for 5 s: longest task, CPU"
    return Row(what=what, value=longest, bar=_FRAME, unit=" ms")


def cpu_per_frame() -> Row | None:
    """Tell what a frame takes on average."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        return None
    mean = sum(task["tdur"] for task in _tasks()) / 1000 / (5 * 60)
    return Row(what="the same: CPU for a frame", value=mean, bar=_FRAME / 2, unit=" ms")


@cache
def _tasks() -> list[dict[str, Any]]:
    """List the tasks of the thread that scrolls, while it does."""
    with TemporaryDirectory(prefix="optimize-eval-bench-") as folder:
        run, trace = _run(Path(folder)), Path(folder) / "trace.json"
        options = (
            f"--trace-startup={_CATEGORIES}",
            f"--trace-startup-file={trace}",
            "--trace-startup-duration=0",
            "--trace-startup-format=json",
        )
        with chromium(*options) as browser:
            browser.resize(1440, 900)
            browser.open(run / "report.html", _LOOK)
            browser.ready()
            browser.wait("document.querySelector('.of-replies .clip b, .of-replies .chip')")
            browser.run_async("setTimeout(arguments[0], 3000)")  # it reads ahead
            browser.run("console.timeStamp('scroll')")
            browser.run_async(_SCROLL)
            browser.devtools("Browser.close", {})  # writes the trace; the driver's own end may kill it first
            _wait_for(trace)
        return list(_of_the_scroll(json.loads(trace.read_bytes())["traceEvents"]))


def _wait_for(trace: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while not (trace.exists() and trace.read_bytes().rstrip().endswith(b"}")):
        assert time.monotonic() < end, "Chromium ended without its trace"
        time.sleep(0.1)


def _of_the_scroll(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    start = max(event["ts"] for event in events if event["name"] == "TimeStamp")
    within = [event for event in events if start <= event.get("ts", 0) <= start + 5_000_000]
    threads = Counter(_thread(event) for event in within if event["name"] == "FireAnimationFrame")
    ((thread, _),) = threads.most_common(1)
    for event in within:
        if _thread(event) == thread and event["name"].endswith("RunTask") and "tdur" in event:
            yield event


def _thread(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]


def _run(folder: Path) -> Path:
    """Let a program reply to each prompt about each example."""
    examples(folder, train=100, val=_EXAMPLES - 100)
    prompts(folder, **{f"p{n:02}": f"Version {n}: {{{{question}}}}" for n in range(_PROMPTS)})
    model(folder / "m", _REPLY)
    done = in_this_process(folder)(*command("--quiet", "--no-preflight"))
    assert done.status == 0, done.stderr
    assert report(folder / "r").status == 0
    return folder / "r"
