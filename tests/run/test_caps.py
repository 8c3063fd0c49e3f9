"""Caps on money, tokens, time and turns: they hold inside a unit, or say at once that they cannot be kept."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import FailureKind
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.tasks.solvers import Calls, Replied
from tests.cli.benches import model
from tests.cli.defined import SOLVED, samples
from tests.cli.prompted import command, two_prompts
from tests.fake_model import StartModel
from tests.front_door import Cli
from tests.run.projects import records
from tests.run.spending import KEY, USAGE, VERDICT, made

SCORER = "    - {key: right, type: string_equals, ground_truth: '{{ sample.target }}'}\n"
LOOP = SOLVED.replace(
    """    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.question }}"}
""",
    """    type: multi_turn_solver
    message_builders:
      - {type: chat_message, role: user, content: "{{ sample.question }}"}
      - type: loop
        max_iterations: 30
        message_builders:
          - {type: generate}
          - {type: chat_message, role: user, content: "more {{ loop_index }}"}
""",
)
ENDLESS = (
    SOLVED[: SOLVED.index("  solver:")]
    + """\
  solver:
    type: python
    run_solver_snippet: |
      async def run_solver(sample, model, trace):
          turn = 0
          while True:
              turn += 1
              try:
                  await model.predict(f"turn {turn}")
              except Exception:
                  pass
  scorers:
"""
)
SPENT = "{'text': 'x', 'usage': {'prompt_tokens': 1000, 'completion_tokens': 100, 'cost': .01}}"


def solved(folder: Path, text: str, *further: str, reply: str = SPENT) -> list[str]:
    (folder / "sums.yaml").write_text(text + SCORER)
    samples(folder, 3)
    model(folder / "m", reply)
    command = ["run", "-e", "task:sums.yaml", "--model", "m=cmd:./m", "--dataset", "sums.jsonl", "--out", "r"]
    return [*command, "--concurrency", "1", "--no-preflight", *further]


def test_what_was_replied_before_a_cap_is_scored_by_all(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "m", SPENT)
    words = command("-e", "@exact_match", "-e", "@f1", "-e", "@contains", "--max-cost", "0.05")
    paused = cli(*words, "--concurrency", "2", "--json")
    assert (paused.status, paused.json["status"]) == (3, "over_budget")
    scores = Counter(one["output"] for one in records(tmp_path / "r"))
    assert (set(scores.values()), len(scores)) == ({3}, replies(tmp_path)), "each reply, by each of three"
    assert total(tmp_path)["cost"] == pytest.approx(0.01 * len(scores))
    assert f"{3 * len(scores)} of 120 calls are done; to resume:" in paused.stderr
    assert cli("report", "r", "--check").status == 0


def replies(folder: Path) -> int:
    """Count the replies that a run has: no call of its models was for nothing."""
    return len((folder / "r" / "outputs.jsonl").read_text().splitlines()) - 1


def total(folder: Path) -> dict[str, Any]:
    spent: dict[str, Any] = json.loads((folder / "r" / "summary.json").read_text())["spent"]["run"]
    return spent


@pytest.mark.parametrize("text", [LOOP, ENDLESS], ids=["a loop", "endless code that catches all"])
@pytest.mark.parametrize(
    ("cap", "words"),
    [
        (("--max-cost", "0.05"), "over budget: $0.0500 are spent (--max-cost 0.05)"),
        (("--max-tokens-total", "5000"), "over budget: 5,500 tokens are used (--max-tokens-total 5000)"),
    ],
    ids=["money", "tokens"],
)
def test_a_cap_holds_inside_a_sample_and_what_was_broken_off_is_counted(
    cli: Cli, tmp_path: Path, text: str, cap: tuple[str, str], words: str
) -> None:
    command = solved(tmp_path, text, *cap)
    done = cli(*command)
    assert done.status == 3, done.stderr
    assert f"{words}; 0 of 3 calls are done; to resume:" in done.stderr
    assert "5 model calls of examples that were broken off are in the totals" in done.stderr
    assert replies(tmp_path) == 5
    assert (total(tmp_path)["calls"], total(tmp_path)["prompt_tokens"]) == (5, 5000)
    assert cli("report", "r", "--check").status == 0
    again = cli(*command)
    assert again.status == 3
    assert total(tmp_path)["calls"] == 10, "replies are kept and none is counted twice"
    assert replies(tmp_path) == 10


@pytest.mark.parametrize("text", [LOOP, ENDLESS], ids=["a loop", "endless code that catches all"])
def test_turns_of_one_sample_are_bounded_by_an_option_that_the_failure_names(
    cli: Cli, tmp_path: Path, text: str
) -> None:
    command = solved(tmp_path, text, "--max-turns", "4", "--limit", "1")
    planned = cli(*command, "--dry-run")
    assert "up to 4: each is made once" in planned.stdout
    done = cli(*command)
    assert done.status == 4
    assert "solver: it wants to call models more than 4 times for one sample" in done.stderr
    assert "allow more with --max-turns" in done.stderr
    assert (total(tmp_path)["calls"], replies(tmp_path)) == (4, 4)
    assert "max-turns" in cli("run", "-e", "@f1", "--candidate", "sums.jsonl", "--max-turns", "3").stderr


def test_endless_code_ends_after_two_hundred_turns_where_nobody_says_a_number(
    cli: Cli, tmp_path: Path
) -> None:
    command = solved(tmp_path, ENDLESS, "--limit", "1")
    assert "up to 200: each is made once" in cli(*command, "--dry-run").stdout
    done = cli(*command)
    assert "more than 200 times for one sample" in done.stderr
    assert (done.status, total(tmp_path)["calls"]) == (4, 200)


class Talkative:
    """Models that reply to everything."""

    def call(self, _key: str | None, _prompt: Prompt, _deadline: float) -> Replied:
        return Replied(output=Output(text="x"), key="00")


def test_no_further_call_of_a_sample_begins_after_its_timeout() -> None:
    """The deadline is over from the start, so that nothing depends on how fast this machine is."""
    calls = Calls(Talkative(), time.monotonic())
    assert calls.reply_to(None, [{"role": "user", "content": "1"}], {}).text == "x", "one is always made"
    with pytest.raises(GivenUp):
        calls.reply_to(None, [{"role": "user", "content": "2"}], {})
    assert calls.limit is not None
    assert calls.limit.kind is FailureKind.TIMEOUT
    assert "no time is left for another call of a model after 1 (--timeout)" in calls.limit.message


UNTOLD = [{"body": json.dumps({"choices": [{"message": {"content": '{"score": 1, "reasoning": "r"}'}}]})}]


@pytest.mark.parametrize(
    "cap",
    [("--max-tokens-total", "100000"), ("--max-cost", "10", "--prices", "p.toml")],
    ids=["tokens", "money"],
)
def test_a_server_that_tells_no_tokens_pauses_a_capped_run_at_once(
    cli: Cli, fake_model: StartModel, tmp_path: Path, cap: tuple[str, ...]
) -> None:
    server = fake_model(UNTOLD)
    command = (*made(tmp_path, 5), "--api-base", server.base, *cap)
    done = cli(*command, env=KEY)
    assert done.status == 3
    assert (
        "the cap cannot be kept: openai/m tells no tokens; 1 call made; 1 of 5 calls are done" in done.stderr
    )
    assert len(server.requests()) == 1
    assert done.stderr.rstrip().endswith("--estimate-tokens"), "the line that goes on"
    again = cli(*command, "--estimate-tokens", env=KEY)
    assert again.status == 0, again.stderr
    assert "(1 call told none) (an estimate for 4 calls: characters ÷ 4)" in " ".join(again.stdout.split())
    assert total(tmp_path)["estimated"] == 4
    assert cli("report", "r", "--check").status == 0


def test_usage_that_a_program_tells_counts_for_caps_and_in_the_totals(cli: Cli, tmp_path: Path) -> None:
    command = solved(tmp_path, SOLVED, "--max-cost", "0.015")
    done = cli(*command)
    assert done.status == 3
    assert "over budget: $0.0200 are spent (--max-cost 0.015); 2 of 3 calls are done" in done.stderr
    assert " m: 2 calls, 2,000 + 200 tokens, $0.02" in done.stdout + cli("report", "r").stdout


def test_a_program_that_tells_nothing_cannot_be_capped_unless_its_price_is_known(
    cli: Cli, tmp_path: Path
) -> None:
    command = solved(tmp_path, SOLVED, "--max-cost", "1", reply="'x'")
    done = cli(*command)
    assert done.status == 3
    assert "the cap cannot be kept: m tells no tokens; 1 call made" in done.stderr
    (tmp_path / "free.toml").write_text("[prices]\nm = {input = 0, output = 0}\n")
    assert cli(*command, "--prices", "free.toml").status == 0


def test_a_judge_that_is_called_twice_asks_before_its_second_call(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([{"text": "7 of 10", "usage": USAGE}, VERDICT])
    done = cli(*made(tmp_path, 3), "--api-base", server.base, "--max-tokens-total", "1000", env=KEY)
    assert (done.status, len(server.requests())) == (3, 1)
    assert total(tmp_path)["calls"] == 1
