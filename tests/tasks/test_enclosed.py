"""Code of tasks in a sandbox: what it needs is there, and nobody gets out."""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import Opened
from optimize_eval.programs.leftovers import is_readable
from optimize_eval.tasks.code import HostedSnippets, Starter, enclosed, share_snippets
from tests.shipped.escapes import FILES, KERNEL, NETWORK, SIGNALS
from tests.shipped.worlds import World, a_world
from tests.tools import need, need_kernel
from tests.weaker import with_layers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

STRICT = "strict"
SETS = {
    "all": (),
    "namespaces": ("namespaces", "landlock", "seccomp", "rlimits", "uid"),
    "landlock": ("landlock", "seccomp", "rlimits"),
}
GIVEN = {"packages"}  # what is installed is code's to read
TRIED = {
    name: body
    for group in (FILES, NETWORK, SIGNALS, KERNEL)
    for name, body in group.items()
    if name not in GIVEN
}
ALL = (
    "import ctypes, os, socket, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    + "".join(f"def f{n}(x):\n    {body}\n" for n, body in enumerate(TRIED.values()))
    + f"""
def f(x):
    got = []
    for n in range({len(TRIED)}):
        try:
            if globals()[f"f{{n}}"](x): got.append(n)
        except (Exception, SystemExit): pass
    return got
"""
)


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    with Opened() as opened:
        yield opened


@pytest.fixture(scope="module")
def snippets(opened: Opened) -> HostedSnippets:
    """Start processes for all tests, which none of them may end: another one would be left over."""
    hosted = share_snippets(opened, STRICT, "tests")
    assert call(hosted, "def f(): return 1") == 1
    hosted.call("def f(): return 1", "f", {}, time.monotonic() + 20, ask=dict)
    return hosted


@pytest.fixture
def own() -> Iterator[HostedSnippets]:
    hosted = HostedSnippets(STRICT)
    yield hosted
    hosted.close()


@pytest.fixture
def world() -> Iterator[World]:
    with TemporaryDirectory(prefix="enclosed-") as name, a_world(Path(name), ordinary=False) as made:
        yield made


def call(snippets: HostedSnippets, code: str, /, seconds: float = 30, **arguments: Any) -> Any:
    return snippets.call(code, "f", arguments, time.monotonic() + seconds)


@need("bwrap", "setpriv", "unshare")
@need_kernel("bubblewrap")
@pytest.mark.parametrize("layers", SETS)
def test_nobody_gets_out(layers: str, world: World, tmp_path: Path) -> None:
    with ExitStack() as machine:
        if SETS[layers]:
            machine.enter_context(with_layers(SETS[layers], tmp_path))
        hosted = HostedSnippets(STRICT)
        machine.callback(hosted.close)
        x = {**world.had, "judge": os.getpid(), "harness": __file__}
        got = call(hosted, ALL, x=x)
    assert [name for number, name in enumerate(TRIED) if number in got] == []
    world.untouched()


def test_code_sees_no_environment_of_ours_and_none_of_our_files(
    snippets: HostedSnippets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARMLESS", "x")
    (tmp_path / "journal.jsonl").write_text("{}")
    monkeypatch.chdir(tmp_path)
    code = """
import os, sys
def f(path):
    names = (path, os.path.basename(path), "/etc/passwd", "/proc/self/environ",
             f"/proc/{os.getppid()}/environ", "/root", "/home", "/tmp")
    there = [name for name in names if os.path.exists(name)]
    seen = [name for name in there if is_seen(name)]
    return [there, seen, "HARMLESS" in os.environ, os.getpid() == os.getppid() or len(os.listdir("."))]
def is_seen(name):
    try: return bool(os.listdir(name) if os.path.isdir(name) else open(name, "rb").read())
    except OSError: return False
"""
    there, seen, *others = call(snippets, code, path=str(tmp_path / "journal.jsonl"))
    assert (others, [name for name in seen if name not in _parents()]) == ([False, 0], [])
    if "bubblewrap" in enclosed(STRICT).layers:  # which alone hides names
        assert there == _parents()


def _parents() -> list[str]:
    """List what is there only because the interpreter is below it, and holds nothing else."""
    above = {*Path(sys.prefix).parents, *Path(sys.base_prefix).parents}
    return [top for top in ("/root", "/home", "/tmp") if Path(top) in above]  # noqa: S108  only compared


def test_what_code_needs_is_there(snippets: HostedSnippets) -> None:
    code = """
import asyncio, tempfile, threading
import jinja2, numpy
from latticeflow.core.dtypes import Trace

async def f(model):
    await asyncio.sleep(0)
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    thread = threading.Thread(target=print)
    thread.start(); thread.join()
    reply = await model.predict("Hello")
    return [reply.text, float(numpy.eye(3).sum()), Trace.__name__]
"""

    def ask(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        assert wanted == {"messages": [{"role": "user", "content": "Hello"}]}
        return {"text": "Hi", "items": [], "raw_output": {}}

    returned = snippets.call(code, "f", {"model": {}}, time.monotonic() + 30, ask=ask)
    assert returned == ["Hi", 3.0, "Trace"]


def test_what_is_denied_says_that_it_is_the_sandbox(snippets: HostedSnippets) -> None:
    for body, told in (("open('/etc/passwd')", "--sandbox none runs it with your rights"), ("1 / 0", "")):
        with pytest.raises(EvaluationError) as failed:
            call(snippets, f"def f(): {body}")
        assert told in str(failed.value.hint or "")
        assert bool(failed.value.hint) == bool(told)


@pytest.mark.parametrize(
    "body",
    [
        "while True: os.fork()",
        "a = []\n    while True: a.append(bytes(64 << 20))",
        pytest.param(
            "for n in range(99): open(str(n), 'wb').write(bytes(8 << 20))", marks=need_kernel("bubblewrap")
        ),
        "os.kill(os.getppid(), 15); os.kill(-1, 15); raise OSError",
        "if os.fork() == 0: os.setsid()",
        "import subprocess; subprocess.run(['/bin/true'])",
    ],
    ids=["fork bomb", "memory bomb", "full disk", "signals", "orphan", "program"],
)
def test_what_would_use_up_the_machine_fails_where_it_is(snippets: HostedSnippets, body: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        call(snippets, f"import os\ndef f():\n    {body}")
    assert failed.value.kind is FailureKind.REPORTED
    tidies = "import os\ndef f():\n    for name in os.listdir('.'): os.remove(name)\n    return 1"
    assert call(snippets, tidies) == 1, "its process goes on"


def test_a_loop_ends_with_its_time_and_a_forged_reply_is_nobody_elses(own: HostedSnippets) -> None:
    with pytest.raises(EvaluationError) as late:
        call(own, "import signal\ndef f():\n    while True: signal.pause()", seconds=0.7)
    assert late.value.kind is FailureKind.TIMEOUT
    forging = """
import os
def f():
    for fd in range(3, 64):
        try: os.write(fd, b'{"value": 7, "_id": "2"}\\n{"_ask": 5, "_id": "1"}\\n')
        except OSError: pass
    os._exit(0)
"""
    with pytest.raises(EvaluationError) as forged:
        call(own, forging)
    assert forged.value.kind is FailureKind.KILLED
    assert call(own, "def f(): return 1") == 1


def test_what_wants_a_model_without_a_question_is_not_the_end_of_ours(own: HostedSnippets) -> None:
    asking = """
import os
def f():
    for fd in range(3, 64):
        try: os.write(fd, b'{"_ask": 5, "_id": "1"}\\n')
        except OSError: pass
    os._exit(0)
"""
    with pytest.raises(EvaluationError) as forged:
        own.call(asking, "f", {}, time.monotonic() + 20, ask=dict)
    assert forged.value.kind is FailureKind.KILLED


def test_an_enclosed_process_ends_with_those_who_started_it() -> None:
    starter = Starter(STRICT)
    child, first = starter.start("test.1")
    os.write(child.stdin, first + _question("def f(): return 1"))
    assert os.read(child.stdout, 99)
    ends = [os.pidfd_open(one.pid) for one in child.descendants()]
    os.write(child.stdin, _question("def f():\n    while True: pass"))
    starter.close()
    assert child.await_end(20), "as if we had been killed"
    assert all(is_readable(one, 20) for one in ends)
    assert ends or "bubblewrap" not in enclosed(STRICT).layers, "without it there is one process"
    child.reap()
    child.close()
    for one in ends:
        os.close(one)


def _question(code: str) -> bytes:
    question = {"code": code, "digest": code, "function": "f", "arguments": {}, "_id": "1"}
    return json.dumps(question).encode() + b"\n"


def test_threads_that_end_end_no_process_that_others_use(own: HostedSnippets) -> None:
    code = "seen = []\ndef f():\n    seen.append(1)\n    return len(seen)"
    for number in range(1, 3):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(call, own, code).result() == number


def test_code_of_different_tasks_is_in_no_process_with_another(
    opened: Opened, snippets: HostedSnippets
) -> None:
    other = share_snippets(opened, STRICT, "another task")
    assert share_snippets(opened, STRICT, "tests") is snippets
    with closing(other):
        call(snippets, "import json\ndef f(): json.changed = 1")
        seen = "import json\ndef f(): return hasattr(json, 'changed')"
        assert [call(snippets, seen), call(other, seen)] == [True, False]


def test_where_promises_cannot_be_kept_strict_is_refused_and_best_effort_names_them(tmp_path: Path) -> None:
    with with_layers(("rlimits",), tmp_path):
        with pytest.raises(
            UsageError, match=r"not be strict; missing: files: .* \(apt-get install bubblewrap\)"
        ):
            HostedSnippets(STRICT)
        how = enclosed("best-effort")
        assert [one.partition(":")[0] for one in how.missing] == ["files", "network", "signals", "memory"]
        hosted = HostedSnippets("best-effort")
        with pytest.raises(EvaluationError, match="MemoryError"):
            call(hosted, "def f(): return len(bytearray(8 << 30))")
        hosted.close()
