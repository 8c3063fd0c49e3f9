"""Tasks in YAML as evaluators of a run: who is called, how often, and what is recorded."""

import re
from pathlib import Path

import pytest

from optimize_eval import sweep
from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import model
from tests.cli.defined import SAME, SAMPLES, SNIPPET, SOLVED, TASK, WITH_BLEU, command, task
from tests.cli.prompted import COUNTED, calls
from tests.fake_model import Rule, served_model
from tests.front_door import Cli
from tests.run.projects import records

CANDIDATE = TASK.replace('"{{ sample.question }}"', '"{{ candidate }} {{ sample.question }}"')


def test_all_scorers_share_one_reply_and_what_is_added_or_changed_calls_only_what_is_new(
    cli: Cli, tmp_path: Path
) -> None:
    task(tmp_path, WITH_BLEU)
    first = cli(*command("--out", "r", "--json"), env=COUNTED)
    assert first.status == 0, first.stderr
    assert calls(tmp_path) == SAMPLES
    assert {one["evaluator"]: one["side_info"]["scores"] for one in records(tmp_path / "r")} == {
        "sums.right": {"is_correct": True},
        "sums.wording": {"bleu_score": 1.0},
    }
    assert first.json["summary"]["rows"][0]["evaluator"] == "sums.right"
    task(tmp_path, WITH_BLEU + SNIPPET)
    assert cli(*command("--out", "r"), env=COUNTED).status == 0
    assert calls(tmp_path) == SAMPLES, "another scorer reads the replies"
    task(
        tmp_path,
        WITH_BLEU.replace("type: bleu,", "type: bleu, value: '{{ model_output | trim }}',") + SNIPPET,
    )
    changed = cli(*command("--out", "r"), env=COUNTED)
    assert (changed.status, calls(tmp_path)) == (2, SAMPLES), changed.stderr
    again = cli(*command("--out", "r", "--replace", "sums.wording"), env=COUNTED)
    assert (again.status, calls(tmp_path)) == (0, SAMPLES), again.stderr
    assert len(records(tmp_path / "r")) == 4 * SAMPLES, "of the scorer that changed, twice"
    model(tmp_path / "w", "'I do not know'")
    assert cli(*command("--model", "w=cmd:./w", "--out", "r"), env=COUNTED).status == 0
    assert calls(tmp_path) == 2 * SAMPLES, "another model calls for its own"
    assert rederive(tmp_path / "r") == 0


def test_a_block_of_text_equals_a_reply_of_one_line(cli: Cli, tmp_path: Path) -> None:
    block = "\n      ground_truth: |\n        {{ sample.target }}\n"
    task(
        tmp_path,
        TASK.replace(
            '{key: right, type: string_equals, ground_truth: "{{ sample.target }}"}',
            f"key: right\n      type: string_equals{block}",
        ),
    )
    told = cli(*command("--json"))
    means = {row["evaluator"]: row["splits"]["train"]["mean"] for row in told.json["summary"]["rows"]}
    assert means["sums.right"] == 1.0


def test_a_task_compares_candidates_where_it_names_them(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path, CANDIDATE)
    model(tmp_path / "m", "'5' if 'Add' in asked['prompt'] else 'no'")
    (tmp_path / "a.txt").write_text("Guess:")
    (tmp_path / "b.txt").write_text("Add:")
    told = cli(*command("--candidate", "a.txt", "--candidate", "b.txt", "--json"))
    rows = [row for row in told.json["summary"]["rows"] if row["evaluator"] == "sums.right"]
    assert [(row["candidate"], row["splits"]["train"]["mean"]) for row in rows] == [("a", 0), ("b", 1 / 6)]


@pytest.mark.parametrize(
    ("text", "further", "words"),
    [
        (CANDIDATE, (), "holds {{ candidate }}, and no candidate is named"),
        (TASK, ("--candidate", "m"), "no text of the task sums holds {{ candidate }}"),
        (TASK, ("--prompt", "m"), "says itself what models are sent"),
        (TASK.replace("ground_truth", "truth"), (), "definition.scorers[0].ground_truth"),
        (TASK, ("--config", "a=b"), "a"),
        (TASK, ("--model-key", "judge"), "--model-key 'judge' has no key and value"),
    ],
    ids=["no candidate", "a candidate", "a prompt", "a bad task", "a parameter", "a key"],
)
def test_what_does_not_fit_a_task_is_refused_before_any_call(
    cli: Cli, tmp_path: Path, text: str, further: tuple[str, ...], words: str
) -> None:
    task(tmp_path, text)
    told = cli(*command(*further, "--out", "r"), env=COUNTED)
    assert told.status == 2
    assert words in " ".join(told.stderr.split())
    assert not (tmp_path / "r").exists()
    assert calls(tmp_path) == 0


def test_without_a_model_a_task_says_how_to_name_one(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    told = cli("run", "-e", "task:sums.yaml", "--dataset", "sums.jsonl")
    assert (told.status, "name one with --model" in " ".join(told.stderr.split())) == (2, True)


def test_a_scorer_that_fails_leaves_the_others_numbers(cli: Cli, tmp_path: Path) -> None:
    failing = SNIPPET.replace('{"letters": len(solver_output.output)}', "1 / 0")
    task(tmp_path, TASK + failing)
    told = cli(*command("--out", "r", "--json"))
    means = {row["evaluator"]: row["splits"]["train"]["mean"] for row in told.json["summary"]["rows"]}
    assert means == {"sums.right": 1.0, "sums.wording": 1.0, "sums.long": None}
    failed = [one for one in records(tmp_path / "r") if one["outcome"] == "failed"]
    assert {(one["stage"], "division by zero" in one["message"]) for one in failed} == {("scorer", True)}
    assert told.status == 4, "more than half of one scorer's calls failed"


def test_a_run_that_is_stopped_ends_code_that_goes_on(cli: Cli, tmp_path: Path) -> None:
    endless = SNIPPET.replace("return", "import time; time.sleep(99); return")
    task(tmp_path, TASK + endless)
    told = cli(*command("--out", "r", "--max-time", "1"))
    assert (told.status, "out of time" in told.stderr) == (4, True), told.stderr
    assert "to resume:" in told.stderr


def test_a_judge_is_called_by_its_key_and_labels_have_no_mean(cli: Cli, tmp_path: Path) -> None:
    judged = (
        SAME
        + """\
    - key: tone
      type: labeler_via_model
      model_key: judge
      user_prompt: "tone? {{ model_output }}"
"""
    )
    rules: list[Rule] = [
        {"when": {"user": "tone"}, "text": "dry"},
        {"when": {"user": "same. 1 "}, "text": "Incorrect"},
        {"text": "correct"},
    ]
    task(tmp_path, TASK + judged)
    with served_model(rules, tmp_path) as server:
        told = cli(*command("--model-key", f"judge=openai/j@{server.base}", "--out", "r", "--json"))
    assert told.status == 0, told.stderr
    rows = {row["evaluator"]: row["splits"]["train"] for row in told.json["summary"]["rows"]}
    assert (rows["sums.same"]["scored"], rows["sums.same"]["mean"]) == (SAMPLES, 5 / 6)
    assert (rows["sums.tone"]["scored"], rows["sums.tone"]["mean"]) == (SAMPLES, None)
    labels = [one for one in records(tmp_path / "r") if one["evaluator"] == "sums.tone"]
    assert {(one["score"], one["unranked"], one["side_info"]["scores"]["label"]) for one in labels} == {
        (None, True, "dry")
    }
    assert rederive(tmp_path / "r") == 0
    for format_ in ("md", "csv", "jsonl", "junit", "json", "html"):
        assert cli("report", "r", "--format", format_).status == 0, format_
    named = TASK + judged.replace("key: tone\n", "key: tone\n      display_name: How it sounds\n")
    (tmp_path / "sums.yaml").write_text(named)
    again = cli("rescore", "r", "--metrics", "sums.yaml")
    assert (again.status, "How it sounds" in again.stdout) == (0, True), (
        "no judge is named, and none is called"
    )


def test_a_judge_is_another_model_than_one_under_test_of_the_same_name(cli: Cli, tmp_path: Path) -> None:
    judged = """\
    - key: same
      type: model_as_a_judge_classifier
      model_key: m
      user_prompt: "{{ model_output }}"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
"""
    task(tmp_path, TASK + judged)
    model(tmp_path / "judge", "'correct'")
    told = cli(*command("--model-key", "m=cmd:./judge", "--out", "r", "--json"))
    assert told.status == 0, told.stderr
    means = {row["evaluator"]: row["splits"]["train"]["mean"] for row in told.json["summary"]["rows"]}
    assert means["sums.same"] == 1


def test_a_scorer_that_gives_labels_alone_is_said_to_have_no_numbers(cli: Cli, tmp_path: Path) -> None:
    labels = SNIPPET.replace('{"letters": len(solver_output.output)}', '{"label": solver_output.output}')
    head, _, _ = TASK.partition("    - {key: right")
    task(tmp_path, head + labels)
    told = cli(*command("--out", "r"))
    assert "sums.long has no mean: none of its answers is a number" in told.stdout
    assert rederive(tmp_path / "r") == 0


def test_a_row_shows_the_conversation_and_why_each_score_is_what_it_is(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    model(tmp_path / "m", "'It is 3'")
    assert cli(*command("--out", "r"), env=COUNTED).status == 0
    told = cli(*command("--out", "r", "--show", "s1"), env=COUNTED)
    assert told.stdout.splitlines()[:-1] == [
        "s1  train:2",
        "  task      │ Sums: Sums of two numbers.",
        "",
        "m",
        "  user      │ 1 plus 2",
        "  assistant │ It is 3",
        "  sums.right: 0 (is_correct: false · answer_gt: 3 · answer_pred: It is 3)",
    ]
    assert calls(tmp_path) == SAMPLES
    shown = cli(*command("--out", "r", "--show", "s1", "--json")).json["examples"][0]["replies"][0]
    assert shown["messages"][1] == {"type": "message", "role": "assistant", "content": "It is 3"}
    assert shown["scores"]["sums.right"]["score"] == 0


def test_a_row_without_a_conversation_is_shown_with_why_there_is_none(cli: Cli, tmp_path: Path) -> None:
    made = "{type: generic, template: 'no JSON: {{ sample.question }}'}"
    task(
        tmp_path, re.sub(r"input_builder:.*?(?=  scorers)", f"input_builder: {made}\n", TASK, flags=re.DOTALL)
    )
    assert cli(*command("--out", "r")).status != 0
    told = cli(*command("--out", "r", "--show", "s1"))
    assert told.status == 0, told.stderr
    assert "there is no conversation: solver: the input builder makes no JSON: " in told.stdout
    assert "    try: write values as JSON: {{ sample.question | tojson }}" in told.stdout
    assert told.stdout.count("makes no JSON") == 1
    assert "sums.right: failed, reported" in told.stdout


def test_a_row_of_a_dataset_is_shown_with_its_scores(cli: Cli, tmp_path: Path) -> None:
    scorers = TASK.partition("  scorers:\n")[2].replace("}\n", ", value: '{{ sample.question }}'}\n")
    task(tmp_path, f"{TASK.partition('definition:')[0]}definition:\n  scorers:\n{scorers}")
    benched = ("bench", "sums.yaml", "--data", "dataset=sums.jsonl", "--out", "r")
    assert cli(*benched).status == 0
    told = cli(*benched, "--show", "s1")
    assert told.status == 0, told.stderr
    assert told.stdout.splitlines()[-2].startswith("  sums.right: 0 (is_correct: false")


def test_rescore_takes_replies_that_are_there_and_calls_no_model(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    assert cli(*command("--out", "r"), env=COUNTED).status == 0
    (tmp_path / "m").unlink()
    (tmp_path / "sums.yaml").write_text(TASK + SNIPPET)
    told = cli("rescore", "r", "-e", "task:sums.yaml", "--json")
    assert told.status == 0, told.stderr
    assert {one["evaluator"] for one in records(tmp_path / "r")} == {
        "sums.right",
        "sums.wording",
        "sums.long",
    }


def test_a_program_and_a_sweep_file_run_tasks_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = TASK.replace("{{ sample.question }}", "<< config.ask >> {{ sample.question }}").replace(
        "definition:",
        "config_spec:\n  - {key: ask, type: string, display_name: Ask}\ndefinition:",
    )
    task(tmp_path, asked)
    monkeypatch.chdir(tmp_path)
    given = {"task": "sums.yaml", "config": {"ask": "Add:"}}
    run = sweep(given, models="m=cmd:./m", dataset="sums.jsonl", out="a")
    assert {record.evaluator for record in run.records} == {"sums.right", "sums.wording"}
    told = sweep("task:sums.yaml", models="m=cmd:./m", dataset="sums.jsonl", config={"ask": "Add:"}, out="b")
    assert [record.score for record in told.records] == [record.score for record in run.records]
    (tmp_path / "s.toml").write_text(
        '[run]\ndataset = "sums.jsonl"\nmodels = ["m=cmd:./m"]\n'
        '[[evaluator]]\ntask = "sums.yaml"\nconfig = {ask = "Add:"}\n'
    )
    assert cli("run", "s.toml").status == 0


@pytest.mark.parametrize("last", ["model", "scorer"])
def test_failures_of_a_scorer_are_told_apart_from_those_of_the_model(
    cli: Cli, tmp_path: Path, last: str
) -> None:
    failing = {"model": "s1", "scorer": "s5"}[last]
    code = (
        f"if sample['id'] == '{failing}': raise ValueError('no such sum')\n            return {{'score': 1}}"
    )
    text = SOLVED + SNIPPET.replace('return {"letters": len(solver_output.output)}', code)
    task(tmp_path, text)
    fails = "['3', '4', '5']" if last == "model" else "['1', '2', '3']"
    model(tmp_path / "m", f"str(1 / (asked['prompt'].split()[0] not in {fails}))")
    done = cli(*command("--retries", "0", "--no-preflight", "--out", "r"))
    told = " ".join(done.stderr.split())
    assert done.status == 4, told
    said = (
        "error: sums.long failed on 4 of 6 calls, more than half: 1 of these failures is its own, 3 model m's"
    )
    assert f"{said}; the last of its own, reported: scorer long: compute_scores: ValueError: no such" in told
    (tmp_path / "sums.yaml").write_text(text.replace(f"== '{failing}'", "!= 'none'"))
    model(tmp_path / "m", f"str(1 / (asked['prompt'].split()[0] not in {fails}))")
    every = cli(*command("--retries", "0", "--no-preflight", "--out", "s"))
    told = " ".join(every.stderr.split())
    words = "failed on every call (6): 3 of these failures are its own, 3 model m's; the last of its own, "
    assert (every.status, words in told) == (4, True), told
