"""What a task in YAML promises, end to end: the document's examples, calls after a kill, labels, secrets."""

import json
from collections import Counter
from pathlib import Path

from tests.cli.defined import SAMPLES, TASK, command, task
from tests.cli.prompted import COUNTED, calls
from tests.fake_model import Rule, served_model
from tests.front_door import Cli
from tests.run.projects import records
from tests.tasks.yaml.examples import SCORER, SINGLE, TRIVIA, UNIQUENESS

SECRETS = {"OPENAI_API_KEY": "sk-never-told-1", "MY_TOKEN": "never-told-2"}


def rows(path: Path, *given: dict[str, str]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in given))


def test_the_example_with_an_exact_answer_counts_equal_replies(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "single.yaml").write_text(SINGLE)
    asked = ({"question": f"Capital of {n}?", "target": n} for n in ("France", "Spain", "Italy", "Malta"))
    rows(tmp_path / "qa-single-answers.jsonl", *asked)
    said = {"France": "France", "Spain": "Spain.", "Italy": "Italy", "Malta": "Malta"}
    rules: list[Rule] = [{"when": {"user": asked}, "text": text} for asked, text in said.items()]
    with served_model(rules, tmp_path) as server:
        told = cli("bench", "single.yaml", "--model", f"m=openai/m@{server.base}", "--out", "r", "--json")
        sent = server.bodies()
    assert (told.status, told.json["overall_score"]) == (0, 0.75), told.stderr
    assert [one["role"] for one in sent[0]["messages"]] == ["system", "user"]
    assert sent[0]["messages"][0]["content"].endswith("Answer with no punctuation.")


def test_the_example_of_a_dataset_finds_what_is_unique(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "u.yaml").write_text(UNIQUENESS)
    (tmp_path / "uniqueness_scorer.py").write_text(SCORER)
    rows(tmp_path / "rows.jsonl", {"f": "a"}, {"f": "b"}, {"f": "a"}, {"g": "c"})
    given = ("--data", "dataset=rows.jsonl", "--config", "field=f", "--out", "r", "--json")
    told = cli("bench", "u.yaml", *given)
    assert told.status == 0, told.stderr
    (row,) = told.json["summary"]["rows"]
    assert row["splits"]["uniqueness-task"]["mean"] == 0.5


def test_the_example_with_a_judge_never_counts_incorrect_as_correct(cli: Cli, tmp_path: Path) -> None:
    """Whatever the judge writes around it, "incorrect" holds the letters of "correct"."""
    (tmp_path / "trivia.yaml").write_text(TRIVIA)
    replies = {
        "one": '{"reasoning": "it is correct that", "prediction": "incorrect", "confidence": 1}',
        "two": "Incorrect",
        "three": '```json\n{"prediction": "INCORRECT"}\n```',
        "four": '{"reasoning": "", "prediction": "correct", "confidence": 0.5}',
        "five": "incorrect.",
        "six": "not correct",
    }
    rows(tmp_path / "hp-trivia-dataset.jsonl", *({"question": n, "gt_answer": n} for n in replies))
    rules: list[Rule] = [
        *({"when": {"user": f"Truth Answer: {n}"}, "text": text} for n, text in replies.items()),
        {"when": {"user": "concisely"}, "text": "who knows"},
    ]
    with served_model(rules, tmp_path) as server:
        judge = ("--model-key", f"openai$gpt-4-1-nano=openai/judge@{server.base}")
        under_test = ("--model", f"m=openai/m@{server.base}")
        told = cli("bench", "trivia.yaml", *under_test, *judge, "--out", "r", "--json", "--no-preflight")
    found = {
        one["line"]: one.get("score", one["outcome"])
        for one in sorted(records(tmp_path / "r"), key=lambda one: int(one["line"]))
    }
    assert list(found.values())[:4] == [0, 0, 0, 1], told.stderr
    assert 1 not in list(found.values())[4:], "what cannot be read is a failure, or 0"


def test_a_judge_that_changes_makes_its_own_calls_and_no_others(cli: Cli, tmp_path: Path) -> None:
    def judge(key: str) -> str:
        return (
            f"    - key: {key}\n      type: model_as_a_judge_classifier\n      model_key: judge\n"
            f"      user_prompt: '{key}? {{{{ model_output }}}}'\n"
            "      correct_labels: [correct]\n      incorrect_labels: [incorrect]\n"
        )

    task(tmp_path, TASK + judge("kind") + judge("short"))
    with served_model([{"text": "correct"}], tmp_path) as server:
        run = command("--model-key", f"judge=openai/j@{server.base}", "--out", "r")
        assert cli(*run, env=COUNTED).status == 0
        before = len(server.bodies())
        (tmp_path / "sums.yaml").write_text(
            TASK + judge("kind") + judge("short").replace("short? ", "brief? ")
        )
        again = cli(*run, "--replace", "sums.short", env=COUNTED)
        later = Counter(one["messages"][-1]["content"].partition("?")[0] for one in server.bodies()[before:])
    assert again.status == 0, again.stderr
    assert (before, calls(tmp_path), later) == (12, 6, {"brief": 6})


def test_no_secret_is_seen_by_code_or_written_anywhere(cli: Cli, tmp_path: Path) -> None:
    snippet = """\
    - key: peeks
      type: python
      purpose: qa
      compute_scores_snippet: |
        import os
        def compute_scores(sample, solver_output):
            return {"seen": [name for name, text in os.environ.items() if "never-told" in text], "n": 1}
"""
    task(tmp_path, TASK + snippet)
    with served_model([{"text": "1"}], tmp_path) as server:
        bench = ("bench", "sums.yaml", "--model", f"m=openai/m@{server.base}", "--out", "r")
        told = cli(*bench, "--keep-stderr", env=SECRETS)
        sent = server.requests()
    assert told.status == 0, told.stderr
    assert all(one["authorization"] for one in sent), "the model's server is sent its key"
    seen = [one["side_info"]["scores"] for one in records(tmp_path / "r") if one["evaluator"] == "sums.peeks"]
    assert [one["seen"] for one in seen] == [[]] * SAMPLES
    written = [path for path in (tmp_path / "r").rglob("*") if path.is_file()]
    assert not [path for path in written if b"never-told-" in path.read_bytes()]
    assert "never-told-" not in told.stdout + told.stderr
