"""What replies to prompts took, in seconds, tokens and money: as a score, and in the totals of a run."""

import json
import signal
import sys
from pathlib import Path

import pytest

from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import model
from tests.cli.prompted import command, examples, prompts
from tests.fake_model import StartModel
from tests.front_door import Cli
from tests.run.projects import records
from tests.tools import write_program


def test_what_replies_took_is_a_score_below_zero_with_the_plain_number_beside_it(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    examples(tmp_path, train=3, val=6)
    prompts(tmp_path, plain="{{question}}")
    served = fake_model([{"text": "1", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}])
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/m" = {input = 1.0, output = 4.0}\n')
    measures = ("-e", "@latency", "-e", "@cost", "-e", "@tokens", "--prices", "prices.toml")
    run = command(*measures, "--fail-under", "tokens=-9", models=(f"m=openai/m@{served.base}",))
    told = cli(*run, "--json")
    assert told.status == 0, told.stderr
    means = {row["evaluator"]: row["splits"]["val"]["mean"] for row in told.json["summary"]["rows"]}
    assert means["tokens"] == -9
    assert means["cost"] == pytest.approx(-15e-6)
    assert -30 < means["latency"] < 0
    assert {tuple(record["side_info"]) for record in records(tmp_path / "r")} == {
        ("seconds",),
        ("dollars",),
        ("prompt_tokens", "completion_tokens"),
    }
    spent = told.json["summary"]["spent"]["models"]
    assert [one["calls"] for one in spent.values()] == [9], "a call is counted once, whoever scored it first"
    assert cli(*run[:-2], "--fail-under", "tokens=-8").status == 1
    alone = cli("run", "-e", "@latency", "--candidate-field", "target", "--dataset", "train.jsonl")
    assert alone.status == 2
    assert "@latency is about a model's reply" in alone.stderr


def test_a_program_may_tell_what_its_reply_took(cli: Cli, tmp_path: Path) -> None:
    examples(tmp_path, train=1, val=1)
    prompts(tmp_path, plain="{{question}}")
    model(tmp_path / "m", "{'text': '1', 'usage': {'prompt_tokens': 3, 'completion_tokens': 4}}")
    told = cli(*command("-e", "@tokens", "-e", "@cost", "--no-preflight", "--json"))
    means = {row["evaluator"]: row["splits"]["val"]["mean"] for row in told.json["summary"]["rows"]}
    assert means == {"tokens": -7, "cost": None}
    (failure, *_) = told.json["summary"]["failures"]
    assert failure["first_message"] == "it is not known what the call cost"


def test_what_a_reply_took_is_counted_once_also_after_a_kill_before_it_was_scored(
    cli: Cli, program: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    examples(tmp_path, train=3, val=1)
    prompts(tmp_path, plain="{{question}}")
    served = fake_model([{"text": "1", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}])
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/m" = {input = 1.0, output = 4.0}\n')
    scorer = [
        f"#!{sys.executable} -S",
        "import os, sys",
        "fails = not os.path.exists('unharmed')",
        "fails and os.kill(os.getppid(), 9)",
        "print('{\"score\": 1}')",
    ]
    write_program(tmp_path / "e.py", scorer)
    data = ("--leaks", "keep", "--valset", "train.jsonl", "--prices", "prices.toml", "--concurrency", "1")
    run = command("-e", "e=./e.py", "-e", "@latency", *data, models=(f"m=openai/m@{served.base}",))
    assert program(*run).status == -signal.SIGKILL
    assert (len(served.bodies()), records(tmp_path / "r")) == (1, [])
    (tmp_path / "unharmed").touch()
    paused = cli(*run, "--max-cost", "1e-9")
    assert (paused.status, len(served.bodies())) == (3, 1), "what the kill left has used the budget up"
    spents = [cli(*run, "--json", "--out", out).json["summary"]["spent"] for out in ("r", "undisturbed")]
    for spent in spents:
        assert spent.pop("evaluators") == {}
        for total in (spent["run"], *spent["models"].values(), *spent["candidates"].values()):
            del total["seconds"]
    assert spents[0] == spents[1]
    assert (spents[0]["run"]["calls"], spents[0]["run"]["cost"]) == (3, pytest.approx(45e-6))
    assert cli("report", "r", "--check").status == 0
    assert rederive(tmp_path / "r") == 0
    reused = cli(*run, "-e", "@f1", "--reuse", "r", "--json", "--out", "copied")
    assert len(served.bodies()) == 6
    assert reused.json["summary"]["spent"] is None, "it is counted where it was spent"


def test_tries_of_a_model_that_failed_count_also_where_the_next_one_replied(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    """One reply comes with its second try, the other one never, in three tries."""
    examples(tmp_path, train=2, val=1)
    prompts(tmp_path, plain="{{question}}")
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    empty = {"body": json.dumps({"choices": [], "usage": usage})}
    first = {**empty, "when": {"user": "^0 plus"}, "times": 1}
    served = fake_model(
        [
            first,
            {**empty, "when": {"user": "^1 plus"}},
            {"text": "1", "usage": {**usage, "prompt_tokens": 50}},
        ]
    )
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/m" = {input = 1.0, output = 4.0}\n')
    data = (
        "--leaks",
        "keep",
        "--valset",
        "train.jsonl",
        "--prices",
        "prices.toml",
        "--concurrency",
        "1",
        "--no-preflight",
    )
    run = command("-e", "@tokens", "-e", "@f1", *data, models=(f"m=openai/m@{served.base}",))
    first_run = cli(*run, "--json").json["summary"]
    assert len(served.bodies()) == 5
    total = first_run["spent"]["run"]
    assert (total["calls"], total["prompt_tokens"], total["cost"]) == (5, 78, pytest.approx(118e-6))
    assert {one.get("score") for one in records(tmp_path / "r") if one["evaluator"] == "tokens"} == {
        -52,
        None,
    }
    header, *_ = (tmp_path / "r" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "r" / "journal.jsonl").write_bytes(header)  # as a kill before the first score leaves it
    resumed = cli(*run, "--json").json["summary"]
    assert len(served.bodies()) == 8, "what never replied is called again"
    assert resumed["spent"]["run"]["calls"] == 5
    assert cli("report", "r", "--check").status == 0


def test_what_replies_took_is_no_evaluators_and_what_a_judge_took_is_its_own(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    examples(tmp_path, train=2, val=2)
    prompts(tmp_path, plain="{{question}}")
    verdict = json.dumps({"reasoning": "yes", "score": 1, "confidence": 1})
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    refused = {"when": {"model": "^m$", "user": "^1 plus"}, "status": 400, "usage": usage}
    replies = {"when": {"model": "^m$"}, "text": "1", "usage": usage}
    served = fake_model([refused, replies, {"text": verdict, "usage": usage}])
    judge = ("--judge-model", f"openai/j@{served.base}", "--objective", "is it right?", "--no-preflight")
    run = command("-e", "@f1", "-e", "@latency", *judge, models=(f"m=openai/m@{served.base}",))
    told = cli(*run, "--json")
    spent = told.json["summary"]["spent"]
    totals = {
        axis: {name: one["calls"] for name, one in spent[axis].items()} for axis in spent if axis != "run"
    }
    assert totals == {
        "models": {"openai/j": 2, "m": 4},
        "evaluators": {"j": 2},
        "candidates": {"plain": 6},
    }
    assert cli("report", "r", "--check").status == 0
    assert rederive(tmp_path / "r") == 0
