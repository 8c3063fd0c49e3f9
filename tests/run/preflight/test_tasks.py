"""Preflight of tasks in YAML: a model replies once, then each scorer is looked at with its replies."""

from pathlib import Path

from tests.cli.benches import model
from tests.cli.defined import SAME, SNIPPET, SOLVED, TASK, task
from tests.cli.prompted import COUNTED, calls
from tests.fake_model import served_model
from tests.front_door import Cli, Result

COMMAND = ("preflight", "-e", "task:sums.yaml", "--model", "m=cmd:./m", "--dataset", "sums.jsonl", "--json")
ROWS = 4


def checks(result: Result) -> dict[str, dict[str, str]]:
    return {
        one["name"]: {check["name"]: check["status"] for check in one["checks"]}
        for one in result.json["evaluators"]
    }


def test_each_scorer_is_looked_at_and_the_model_replies_once_to_each_row(cli: Cli, tmp_path: Path) -> None:
    text = '{"letters": len(solver_output.output)}'
    task(tmp_path, TASK + SNIPPET.replace(text, '{"said": "x"}'))

    told = cli(*COMMAND, env=COUNTED)
    shown = cli(*COMMAND[:-1])

    assert (told.status, calls(tmp_path)) == (0, ROWS), told.stderr
    of_code = {"answers train", "more answers", "same answer twice", "at once", "speed"}
    found = checks(told)
    assert {name: {*of} for name, of in found.items()} == {
        "m": {"replies", "speed"},
        "sums.right": of_code,
        "sums.wording": of_code,
        "sums.long": of_code,
    }
    assert {status for of in found.values() for status in of.values()} == {"pass"}
    assert "it replied to 4 of 4, first: 1" in shown.stdout
    assert "no number; side info: scores" in shown.stdout
    assert "left out, as a scorer is sent no candidate: kept alive" in " ".join(told.stderr.split())
    assert "note: models reply once to a few rows, and a task's scorers are called with these" in told.stderr


def test_scores_that_are_chance_and_scorers_that_fail_are_told_by_their_names(
    cli: Cli, tmp_path: Path
) -> None:
    chance = SNIPPET.replace("len(solver_output.output)", "__import__('random').random()")
    fails = SNIPPET.replace("key: long", "key: wrong").replace("len(solver_output.output)", "1 / 0")
    task(tmp_path, TASK + chance + fails)

    told = cli(*COMMAND)

    found = checks(told)
    assert (told.status, found["sums.right"]["answers train"]) == (1, "pass")
    assert found["sums.long"]["same answer twice"] == "warn"
    assert found["sums.wrong"]["answers train"] == "fail"
    (wrong,) = [one for one in told.json["evaluators"] if one["name"] == "sums.wrong"]
    assert "scorer wrong: " in wrong["checks"][0]["message"]


def test_a_model_that_does_not_reply_is_all_that_is_told(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    model(tmp_path / "m", '{"error": "no"}')

    told = cli(*COMMAND)
    shown = cli(*COMMAND[:-1])

    assert (told.status, checks(told)) == (1, {"m": {"replies": "fail"}})
    assert "model: no" in shown.stdout
    assert "The model failed; nothing was run." in shown.stdout


def test_a_scorer_that_calls_a_model_is_called_few_times(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path, SOLVED + SAME)
    with served_model([{"text": "correct"}], tmp_path) as server:
        told = cli(*COMMAND, "--model-key", f"judge=openai/j@{server.base}")

    assert (told.status, checks(told)["sums.same"]) == (
        0,
        {"answers train": "pass", "same score twice": "pass", "speed": "pass"},
    )


def test_a_task_about_a_dataset_needs_no_model_and_others_refuse_one(cli: Cli, tmp_path: Path) -> None:
    text = TASK[: TASK.index("  solver:")] + TASK[TASK.index("  scorers:") :].split("    - {key: wording")[0]
    task(tmp_path, text.replace("{key: right,", '{key: right, value: "{{ sample.target }}",'))
    command = [*COMMAND[:3], *COMMAND[5:]]

    assert {*checks(cli(*command))} == {"sums.right"}
    for further, words in {
        ("--model", "toy"): "the task sums calls no model",
        ("--config", "a=b"): "a",
    }.items():
        told = cli(*command, *further)
        assert (told.status, words in told.stderr) == (2, True), told.stderr
    told = cli("preflight", "-e", "@exact_match", "--model", "toy", "--dataset", "sums.jsonl")
    assert (told.status, "--model is for prompts, and none is named" in told.stderr) == (2, True)


def test_candidates_are_those_of_the_task(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path, TASK.split("    - {key: wording")[0].replace("{{ sample.q", "{{ candidate }} {{ sample.q"))
    (tmp_path / "a.txt").write_text("Add:")

    without = cli(*COMMAND)
    told = cli(*COMMAND, "--candidate", "a.txt", env=COUNTED)

    assert (without.status, "holds {{ candidate }}, and no candidate is named" in without.stderr) == (2, True)
    assert (told.status, calls(tmp_path)) == (0, ROWS), told.stderr
    assert {line[:4] for line in (tmp_path / "calls").read_text().splitlines()} == {"Add:"}
