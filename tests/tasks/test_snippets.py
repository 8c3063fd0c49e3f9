"""Code of tasks: what it is given, what comes back, and that nothing it does harms us."""

import os
import resource
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.tasks.code import HostedSnippets

CONVERSATION = {
    "items": [
        {"type": "message", "role": "user", "content": "Where?"},
        {"type": "function_call", "name": "look", "arguments": {"at": "map"}, "call_id": "1"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here."}]},
    ],
    "completion": {"choices": [{"message": {"content": "Here."}}]},
}


@pytest.fixture(scope="module")
def snippets() -> Iterator[HostedSnippets]:
    """Start processes for all tests, which none of them may end: another one would be left over."""
    hosted = HostedSnippets()
    call(hosted, "def f(): return 1")
    hosted.call("def f(): return 1", "f", {}, time.monotonic() + 20, ask=dict)
    yield hosted
    hosted.close()


@pytest.fixture
def own() -> Iterator[HostedSnippets]:
    hosted = HostedSnippets()
    yield hosted
    hosted.close()


def call(snippets: HostedSnippets, code: str, function: str = "f", /, **arguments: Any) -> Any:
    return snippets.call(code, function, arguments, time.monotonic() + 20)


def test_arguments_are_given_by_name_or_in_order_and_only_as_many_as_are_taken(
    snippets: HostedSnippets,
) -> None:
    given: dict[str, Any] = {"sample": {"x": 1}, "samples": [2]}
    assert call(snippets, "def f(sample): return sample", **given) == {"x": 1}
    assert call(snippets, "def f(row): return row", **given) == {"x": 1}
    assert call(snippets, "def f(samples, sample): return [samples, sample]", **given) == [[2], {"x": 1}]
    assert call(snippets, "def f(*all): return list(all)", **given) == [{"x": 1}, [2]]
    assert call(snippets, "def f(sample, /, *, samples=3): return [sample, samples]", **given) == [
        {"x": 1},
        3,
    ]
    assert call(snippets, "class F:\n  def __call__(self, samples): return samples\nf = F()", **given) == [2]
    wrapped = "import functools\ndef g(samples): pass\n@functools.wraps(g)\ndef f(*all): return list(all)"
    assert call(snippets, wrapped, **given) == [[2]]
    assert call(snippets, "async def f(): return 'x'", **given) == "x"
    awaited = "import types\n@types.coroutine\ndef f():\n  return 'x'\n  yield"
    assert call(snippets, awaited, **given) == "x"
    assert (
        call(snippets, "def g(a: int): pass\ndef f(): return g.__annotations__['a'] is int", **given) is True
    )


def test_the_process_of_code_loads_little_before_it() -> None:
    code = "import sys\ndef f(): return sorted(sys.modules)"
    own = HostedSnippets()
    loaded = call(own, code)
    own.close()
    assert not {"asyncio", "contextlib", "inspect", "pathlib", "runpy", "typing"} & set(loaded)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("o.output", "Here."),
        ("o.output.choices[0].message.content", "Here."),
        ("o.output['choices'][0]['message']['content']", "Here."),
        ("o.output[0] + o.output.lower()", "Hhere."),
        ("[m['content'] + m.role for m in o.messages]", ["Where?user", "Here.assistant"]),
        ("o.trace.get_last_assistant_text() + o.trace.get_last_user_text()", "Here.Where?"),
        ("o.trace.assistant_messages[0].content", "Here."),
        ("[one.name for one in o.trace.function_calls]", ["look"]),
        ("o.trace.items[1].arguments.at", "map"),
    ],
)
def test_what_a_solver_made_has_the_shapes_that_are_promised(
    snippets: HostedSnippets, expression: str, value: Any
) -> None:
    code = f"def compute_scores(sample, o): return {expression}"
    assert call(snippets, code, "compute_scores", sample={}, solver_output=CONVERSATION) == value


def test_a_field_that_is_not_promised_is_told_with_those_that_are(snippets: HostedSnippets) -> None:
    code = "def compute_scores(sample, o): return o.text, hasattr(o, 'trace')"
    with pytest.raises(EvaluationError, match="there is no 'text', only output, messages, trace"):
        call(snippets, code, "compute_scores", sample={}, solver_output=CONVERSATION)


def test_scores_have_values_and_metadata_and_the_classes_can_be_imported(snippets: HostedSnippets) -> None:
    code = (
        "from latticeflow.core.dtypes import RawSample, SampleScore, SolverOutput, SolverTrace, Trace\n"
        "def compute_metrics(scores: list[SampleScore]):\n"
        "    return {'sum': sum(s.values['a'] for s in scores), 'm': scores[0].metadata['m']}\n"
    )
    scores = [{"values": {"a": 1}, "metadata": {"m": "x"}}, {"values": {"a": 2}, "metadata": {}}]
    assert call(snippets, code, "compute_metrics", scores=scores) == {"sum": 3, "m": "x"}


DOCUMENTED: dict[str, dict[str, Any]] = {  # the signatures of "Tasks", as they are printed there
    "compute_scores(sample: dict[str, Any], solver_output: SolverOutput) -> dict[str, Any]": {
        "sample": {},
        "solver_output": CONVERSATION,
    },
    "compute_scores(sample: dict[str, Any]) -> dict[str, Any]": {"sample": {}},
    "compute_scores(samples: list[dict[str, Any]]) -> list[dict[str, Any]]": {"samples": []},
    "run_solver(sample, model, trace) -> SolverTrace": {
        "sample": {},
        "model": {},
        "trace": CONVERSATION,
    },
}


@pytest.mark.parametrize("signature", DOCUMENTED)
def test_documented_signatures_need_no_import(snippets: HostedSnippets, signature: str) -> None:
    function = signature.partition("(")[0]
    code = f"async def {signature}:\n    return {{'ok': True}}"
    assert call(snippets, code, function, **DOCUMENTED[signature]) == {"ok": True}


def test_what_code_prints_and_reads_is_not_the_protocol(snippets: HostedSnippets) -> None:
    code = "import os, sys\ndef f():\n    print('{}')\n    os.system('echo {}')\n    return sys.stdin.read()"
    assert call(snippets, code) == ""


def test_code_is_compiled_once_and_has_no_secrets(
    own: HostedSnippets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    for name in ("GITHUB_PAT", "DB_PWD", "SLACK_WEBHOOK", "SENTRY_DSN"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("DATABASE", "postgres://me:pw@host/db")
    monkeypatch.setenv("HARMLESS", "https://host/me@home")
    code = "import os\nseen = []\ndef f():\n    seen.append(1)\n    return [len(seen), sorted(os.environ)]"
    first, second = call(own, code), call(own, code)
    assert [first[0], second[0]] == [1, 2]
    assert {"HARMLESS", "PATH", "PWD"} <= {*first[1]} | {"PWD"} - {*os.environ}
    secret = {"OPENAI_API_KEY", "GITHUB_PAT", "DB_PWD", "SLACK_WEBHOOK", "SENTRY_DSN", "DATABASE"}
    assert secret.isdisjoint(first[1])


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def f(:", r"f: SyntaxError: invalid syntax \(line 1"),
        ("x = 1 / 0", r"ZeroDivisionError: division by zero \(line 1: x = 1 / 0\)"),
        ("def f():\n    return {}['a']", r"KeyError: 'a' \(line 2: return {}\['a'\]\)"),
        ("import json\ndef f():\n    json.loads('x')", r"\(line 3: json.loads"),
        ("async def f():\n    raise ValueError", r"f: ValueError \(line 2"),
        ("def g(): pass", "defines no function f"),
        ("import sys\ndef f(): sys.exit(3)", "SystemExit: 3"),
        ("def f(): return f()", "RecursionError"),
        ("def f(): return {1, 2}", "not JSON: a set"),
        ("def f(): return float('nan')", "not JSON"),
        ("def f(): return '\\ud800'", "not JSON"),
        ("def f(): return 'x' * 9_000_000", "more than 8 MiB"),
        ("def f(): return 'x' * 10 ** 12", "MemoryError"),
        (
            "def f(): return __import__('functools').reduce(lambda a, _: [a], range(250), 1)",
            "than 200 levels",
        ),
    ],
)
def test_whatever_code_does_wrong_is_its_failure(snippets: HostedSnippets, code: str, reason: str) -> None:
    with pytest.raises(EvaluationError, match=reason) as caught:
        call(snippets, code)
    assert caught.value.kind is FailureKind.REPORTED
    assert "Traceback" not in caught.value.message
    assert call(snippets, "def f(): return 1") == 1


def test_code_that_ends_its_process_or_takes_too_long_fails_and_the_next_call_is_answered(
    own: HostedSnippets,
) -> None:
    with pytest.raises(
        EvaluationError, match="the process of f is gone: it ended with exit status 0"
    ) as killed:
        call(own, "import os\ndef f(): os._exit(0)")
    endless = "def f():\n    while True: pass"
    with pytest.raises(EvaluationError, match=r"f takes longer than 0\.5") as late:
        own.call(endless, "f", {}, time.monotonic() + 0.5)
    assert (killed.value.kind, late.value.kind) == (FailureKind.KILLED, FailureKind.TIMEOUT)
    assert call(own, "def f(): return 1") == 1


SOLVER = """
async def run_solver(sample, model, trace):
    trace.append_user_message(sample["q"])
    first = await model.predict(trace.items)
    trace.add_model_response(first)
    second = await model.predict({"messages": [{"role": "user", "content": first.text}], "seed": 1})
    trace.append_assistant_message(second.raw_output.id + second.text)
    return trace
"""


def test_a_solver_calls_the_model_and_gives_its_trace(snippets: HostedSnippets) -> None:
    wanted: list[Any] = []

    def ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
        wanted.append(question)
        said = f"reply {len(wanted)}"
        item = {"type": "message", "role": "assistant", "content": said}
        return {"text": said, "items": [item], "raw_output": {"id": "r"}}

    arguments = {"sample": {"q": "?"}, "model": {}, "trace": {"items": []}}
    trace = snippets.call(SOLVER, "run_solver", arguments, time.monotonic() + 20, ask=ask)
    user = {"type": "message", "role": "user", "content": "?"}
    assert wanted[0] == {"items": [user]}
    assert wanted[1] == {"messages": [{"role": "user", "content": "reply 1"}], "seed": 1}
    assert [one["content"] for one in trace["items"]] == ["?", "reply 1", "rreply 2"]
    assert trace["completion"] == {"id": "r"}


def test_a_model_that_fails_fails_the_call_though_the_code_goes_on(snippets: HostedSnippets) -> None:
    code = "async def f(model):\n    try: await model.predict('x')\n    except Exception: return 1"

    def ask(_question: Mapping[str, Any]) -> Mapping[str, Any]:
        raise EvaluationError(FailureKind.MODEL_ERROR, "busy")

    with pytest.raises(EvaluationError, match="busy"):
        snippets.call(code, "f", {"model": {}}, time.monotonic() + 20, ask=ask)
    with pytest.raises(EvaluationError, match="no model can be called"):
        call(snippets, "async def f(model): await model.predict('x')", model={})


def test_an_interrupt_while_a_model_is_called_ends_the_process(own: HostedSnippets) -> None:
    def ask(_question: Mapping[str, Any]) -> Mapping[str, Any]:
        raise KeyboardInterrupt

    code = "async def f(model): await model.predict('x')"
    with pytest.raises(KeyboardInterrupt):
        own.call(code, "f", {"model": {}}, time.monotonic() + 20, ask=ask)
    assert call(own, "def f(): return 1") == 1


def test_what_code_prints_stands_beside_its_failure(snippets: HostedSnippets) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(snippets, "def f():\n    print('here I am')\n    raise ValueError")
    assert "here I am" in caught.value.detail


def test_a_call_that_the_end_breaks_off_is_no_failure_of_the_code(own: HostedSnippets) -> None:
    code = "import pathlib, time\ndef f(path):\n    pathlib.Path(path).touch()\n    time.sleep(60)"
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        begun = Path(folder, "begun")
        under_way = pool.submit(call, own, code, path=str(begun))
        while not begun.exists():
            time.sleep(0.01)
        own.close()
        error = under_way.exception()
    assert isinstance(error, EvaluationError)
    assert error.kind is FailureKind.INTERNAL


def test_many_threads_call_at_once_and_nothing_stays_behind(own: HostedSnippets) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: call(own, "def f(n): return n", n=n), range(100)))
    assert answers == list(range(100))
    stray = "import subprocess\ndef f(): return subprocess.Popen(['sleep', '60'], start_new_session=True).pid"
    assert call(own, stray)


def test_where_no_process_can_be_started_it_is_this_machine_that_has_no_room(own: HostedSnippets) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) - 1, hard))
    try:
        with pytest.raises(EvaluationError) as failed:
            call(own, "def f(): return 1")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "too many open files" in failed.value.message
    assert failed.value.no_room
    assert "ulimit -n" in str(failed.value.hint)
    assert call(own, "def f(): return 1") == 1, "room again"
