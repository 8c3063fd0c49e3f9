"""Preflight of prompts × models: prompts are rendered, keys looked for, and each model is called once."""

import json
from pathlib import Path

from tests.cli.benches import model
from tests.cli.prompted import COUNTED, RIGHT, calls, command, two_prompts
from tests.fake_model import served_model
from tests.front_door import Cli, Result

TWO = ("one=cmd:./m", "two=cmd:./m --again")


def tried(*further: str, models: tuple[str, ...] = TWO) -> list[str]:
    """Give the command of a run as one of preflight."""
    run = command(*further, models=models)
    return ["preflight", *run[1 : run.index("--out")], *further]


def checks(result: Result) -> dict[str, dict[str, str]]:
    return {
        one["name"]: {check["name"]: check["status"] for check in one["checks"]}
        for one in result.json["evaluators"]
    }


def test_each_model_replies_once_and_evaluators_are_looked_at_with_the_replies(
    cli: Cli, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    shown = cli(*tried(), env=COUNTED)
    assert (shown.status, calls(tmp_path)) == (0, 2), shown.stderr
    assert "2 prompts rendered over all of them" in " ".join(shown.stdout.split())
    assert "it replied: 1" in shown.stdout
    assert " plan     80 calls, about " in shown.stdout
    assert " replies  80: each is made once, for all evaluators" in shown.stdout
    planned = cli(*command("--dry-run", models=TWO))
    assert " cost        80 calls; " in planned.stdout
    assert " replies     80: each is made once, for all evaluators" in planned.stdout
    told = checks(cli(*tried("--json")))
    assert told["one"] == told["two"] == {"reply": "pass", "speed": "pass"}
    assert told["exact_match"]["answers train one"] == told["exact_match"]["answers val two"] == "pass"


def test_a_prompt_that_does_not_render_is_told_before_any_call(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    (tmp_path / "prompts" / "plain.md").write_text("{{quest}}")
    told = cli(*tried(), env=COUNTED)
    assert (told.status, told.stdout, calls(tmp_path)) == (2, "", 0)
    assert "quest" in told.stderr


def test_a_missing_key_and_a_model_that_fails_are_told_by_name(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "bad", '{"error": "no room"}')
    three = ("openai/gpt-none", "bad=cmd:./bad", "good=cmd:./m")
    told = cli(*tried("--json", models=three), env={"OPENAI_API_KEY": ""})
    found = {one["name"]: one["checks"] for one in told.json["evaluators"]}
    assert told.status == 1
    assert (found["openai/gpt-none"][0]["name"], found["openai/gpt-none"][0]["status"]) == ("key", "fail")
    assert "OPENAI_API_KEY" in found["openai/gpt-none"][0]["message"]
    assert (found["bad"][0]["name"], found["bad"][0]["status"]) == ("reply", "fail")
    assert "no room" in found["bad"][0]["message"]
    assert {check["status"] for check in found["good"]} == {"pass"}
    assert found["exact_match"][0]["name"] == "answers train"


def test_a_judge_is_shown_what_the_run_would_show_and_the_reply_is_extracted(
    cli: Cli, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "m", "'It is (' + " + RIGHT + " + ')'")
    rules = [{"text": json.dumps({"score": 1, "reasoning": "right"})}]
    with served_model(rules, tmp_path) as server:
        judge = ("-e", f"judge:openai/j@{server.base}", "--objective", "Is it right?")
        told = cli(
            *tried(*judge, "--extract", r"regex:\\((\\d+)\\)", "--json"), env={"OPENAI_API_KEY": "k-123"}
        )
        assert told.status == 0, told.stdout
        body = json.dumps(server.bodies()[0])
    assert "It is" not in body
    assert "plus 1" in body


def test_several_task_models_may_be_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"x": 1}\n')
    (tmp_path / "score.sh").write_text(
        "read -r line; case $line in *'\"b\"'*) exit 3;; esac; echo '{\"score\": 1}'"
    )
    both = ("--task-model", "a", "--task-model", "b", "--json")
    told = cli("preflight", "-e", "sh score.sh", "--dataset", "data.jsonl", *both)
    found = checks(told)["score"]
    assert (told.status, found["answers train a"], found["answers train b"]) == (1, "pass", "fail")
    assert told.json["evaluators"][0]["estimate"]["calls"] == 2
