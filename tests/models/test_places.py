"""Where a model is called: its own base, a variable's, the table's; and where its key goes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from optimize_eval import UsageError
from optimize_eval.models.chat import ChatSpec
from optimize_eval.models.live import chat
from optimize_eval.models.providers import PROVIDERS, apart, find
from tests.fake_model import StartModel
from tests.front_door import Cli

KEY = "sk-canary-0123456789abcdef"
ANYWHERE = "0.0.0.0"  # noqa: S104  nothing listens there
ASKED = [{"role": "user", "content": "greet Ada"}]
TASK = '{"id": "a", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
VERDICT = [{"json": {"reasoning": "r", "score": 1.0}}]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, provider in PROVIDERS.items():
        monkeypatch.delenv(provider.key_variable, raising=False)
        monkeypatch.delenv(f"{name.upper()}_BASE_URL", raising=False)
    for variable in ("OPENAI_API_BASE", "OLLAMA_HOST", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("text", "name", "base"),
    [
        ("openai/qwen@http://gpu:8001/v1", "openai/qwen", "http://gpu:8001/v1"),
        ("vllm/a@b@https://gpu/v1", "vllm/a@b", "https://gpu/v1"),
        ("vllm/a@2024", "vllm/a@2024", ""),
        ("vllm/m@https://", "vllm/m@https://", ""),
        ("vllm/m@https://gpu/v1 x", "vllm/m@https://gpu/v1 x", ""),
    ],
)
def test_only_a_url_at_the_end_is_a_base(text: str, name: str, base: str) -> None:
    assert apart(text) == (name, base)


def test_a_base_that_is_empty_is_not_the_provider_s() -> None:
    with pytest.raises(UsageError, match="openai/m@ has no URL behind its @"):
        apart("openai/m@")


@pytest.mark.parametrize(
    ("name", "variable", "form"),
    [
        ("openai/m", "OPENAI_BASE_URL", lambda base: base),
        ("openai/m", "OPENAI_API_BASE", lambda base: base),
        ("groq/m", "GROQ_BASE_URL", lambda base: f" {base}/ "),
        ("ollama/m", "OLLAMA_HOST", lambda base: base.removeprefix("http://").removesuffix("/v1")),
        ("ollama/m", "OLLAMA_HOST", lambda base: base.replace("127.0.0.1", ANYWHERE).removesuffix("/v1")),
        ("azure/m", "AZURE_OPENAI_ENDPOINT", lambda base: base),
        ("my-own/m", "MY_OWN_BASE_URL", lambda base: base),
    ],
)
def test_a_variable_names_the_base(
    fake_model: StartModel,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    variable: str,
    form: Callable[[str], str],
) -> None:
    server = fake_model([{"text": "you sent {authorization}"}])
    provider = name.partition("/")[0]
    key = PROVIDERS[provider].key_variable if provider in PROVIDERS else "MY_OWN_API_KEY"
    monkeypatch.setenv(key, KEY)
    monkeypatch.setenv(variable, form(server.base))
    assert chat(ASKED, name).text == "you sent Bearer ***"


def test_what_the_user_gives_wins_over_the_variable(
    fake_model: StartModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:9/v1")
    assert chat(ASKED, "vllm/m", api_base=fake_model([{"text": "here"}]).base).text == "here"
    monkeypatch.setenv("VLLM_BASE_URL", "gpu:8000")
    with pytest.raises(UsageError, match="the value of VLLM_BASE_URL is not a base URL"):
        find(ChatSpec(name="vllm/m"))
    with pytest.raises(UsageError) as caught:
        find(ChatSpec(name="azure/m"))
    assert caught.value.hint == "export AZURE_OPENAI_ENDPOINT=https://…"


@pytest.mark.parametrize(
    ("name", "base", "sent"),
    [
        ("openai/m", "", KEY),
        ("openai/m", "https://gateway.example/v1", KEY),
        ("openai/m", "http://localhost:1/v1", KEY),
        ("openai/m", "http://gateway.example/v1", ""),
        ("openai/m", "http://127.0.0.1.evil.example/v1", ""),
        ("ollama/m", "http://gpu.example:11434/v1", ""),
        ("mine/m", "http://gpu.example:8001/v1", ""),
        ("mine/m", "https://gpu.example:8001/v1", KEY),
    ],
)
def test_a_key_goes_to_its_base_over_https_or_within_this_machine_only(
    monkeypatch: pytest.MonkeyPatch, name: str, base: str, sent: str
) -> None:
    provider = name.partition("/")[0]
    variable = PROVIDERS[provider].key_variable if provider in PROVIDERS else "MINE_API_KEY"
    monkeypatch.setenv(variable, KEY)
    place = find(ChatSpec(name=name, api_base=base))
    assert place is not None
    assert place.key == sent
    assert (variable in place.note) is not bool(sent)
    assert KEY not in repr(place)


def test_a_base_of_ones_own_needs_no_key_but_a_variable_that_is_named_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = find(ChatSpec(name="openai/m", api_base="https://gateway.example/v1"))
    assert place is not None
    assert (place.key, place.note) == ("", "")
    named = ChatSpec(name="openai/m", api_base="https://gateway.example/v1", key_variable="GATEWAY")
    with pytest.raises(UsageError, match="the environment variable GATEWAY is not set"):
        find(named)
    monkeypatch.setenv("OPENAI_API_KEY", "of-another")
    monkeypatch.setenv("GATEWAY", KEY)
    place = find(named)
    assert place is not None
    assert place.key == KEY


def test_a_key_does_not_leave_in_the_open_and_that_is_told_once(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    """0.0.0.0 is this machine, but is not known to be: a server elsewhere that has no https."""
    base = fake_model(VERDICT)
    elsewhere = base.base.replace("127.0.0.1", ANYWHERE)
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "d.jsonl").write_text('{"q": 1}\n' * 3)
    run = ("run", "-e", f"kind=judge:openai/m@{elsewhere}", "--objective", "o", "--candidate", "a.txt")
    done = cli(*run, "--dataset", "d.jsonl", "--out", "r", env={"OPENAI_API_KEY": KEY})
    assert done.status == 0, done.stderr
    assert done.stderr.count(f"the key in OPENAI_API_KEY is not sent to {elsewhere}, which is not https") == 1
    assert [request["authorization"] for request in base.requests()] == [False] * 3
    kept = "".join(path.read_text() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert KEY not in done.stdout + done.stderr + kept + str(base.requests())


def test_a_key_is_in_no_list_of_processes_and_in_no_report(
    program: Cli, cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    """An evaluator of the same run looks at every process of the machine while the judge is called."""
    server = fake_model(VERDICT)
    (tmp_path / "look.sh").write_text("#!/bin/sh\ncat /proc/[0-9]*/cmdline >> seen; echo '{\"score\": 1}'\n")
    (tmp_path / "look.sh").chmod(0o755)
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "d.jsonl").write_text('{"q": 1}\n' * 3)
    judge = f"kind=judge:openai/m@{server.base}"
    run = ("run", "-e", judge, "-e", "./look.sh", "--objective", "o", "--candidate", "a.txt")
    done = program(*run, "--dataset", "d.jsonl", "--out", "r", env={"OPENAI_API_KEY": KEY})
    assert done.status == 0, done.stderr
    assert {request["authorization"] for request in server.requests()} == {True}
    seen = (tmp_path / "seen").read_bytes()
    assert b"optimize-eval" in seen
    shown = [cli("report", "r", "--format", name).stdout for name in ("json", "csv", "jsonl", "md", "junit")]
    assert cli("report", "r", "--format", "html").status == 0
    kept = "".join(path.read_text() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert KEY not in seen.decode(errors="replace") + done.stdout + done.stderr + kept + "".join(shown)


def test_a_base_for_each_model_of_a_bench(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    """A key of one provider is not that of another on the same server; rows are called as models are."""
    server = fake_model(
        [{"when": {"model": "q"}, "text": "2 {authorization}"}, {"when": {"model": "r"}, "text": "2"}]
    )
    (tmp_path / "t.jsonl").write_text(TASK)
    models = ("--model", f"one=openai/q@{server.base}", "--model", f"mine/r@{server.base}")
    done = cli("bench", "t.jsonl", *models, "--json", "--out", "r", env={"OPENAI_API_KEY": KEY})
    assert done.status == 0, done.stderr
    board = json.loads((tmp_path / "r" / "leaderboard.json").read_text())
    assert {one["adapter"]: one["overall_score"] for one in board["models"]} == {"mine/r": 1, "one": 0}
    sent = {request["body"]["model"]: request["authorization"] for request in server.requests()}
    assert sent == {"q": True, "r": False}


@pytest.mark.parametrize(
    "command",
    [
        ("run", "-e", "judge:openai/a", "-e", "judge:groq/b", "--objective", "o", "--candidate", "a.txt"),
        ("bench", "t.jsonl", "--model", "openai/a", "--model", "g=groq/b"),
    ],
    ids=lambda words: words[0],
)
def test_one_base_for_models_of_two_providers_is_refused(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "t.jsonl").write_text(TASK)
    done = cli(*command, "--api-base", "http://127.0.0.1:9/v1")
    assert done.status == 2
    assert "--api-base is one server, and the models are of openai and groq" in done.stderr
    assert "PROVIDER/MODEL@http://HOST:PORT/v1" in done.stderr
