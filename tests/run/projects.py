"""What tests of runs share: a folder with an evaluator that counts its calls, and what its runs left."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tests.front_door import Result, in_this_process
from tests.paths import PROGRAM, PROGRAMS

COUNTS = "counts=./counts.sh"


class Project:
    """A folder with an evaluator that counts its calls, candidates of one and of three letters, a dataset."""

    def __init__(self, folder: Path, examples: int) -> None:
        self.folder = folder
        self.examples = examples
        self.counted = folder / "asked"
        folder.mkdir(exist_ok=True)
        (folder / "counts.sh").write_bytes((PROGRAMS / "counts.sh").read_bytes())
        (folder / "counts.sh").chmod(0o755)
        (folder / "a.txt").write_text("a")
        (folder / "b.txt").write_text("bbb")
        (folder / "d.jsonl").write_text("".join(f'{{"id":{n}}}\n' for n in range(1, examples + 1)))
        self.command = [
            *("run", "-e", COUNTS, "--candidate", "a.txt"),
            *("--candidate", "b.txt", "--dataset", "d.jsonl"),
        ]

    def env(self, **traits: str) -> dict[str, str]:
        return {"COUNT": str(self.counted), **traits}

    def asked(self) -> Counter[str]:
        """Count the calls so far, each as CANDIDATE:ID."""
        return Counter(self.counted.read_text().split() if self.counted.exists() else [])

    def forget(self) -> None:
        self.counted.unlink(missing_ok=True)

    def run(self, *arguments: str) -> Result:
        """Let the run `r` come to its good end."""
        done = in_this_process(self.folder)(*self.command, "--out", "r", *arguments, env=self.env())
        assert done.status == 0, done.stderr
        return done

    @contextmanager
    def started(
        self, *arguments: str, before: tuple[str, ...] = (), **traits: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start the run beside the test, its words after `before`; its streams go to files of their names."""
        with (self.folder / "stdout").open("wb") as out, (self.folder / "stderr").open("wb") as err:
            command = [*before, str(PROGRAM), *self.command, *arguments]
            env = {**os.environ, **self.env(**traits)}
            process = subprocess.Popen(
                command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def said(self) -> str:
        return (self.folder / "stderr").read_text()


def project(folder: Path, examples: int = 12) -> Project:
    return Project(folder, examples)


def await_that(holds: Callable[[], object], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.003)


def summary(run: Path) -> bytes:
    """Read a summary's bytes up to the latencies, without what a folder's history decides."""
    told, latency, _ = (run / "summary.json").read_bytes().partition(b',\n  "latency": ')
    assert latency
    return json.dumps(without_history(json.loads(told + b"}"))).encode()


def without_history(told: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a summary what was tried, and what that decides: p values, their marks, the verdict."""
    decided = {"tried", "largest_gain", "verdict", "selection", "carry_over", "not_told_apart", "state"}
    decided |= {"p_holm", "comparisons", "mark", "mde", "despite_failures"}

    def cut(value: Any) -> Any:
        match value:
            case dict():
                return {key: cut(item) for key, item in value.items() if key not in decided}
            case list():
                return [cut(item) for item in value]
        return value

    return dict(cut(told))


def records(run: Path) -> list[dict[str, Any]]:
    """Read the whole lines of a journal that are outcomes."""
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True) if run.exists() else []
    read = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [record for record in read if "outcome" in record]


def scored(run: Path) -> set[str]:
    """Name the calls that a journal has as scored, as the evaluator counts them."""
    texts = {"a": "a", "b": "bbb"}
    known = records(run) if (run / "journal.jsonl").exists() else []
    return {f"{texts[r['candidate']]}:{r['line']}" for r in known if r["outcome"] == "scored"}


def finished(folder: Path, examples: int = 12) -> Project:
    """Make a project whose run `r` is done, its units in order, and nothing counted."""
    made = project(folder, examples)
    made.run("--concurrency", "1")
    made.forget()
    return made


def copied(made: Project, folder: Path) -> Project:
    shutil.copytree(made.folder, folder, dirs_exist_ok=True)
    return Project(folder, made.examples)


@cache
def undisturbed(examples: int = 12) -> bytes:
    """Give the summary of a run that nothing happened to."""
    with tempfile.TemporaryDirectory() as folder:
        return summary(finished(Path(folder), examples).folder / "r")


def edit_candidate(made: Project) -> None:
    (made.folder / "a.txt").write_text("c")


def edit_example(made: Project) -> None:
    text = (made.folder / "d.jsonl").read_text()
    (made.folder / "d.jsonl").write_text(text.replace('{"id":3}', '{"id":33}'))
