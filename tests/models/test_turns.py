"""Waiting for servers that have no room: outside of attempts and deadlines, as long as their headers say."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import EvaluationError
from optimize_eval.base.outcome import Progress
from optimize_eval.base.retries_and_caps import GivenUp, Manners, Queue
from optimize_eval.cli.host import Lines
from optimize_eval.models.live import chat
from optimize_eval.models.turns import Rate, Room, wait_in
from optimize_eval.run.host import Stop
from tests.fake_model import StartModel
from tests.front_door import Cli
from tests.run.projects import await_that, records

ASKED = [{"role": "user", "content": "greet Ada"}]
JUDGE = ("-e", "judge:openai/m", "--objective", "It greets warmly")
KEY = {"OPENAI_API_KEY": "sk-canary-0123456789abcdef"}


def test_score_waits_for_a_full_server_as_long_as_it_is_told(cli: Cli, fake_model: StartModel) -> None:
    server = fake_model([no_room({"retry-after": "30"}, 1)])
    done = cli("score", "-", *JUDGE, "--api-base", server.base, "--patience", "1s", stdin=b"Hello", env=KEY)
    assert (done.status, done.json["kind"]) == (4, "model_error")
    assert "slow down; waiting 30 s would exceed --patience 1s" in done.json["message"]
    assert "allow more with --patience" in done.stderr


def no_room(headers: dict[str, str], times: int, status: int = 429) -> dict[str, Any]:
    return {"status": status, "headers": headers, "text": "slow down", "times": times}


def verdict(score: float = 1.0) -> dict[str, Any]:
    return {
        "json": {"reasoning": "r", "score": score},
        "usage": {"prompt_tokens": 90, "completion_tokens": 10},
    }


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "250"}, 0.25),
        ({"llm_provider-retry-after": "9"}, 9),
        ({"llm_provider-retry-after-ms": "90"}, 0.09),
        ({"x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset": "12"}, 12),
        ({"ratelimit-reset": "30"}, 30),
        ({"llm_provider-x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"retry-after": "2", "x-ratelimit-reset-tokens": "5s", "retry-after-ms": "1"}, 2),
        ({"x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "80", "retry-after": "3"}, 3),
        ({"x-ratelimit-reset-requests": "1h", "x-ratelimit-remaining-requests": "0"}, 3600),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0),
        ({"retry-after": "soon", "x-ratelimit-reset-requests": "5 fortnights"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-1"}, 0),
        ({}, None),
    ],
    ids=str,
)
def test_the_wait_is_what_the_server_asks_for_and_else_until_its_limits_are_whole_again(
    headers: dict[str, str], wait: float | None
) -> None:
    assert wait_in(headers) == wait


INSTANTS: dict[str, Callable[[datetime], str]] = {
    "retry-after": lambda at: format_datetime(at, usegmt=True),
    "anthropic-ratelimit-requests-reset": datetime.isoformat,
    "anthropic-ratelimit-output-tokens-reset": lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "x-ratelimit-reset": lambda at: str(int(at.timestamp())),
    "x-ratelimit-reset-requests": lambda at: str(int(at.timestamp() * 1000)),
}


@pytest.mark.parametrize("name", INSTANTS)
def test_an_instant_is_a_wait_until_then(name: str) -> None:
    wait = wait_in({name: INSTANTS[name](datetime.now(UTC) + timedelta(seconds=3000))})
    assert wait is not None
    assert 2900 < wait <= 3001


@pytest.mark.parametrize(("status", "each"), [(429, 1.1), (503, 0.02), (529, 0.02)])
def test_a_wait_is_no_attempt_and_no_part_of_the_deadline(
    fake_model: StartModel, status: int, each: float
) -> None:
    server = fake_model([no_room({"Retry-After-Ms": f"{1000 * each:g}"}, 3, status), {"text": "fine"}])
    reply = chat(ASKED, "vllm/m", api_base=server.base, retries=0, timeout=3)
    assert reply.text == "fine"
    assert reply.spent.waited >= 2.9 * each, "at a 429 longer than the call itself may take"
    assert len(server.requests()) == 4


def test_a_limit_that_is_whole_much_later_does_not_make_a_call_wait_longer_than_it_is_asked_to(
    fake_model: StartModel,
) -> None:
    headers = {"Retry-After-Ms": "20", "X-RateLimit-Reset-Tokens": "13m30s"}
    server = fake_model([no_room(headers, 2), {"text": "fine"}])
    reply = chat(ASKED, "vllm/m", api_base=server.base, retries=0, patience=5)
    assert (reply.text, len(server.requests())) == ("fine", 3)


def test_a_server_that_lets_nobody_through_uses_up_the_patience(fake_model: StartModel) -> None:
    server = fake_model([no_room({"Retry-After-Ms": "40"}, 1000)])
    with pytest.raises(
        EvaluationError, match=r"slow down; waiting 0 s would exceed --patience 0\.3s"
    ) as caught:
        chat(ASKED, "vllm/m", api_base=server.base, retries=9, patience=0.3)
    assert caught.value.retry_after is None, "attempts are no second patience"
    assert 3 <= len(server.requests()) <= 8
    assert 0 < caught.value.spent.waited < 0.4


def test_a_storm_of_refusals_loses_no_call_of_a_run(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model(
        [{**verdict(), "times": 4}, no_room({"X-RateLimit-Reset-Requests": "4ms"}, 25), verdict()]
    )
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "d.jsonl").write_text('{"q": 1}\n' * 60)
    options = (
        *("--candidate", "a.txt", "--dataset", "d.jsonl"),
        *("--out", "r", "--concurrency", "16", "--retries", "0"),
    )
    done = cli("run", *JUDGE, "--api-base", server.base, *options, "--json", env=KEY)
    assert done.status == 0, done.stderr
    assert done.json["summary"]["units"] == {"total": 60, "scored": 60, "failed": 0, "skipped": 0, "owed": 0}
    found = records(tmp_path / "r")
    assert {record["attempts"] for record in found} == {1}
    assert any(record.get("waited") for record in found)
    assert all(record["usage"][0]["prompt_tokens"] == 90 for record in found)
    assert "note: m was full 25 times; its calls waited for it" in done.stderr


def test_a_run_says_at_once_who_waits_for_which_server_and_why(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([no_room({"Retry-After-Ms": "400"}, 1), verdict()])
    (tmp_path / "a.txt").write_text("Hello")
    done = cli("run", *JUDGE, "--api-base", server.base, "--candidate", "a.txt", "--out", "r", env=KEY)
    assert done.status == 0, done.stderr
    said = r"waiting: too many requests for openai/m \(HTTP 429\): slow down; 1 call waits; next try in 0 s, "
    assert len(re.findall(said + r"gives up in 600 s \(--patience\)", done.stderr)) == 1, done.stderr


def test_who_waits_is_said_again_only_after_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(Stop())
    for seconds in (9, 8, 7):
        queue = Queue(who="m", why="m is\x1b[2J full", calls=3, next_in=seconds, gives_up_in=600)
        lines([Progress("judge", total=4, done=1, waiting=str(queue))])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("full; 3 calls wait; next try in 9 s, gives up in 600 s (--patience)")
    assert "\x1b" not in line


def test_ctrl_c_ends_a_long_wait_at_once_and_the_call_stays_owed(
    fake_model: StartModel, tmp_path: Path
) -> None:
    """The grace is for calls that are under way: it would be an hour here."""
    server = fake_model([no_room({"Retry-After": "3600"}, 1000)])
    (tmp_path / "a.txt").write_text("Hello")
    program = (
        "from optimize_eval.run import host; host.GRACE = 3600; from optimize_eval.cli import main; main()"
    )
    options = ("--candidate", "a.txt", "--out", "r", "--patience", "2h", "--api-base", server.base)
    command = [sys.executable, "-c", program, "run", *JUDGE, *options]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **KEY}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        await_that(lambda: len(server.requests()) == 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert records(tmp_path / "r") == []


def test_slots_are_halved_once_by_a_burst_and_come_back_one_by_one() -> None:
    room, never = Room(), lambda: False
    rounds = [room.enter(None, never)[0] for _ in range(16)]
    assert all(room.refuse(number, 0.0, 60) for number in rounds)
    assert room.capacity(None) == 8
    for expected in (8, 9, 10):
        assert room.capacity(None) == expected
        for _ in range(10):
            number, _ = room.enter(None, never)
            room.leave(number, has_got_in=True)
    room.enter(None, never)
    assert room.capacity(4) == 4, "what the user allows is an upper bound"


def test_while_a_server_rests_no_call_is_of_use_and_who_is_stopped_gives_up() -> None:
    room = Room()
    number, waited = room.enter(None, lambda: False)
    assert waited == 0
    assert room.refuse(number, 600, 3600)
    assert room.capacity(None) == 0
    with pytest.raises(GivenUp):
        room.enter(None, lambda: True)


def test_calls_are_spread_evenly_over_a_minute_by_requests_and_by_tokens() -> None:
    by_calls, by_tokens = Manners(rpm=30), Manners(tpm=6000)
    assert [Rate.reserve(rate, by_calls, 50, 7.0)[0] for rate in [Rate()] * 3] == [7, 9, 11]
    rate = Rate()
    start, tokens = rate.reserve(by_tokens, 50, 7.0)
    rate.settle(by_tokens, tokens, 600)
    assert (start, tokens) == (7, 50)
    assert rate.reserve(by_tokens, 50, 7.0) == (13, 600), "six seconds' worth was used"
    assert rate.reserve(by_tokens, 50, 100.0)[0] == 100


def test_limits_per_minute_are_kept(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model([verdict()])
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "d.jsonl").write_text('{"q": 1}\n' * 5)
    (tmp_path / "s.toml").write_text(
        f'[run]\ndataset = "d.jsonl"\ncandidates = ["a.txt"]\nrpm = 300\npatience = "1m"\n'
        f'[[evaluator]]\njudge = "openai/m"\nobjective = "o"\napi_base = "{server.base}"\n'
    )
    began = time.monotonic()
    done = cli("run", "s.toml", "--out", "r", "--json", env=KEY)
    assert done.status == 0, done.stderr
    assert time.monotonic() - began >= 0.8, "five calls, a fifth of a second apart"
    assert sum(record.get("waited", 0) for record in records(tmp_path / "r")) >= 0.3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--patience", "soon"), "--patience 'soon' is not a duration"),
        (("--rpm", "0"), "--rpm 0 lets no call through"),
        (("--tpm", "-3"), "--tpm -3 lets no call through"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_limits_that_make_no_sense_are_refused(cli: Cli, option: tuple[str, str], message: str) -> None:
    done = cli("run", *JUDGE, "--candidate", "a.txt", *option)
    assert done.status == 2
    assert message in done.stderr
