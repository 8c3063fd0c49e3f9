"""No escape scores, changes anything outside or outlives its call, whatever the layers and the account."""

import builtins
import json
import os
import shutil
import subprocess
import symtable
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base import shipped
from tests.paths import EVALUATORS
from tests.shipped.escapes import (
    ENDLESS,
    FILES,
    FORGING,
    KERNEL,
    MEMORY,
    NETWORK,
    OUTLIVING,
    SHORT,
    SIGNALS,
    candidate,
)
from tests.shipped.worlds import ORDINARY, World, a_world
from tests.tools import need, need_kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

ALL = {**FILES, **NETWORK, **SIGNALS, **KERNEL, **MEMORY, **OUTLIVING, **FORGING}
ROOT = os.geteuid() == 0
ACCOUNTS = {"own": False, "ordinary": True} if ROOT and Path(ORDINARY[-1]).exists() else {"own": False}
_TOGETHER = 25  # in a sandbox: of 50 cases is told what became of them


@pytest.fixture
def shared() -> Iterator[Path]:
    """Make a folder that an ordinary account can reach, with the program and what it needs."""
    with tempfile.TemporaryDirectory(prefix="escapes-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        program = EVALUATORS / "code_exec.py"
        for file in (program, *shipped.shared_by(program)):
            shutil.copy(file, folder)
        yield folder


def answers_of(
    shared: Path, escapes: Mapping[str, str], options: list[str], *, ordinary: bool
) -> list[Mapping[str, Any]]:
    """Try escapes; those that are done and change nothing share a sandbox, each of the others has its own."""
    command = [*(ORDINARY if ordinary else [sys.executable]), str(shared / "code_exec.py"), "--memory", "256"]
    short = [name for name in escapes if name in SHORT]
    ways = {
        "20": [short[start : start + _TOGETHER] for start in range(0, len(short), _TOGETHER)],
        "0.5": [[name] for name in escapes if name not in SHORT | ENDLESS],
        "0.2": [[name] for name in escapes if name in ENDLESS],
    }
    said = []
    with a_world(shared, ordinary=ordinary) as world:
        for seconds, tries in ways.items():
            with a_judge([*command, "--time", seconds, *options]) as judge:
                said += [_answer(world, judge, names, escapes) for names in tries]
    return said


@contextmanager
def a_judge(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/") as judge:
        yield judge
        assert judge.communicate() == (b"", b"")


def _answer(
    world: World, judge: subprocess.Popen[bytes], names: list[str], escapes: Mapping[str, str]
) -> Mapping[str, Any]:
    """Try some in one sandbox; none may have got what it wanted, and afterwards nothing may have happened."""
    assert judge.stdin
    assert judge.stdout
    pairs = [
        [{**world.had, "judge": judge.pid, "number": number}, "wanted-3f9c" if name in FORGING else True]
        for number, name in enumerate(names)
    ]
    targets = [
        text
        for had, wanted in pairs
        for text in (f"f({had!r}) == {wanted!r}", f"f({had!r}) is {wanted!r} or g() == 1")
    ]
    body = {
        "candidate": candidate(*(escapes[name] for name in names)),
        "example": {"io_pairs": pairs, "targets": targets},
    }
    judge.stdin.write(json.dumps(body).encode() + b"\n")
    judge.stdin.flush()
    said: Mapping[str, Any] = json.loads(judge.stdout.readline())
    assert said.get("score") == 0, (names, said)
    assert len(names) == 1 or len(said["cases"]) == said["total"], (names, said)  # each of them was tried
    world.untouched()
    return said


def offered(shared: Path, options: list[str], *, ordinary: bool, layer: str = "") -> bool:
    """Tell whether a sandbox starts with these options, and has the layer."""
    python = ORDINARY if ordinary else [sys.executable]
    payload = json.dumps({"candidate": "def f(x): return x", "example": {"io_pairs": [[1, 1]]}})
    said = subprocess.check_output(
        [*python, str(shared / "code_exec.py"), *options], input=payload.encode(), cwd="/"
    )
    return "score" in (one := json.loads(said)) and (not layer or layer in one["layers"])


SETS = {
    "all": "",
    "without bubblewrap": "namespaces,landlock,seccomp,rlimits,uid",
    "without namespaces": "landlock,seccomp,rlimits,uid",
}


@pytest.mark.timeout(300)  # a hundred programs, some of which run until their time is up, one after the other
@need("bwrap", "setpriv", "unshare")
@need_kernel("bubblewrap")
@pytest.mark.parametrize("ordinary", ACCOUNTS.values(), ids=ACCOUNTS.keys())
@pytest.mark.parametrize("layers", SETS)
def test_nobody_gets_out_or_scores_where_the_sandbox_is_strict(
    layers: str,
    ordinary: bool,  # noqa: FBT001  it is how pytest hands it over
    shared: Path,
) -> None:
    options = ["--sandbox", "strict", "--variant", "io_pairs"]
    options += ["--layers", SETS[layers]] if SETS[layers] else []
    if layers != "all" and not offered(shared, options, ordinary=ordinary):
        pytest.skip("this machine does not offer these layers")
    said = answers_of(shared, ALL, options, ordinary=ordinary)
    assert all(one["missing"] == [] for one in said)
    assert all(("visible" in one) == (layers != "all") for one in said)


@pytest.mark.parametrize("layers", ["namespaces,landlock,seccomp,rlimits", "landlock,seccomp,rlimits"])
def test_where_stat_tells_sizes_it_is_told_so(layers: str, shared: Path) -> None:
    options = ["--sandbox", "strict", "--layers", layers]
    if not offered(shared, options, ordinary=False):
        pytest.skip("this machine does not offer these layers")
    harness = shared / "code_exec.py"
    looks = "def f(path):\n    import os\n    return [os.stat(path).st_size, os.access(path, 4)]"
    reads = "def f(path):\n    return open(path).read()"
    payloads = [
        json.dumps({"candidate": program, "example": {"io_pairs": [[str(harness), wanted]]}}).encode()
        for program, wanted in ((looks, [harness.stat().st_size, True]), (reads, harness.read_text()))
    ]
    judge = [sys.executable, str(harness), *options]
    said = [json.loads(subprocess.check_output(judge, input=payload, cwd="/")) for payload in payloads]
    assert [one["score"] for one in said] == [1, 0]
    assert [one["missing"] for one in said] == [[], []]
    assert all(one["visible"][0].startswith("files: which names there are, with sizes") for one in said)


@need("bwrap")
@need_kernel("bubblewrap")
def test_nobody_forges_the_truth_of_an_expression(shared: Path) -> None:
    assert answers_of(shared, FORGING, ["--variant", "assertions"], ordinary=False)


WEAKER = {
    "seccomp,rlimits": ({**NETWORK, **SIGNALS, **MEMORY, **OUTLIVING, **FORGING}, ["files"]),
    "namespaces,rlimits": ({**NETWORK, **SIGNALS, **OUTLIVING, **FORGING}, ["files", "memory"]),
    "": ({**OUTLIVING, **FORGING}, ["files", "network", "signals", "memory"]),
    "rlimits": ({**OUTLIVING, **FORGING}, ["files", "network", "signals", "memory"]),
    "landlock": ({**OUTLIVING, **FORGING}, ["files", "network", "signals", "memory"]),
}


@pytest.mark.timeout(300)  # as above
@need("setpriv", "unshare")
@pytest.mark.parametrize("layers", WEAKER)
def test_what_a_weaker_set_does_not_keep_is_named_and_the_rest_is_kept(layers: str, shared: Path) -> None:
    escapes, missing = WEAKER[layers]
    if "namespaces" in layers and not offered(
        shared, ["--layers", layers], ordinary=ROOT, layer="namespaces"
    ):
        pytest.skip("this machine makes no namespaces")
    options = ["--layers", layers] if layers else ["--sandbox", "none"]
    said = answers_of(shared, escapes, options, ordinary=ROOT)
    assert {tuple(text.partition(":")[0] for text in one["missing"]) for one in said} == {tuple(missing)}


def test_no_escape_fails_for_want_of_an_import() -> None:
    for group in (FILES, NETWORK, SIGNALS, KERNEL, MEMORY, OUTLIVING):
        for name, body in group.items():
            table = symtable.symtable(candidate(body), "escape", "exec")
            assert not _undefined(table) - {*dir(builtins), "f0"}, name


def _undefined(table: symtable.SymbolTable) -> set[str]:
    inner = (name for child in table.get_children() for name in _undefined(child))
    return {one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()} | {
        *inner
    }
