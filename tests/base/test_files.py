"""Files that are none, or too large, are refused before they are read, whatever they were named for."""

import os
import shutil
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from optimize_eval.base import files
from optimize_eval.base.errors import DataError
from tests.front_door import Cli
from tests.paths import PROGRAMS, ROOT

Words = Callable[[str], list[str]]
NAMED_AS: Mapping[str, Words] = {  # what the file is named for → the command that names it
    "dataset": lambda path: ["run", "-e", "true", "--candidate", "c.txt", "--dataset", path],
    "candidate": lambda path: ["score", path, "-e", "true"],
    "candidates": lambda path: ["run", "-e", "true", "--candidates", path],
    "example": lambda path: ["score", "c.txt", "-e", "true", "--example", f"{path}:1"],
    "sweep": lambda path: ["run", f"{path}.toml"],
    "rubric": lambda path: ["score", "c.txt", "-e", "judge:openai/x", "--rubric", f"{path}.json"],
    "tasks": lambda path: ["bench", path, "--model", "toy"],
    "outputs": lambda path: ["bench", "tasks.jsonl", "--model", f"replay:{path}"],
    "data": lambda path: ["validate", path],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.txt").touch()
    shutil.copy(ROOT / "datasets" / "tasks" / "arithmetic.jsonl", tmp_path / "tasks.jsonl")
    return tmp_path


def names(path: str, named_as: str) -> str:
    return path + {"sweep": ".toml", "rubric": ".json"}.get(named_as, "")


@pytest.mark.parametrize("named_as", NAMED_AS)
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_what_is_no_file_is_refused_at_once(cli: Cli, folder: Path, named_as: str, kind: str) -> None:
    for name in ("it", "it.toml", "it.json"):
        match kind:
            case "device":
                (folder / name).symlink_to("/dev/zero")
            case "pipe":
                os.mkfifo(folder / name)
            case "folder":
                (folder / name).mkdir()
    done = cli(*NAMED_AS[named_as]("it"))
    assert done.status == 2
    may_be_a_folder = kind == "folder" and named_as in {"tasks", "data"}
    wrong = "has no task file" if may_be_a_folder else f"this is a {kind}, and a file is needed"
    assert wrong in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("named_as", "mebibytes"), [("dataset", 2048), ("candidate", 64), ("sweep", 16), ("rubric", 16)]
)
def test_what_is_too_large_is_refused_before_it_is_read(
    cli: Cli, folder: Path, named_as: str, mebibytes: int
) -> None:
    with (folder / names("it", named_as)).open("wb") as stream:
        stream.truncate((mebibytes << 20) + 1)
    done = cli(*NAMED_AS[named_as]("it"))
    assert done.status == 2
    assert "this is larger than " in done.stderr


def test_of_a_stream_no_more_than_the_cap_is_read(folder: Path) -> None:
    small = files.Cap("a test", 3 << 20, "stop")
    with Path("/dev/zero").open("rb") as endless, pytest.raises(files.Refused, match="larger than 3 MiB"):
        files.read_capped(endless, small)
    (folder / "full").write_bytes(b"x" * small.most)
    assert len(files.read(folder / "full", small)) == small.most


def test_what_a_shell_hands_over_is_read_once(cli: Cli, folder: Path) -> None:
    reading, writing = os.pipe()
    with closing(os.fdopen(reading, "rb")):
        os.write(writing, b'{"id": 1}\n')
        os.close(writing)
        assert files.read(f"/proc/{os.getpid()}/fd/{reading}", files.DATASET) == b'{"id": 1}\n'
    done = cli("validate", "/dev/stdin", stdin=b'{"id": 1}\n')
    assert (done.status, done.stdout) == (0, "/dev/stdin: ok, 1 record\n")
    reading, writing = os.pipe()
    with closing(os.fdopen(reading, "rb")):
        os.write(writing, b'{"id": 1}\n')
        os.close(writing)
        assert cli("validate", f"/dev/fd/{reading}").stdout == f"/dev/fd/{reading}: ok, 1 record\n"
    assert folder.is_dir()


def test_a_socket_is_refused(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "it"))
        with pytest.raises(DataError, match="this is a socket, and a file is needed"):
            files.read(folder / "it", files.DATASET)


@pytest.mark.parametrize("name", ["run.json", "journal.jsonl", "summary.json", "outputs.jsonl"])
def test_a_pipe_in_the_place_of_a_runs_file_is_refused(cli: Cli, folder: Path, name: str) -> None:
    (folder / "d.jsonl").write_text('{"id": 1}\n')
    command = ["run", "-e", str(PROGRAMS / "good.sh"), "--candidate", "c.txt", "--dataset", "d.jsonl"]
    assert cli(*command, "--out", "r").status == 0
    (folder / "r" / name).unlink(missing_ok=True)
    os.mkfifo(folder / "r" / name)
    done = cli(*command, "--out", "r")
    assert done.status == 2
    assert f"{name} cannot be read: this is a pipe" in done.stderr
    if name in {"run.json", "journal.jsonl"}:
        done = cli("report", "r")
        assert done.status == (2 if name == "run.json" else 3)
        assert "this is a pipe, and a file is needed" in done.stderr
    if name == "summary.json":
        assert cli("report", "r", "--check").status == 3
