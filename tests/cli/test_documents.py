"""What the documents print, word for word, through the front door."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.benches import board_in, model, timeless
from tests.cli.defined import SAMPLES, SOLVED, samples, task
from tests.cli.prompted import COUNTED, RIGHT, calls
from tests.fake_model import served_model
from tests.front_door import Cli
from tests.run.projects import records
from tests.tasks.yaml.examples import SCORER, UNIQUENESS
from tests.tools import write_program

FENCE = "```"
RUN_SOLVER = """\
    type: python
    run_solver_snippet: |
      async def run_solver(sample, model, trace) -> SolverTrace:
          trace.append_user_message(sample["question"])
          trace.add_model_response(await model.predict(trace.items))
          return trace
"""
COMPUTE_SCORES = """\
    - key: documented
      type: python
      compute_scores_snippet: |
        def compute_scores(sample: dict[str, Any], solver_output: SolverOutput) -> dict[str, Any]:
            return {
                "scores": {"accuracy": 0.95, "is_correct": True},
                "metadata": {"model": "gpt-4", "tokens": 123},
            }
"""
ABOUT_ROWS = """\
key: rows
display_name: Rows
description: Which rows are right?
definition:
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - key: s
      type: python
      compute_scores_snippet: |
        def compute_scores(sample: dict[str, Any]) -> dict[str, Any]:
            return dict(sample)
      metrics:
"""
ALL_ELEVEN = """\
        - {type: python, compute_metrics_snippet: "def compute_metrics(scores): return {'rows': len(scores)}"}
        - key: two
          type: binary_classification
          field_gt: g
          field_pred: p
          positive_answer: a
          negative_answer: b
        - {key: many, type: multiclass_classification, field_gt: g, field_pred: p}
        - {type: mean, field: tp}
        - {type: max, field: tp}
        - {type: min, field: tp}
        - {type: std_dev, field: tp}
        - {type: frequency, field: p}
        - {type: recall, num_true_positives_field: tp, num_false_negatives_field: fn}
        - {type: precision, num_true_positives_field: tp, num_false_positives_field: fp}
        - type: f1_score
          num_true_positives_field: tp
          num_false_negatives_field: fn
          num_false_positives_field: fp
"""
ROWS = [
    {"g": "a", "p": "a", "tp": 1, "fn": 0, "fp": 0},
    {"g": "a", "p": "b", "tp": 1, "fn": 2, "fp": 0},
    {"g": "b", "p": "b", "tp": 0, "fn": 0, "fp": 2},
]


def _write(path: Path, *rows: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _side_info(folder: Path) -> list[dict[str, Any]]:
    return [dict(one["side_info"]) for one in records(folder)]


def test_the_documented_signatures_run_and_the_last_output_is_the_input_prompt(
    cli: Cli, tmp_path: Path
) -> None:
    same = 'value: "{{ input_prompt }}", ground_truth: "{{ model_output }}"'
    seen = f"    - {{key: seen, type: string_equals, {same}}}\n"
    solver = SOLVED[: SOLVED.index("    type: single")] + RUN_SOLVER + "  scorers:\n"
    task(tmp_path, solver + COMPUTE_SCORES + seen)
    samples(tmp_path, 1)
    done = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r", "--json")
    assert done.status == 0, done.stderr
    documented, last = _side_info(tmp_path / "r")
    assert documented["scores"] == {"accuracy": 0.95, "is_correct": True}
    assert documented["metadata"] == {"model": "gpt-4", "tokens": 123}
    assert last["scores"] == {"is_correct": True}, "The message contents of the last model output"


def test_values_stand_in_texts_as_jinja_writes_them(cli: Cli, tmp_path: Path) -> None:
    written = {"b": (True, "True"), "c": (None, "None"), "d": (["a"], "['a']")}
    task(tmp_path, SOLVED.replace("{{ sample.question }}", "{{ sample.b }} {{ sample.c }} {{ sample.d }}"))
    with (tmp_path / "sums.yaml").open("a") as text:
        text.write("    - {key: same, type: string_equals, ground_truth: \"True None ['a']\"}\n")
    _write(tmp_path / "sums.jsonl", {name: value for name, (value, _) in written.items()})
    model(tmp_path / "m", "asked['prompt']")
    done = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r", "--json")
    assert (done.status, done.json["overall_score"]) == (0, 1.0), done.stderr


def test_a_judge_with_structured_outputs_may_have_a_whole_number_for_its_most(
    cli: Cli, tmp_path: Path
) -> None:
    judge = (
        "    - {key: j, type: model_as_a_judge_scorer, model_key: judge, user_prompt: x, score_min: 1,"
        " score_max: 5, use_structured_outputs: true}\n"
    )
    task(tmp_path, SOLVED + judge)
    samples(tmp_path, 1)
    rules = [{"text": '{"reasoning": "", "score": 4, "confidence": 1}'}]
    with served_model(rules, tmp_path) as server:
        given = ("--model-key", f"judge=openai/j@{server.base}", "--out", "r", "--json")
        done = cli("bench", "sums.yaml", "--model", "m=cmd:./m", *given)
        (sent,) = server.bodies()
    assert (done.status, done.json["overall_score"]) == (0, 0.75), done.stderr
    asked = sent["response_format"]["json_schema"]["schema"]["properties"]["score"]
    assert asked == {"type": "number", "minimum": 1, "maximum": 5}


def test_one_scorer_has_all_eleven_metrics_whose_equal_results_are_called_by_their_keys(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "rows.yaml").write_text(ABOUT_ROWS + ALL_ELEVEN)
    _write(tmp_path / "rows.jsonl", *ROWS)
    gates = ("--fail-under", "rows.s.many.accuracy=0.7", "--fail-under", "rows.s.precision.precision=0.4")
    done = cli("bench", "rows.yaml", "--out", "r", "--json", *gates)
    assert done.status == 1, done.stderr
    assert "rows.s.many.accuracy on the task, rows: 0.667 (3 rows) is below 0.7" in done.stderr
    (table,) = done.json["summary"]["metrics"]
    values = {name: value for one in table["metrics"] for name, value in one["values"].items()}
    assert values == pytest.approx(
        {
            "rows": 3,
            "two.accuracy": 2 / 3,
            "two.precision": 1,
            "two.recall": 1 / 2,
            "two.f1_score": 2 / 3,
            "many.accuracy": 2 / 3,
            "a_precision": 1,
            "a_recall": 1 / 2,
            "b_precision": 1 / 2,
            "b_recall": 1,
            "tp_mean": 2 / 3,
            "tp_max": 1,
            "tp_min": 0,
            "tp_std_dev": (2 / 9) ** 0.5,
            "p_a": 1 / 3,
            "p_b": 2 / 3,
            "recall.recall": 2 / 4,
            "precision.precision": 2 / 4,
            "f1_score.f1_score": 4 / 8,
        }
    )


def test_more_than_scores_and_metadata_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(
        ABOUT_ROWS.replace("return dict(sample)", 'return {"scores": {"a": 1}, "metadata": {}, "cost": 3}')
        + "        - {type: mean, field: a}\n"
    )
    _write(tmp_path / "rows.jsonl", *ROWS)
    done = cli("bench", "rows.yaml", "--out", "r", "--retries", "0")
    assert done.status == 4
    assert "compute_scores returned 'cost' beside scores and metadata" in " ".join(done.stderr.split())


@pytest.mark.parametrize("opening", ["c++", "python title=a.py", "python\r", " py "])
def test_a_block_of_code_is_taken_whatever_stands_behind_its_fence(
    cli: Cli, tmp_path: Path, opening: str
) -> None:
    record = {"task_id": "c", "category": "code_exec", "prompt": "x", "targets": ["f(2) == 4"]}
    _write(tmp_path / "t.jsonl", {**record, "metric_name": "code_exec", "post_process": "extract_code_block"})
    code = f"So:\n{FENCE}{opening}\ndef f(x): return 2 * x\n{FENCE}\nDone."
    model(tmp_path / "m", repr(code))
    done = cli("bench", "t.jsonl", "--model", "m=cmd:./m", "--out", "r", "--json")
    assert (done.status, done.json["overall_score"]) == (0, 1.0), done.stderr


def test_a_prompt_with_blocks_and_no_field_in_braces_is_a_template(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("{% if is_hard %}Think.{% else %}Be quick.{% endif %}")
    _write(
        tmp_path / "d.jsonl", {"is_hard": True, "target": "Think."}, {"is_hard": False, "target": "Be quick."}
    )
    model(tmp_path / "m", "asked['prompt']")
    named = ("--prompt", "p.md", "--model", "m=cmd:./m", "-e", "@string_equals", "--dataset", "d.jsonl")
    done = cli("run", *named, "--out", "r", "--json")
    assert done.status == 0, done.stderr
    assert done.json["summary"]["rows"][0]["splits"]["train"]["mean"] == 1.0


def test_a_folder_is_validated_with_files_that_begin_with_a_note_or_a_broken_line(
    cli: Cli, tmp_path: Path
) -> None:
    record = json.dumps({"id": "a", "prompt": "x", "targets": ["x"], "metric": "exact_match"})
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "noted.jsonl").write_text(
        f"# Comment lines starting with # are skipped\n\n{record}\n"
    )
    (tmp_path / "tasks" / "broken.jsonl").write_text(f'{{"id": "a", \n{record}\n')
    (tmp_path / "tasks" / "rows.jsonl").write_text('{"question": "x"}\n')
    done = cli("validate", "tasks")
    assert done.status == 2
    assert "tasks/noted.jsonl: ok, 1 example" in done.stdout
    assert "tasks/broken.jsonl: 1 of 2 examples cannot be used" in done.stdout
    assert "rows.jsonl" not in done.stdout


@pytest.mark.parametrize("form", ["yaml", "jsonl", "program"])
def test_bleu_without_its_library_is_told_before_any_call(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    task(tmp_path, SOLVED + '    - {key: b, type: bleu, ground_truth: "{{ sample.target }}"}\n')
    _write(tmp_path / "t.jsonl", {"id": "a", "prompt": "x", "targets": ["x"], "metric": "bleu"})
    (tmp_path / "c.txt").write_text("x")
    commands = {
        "yaml": ("bench", "sums.yaml", "--model", "m=cmd:./m"),
        "jsonl": ("bench", "t.jsonl", "--model", "m=cmd:./m"),
        "program": ("run", "-e", "@bleu", "--candidate", "c.txt", "--dataset", "sums.jsonl"),
    }
    done = cli(*commands[form], "--out", "r", env=COUNTED)
    assert (done.status, calls(tmp_path)) == (2, 0)
    assert "needs sacrebleu, which is not installed" in done.stderr
    assert f"try: {sys.executable} -m pip install sacrebleu" in " ".join(done.stderr.split())


def test_optimize_with_too_long_a_dataset_gives_advice_that_it_has(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text('{"input": "x"}\n' * 10_001)
    (tmp_path / "c.txt").write_text("x")
    done = cli("optimize", "c.txt", "-e", "@exact", "--dataset", "long.jsonl", "--proposer", "cat")
    assert done.status == 2
    assert "long.jsonl:10001:1: more than 10,000 records" in done.stderr
    assert "another command a file of fewer (head -n 10000)" in done.stderr


def test_an_evaluator_of_ones_own_is_a_metric_that_ranks(cli: Cli, tmp_path: Path) -> None:
    own = {"id": "a", "prompt": "compute: 1 + 2", "targets": ["x"], "metric": "evaluator:brief"}
    _write(tmp_path / "own.jsonl", own)
    _write(tmp_path / "sums.jsonl", {**own, "targets": ["3"], "metric": "exact_match"})
    program = tmp_path / "brief.sh"
    write_program(program, ["#!/bin/sh", "cat >&2", 'echo \'{"score": 0.5, "why": "brief"}\''])
    bench = ("bench", "own.jsonl", "sums.jsonl", "--model", "toy")
    assert cli("validate", "own.jsonl").status == 0
    named = cli(*bench, "-e", "brief=./brief.sh", "--out", "r", "--json")
    assert (named.status, named.json["overall_score"]) == (0, 0.75), named.stderr
    metric = named.json["models"][0]["tasks"][0]["metric_id"]
    assert re.fullmatch(r"evaluator:brief@[0-9a-f]{8}", metric)
    shown = cli(*bench, "-e", "brief=./brief.sh", "--out", "r", "--show", "own:a").stdout
    assert f"scored by {metric}" in shown
    assert "why       │ brief" in shown
    unnamed = cli(*bench, "--out", "s")
    assert (unnamed.status, "try: name it: -e brief=./brief" in unnamed.stderr) == (2, True)
    program.write_text(program.read_text().replace("0.5", "0.75"))
    assert cli(*bench, "-e", "brief=./brief.sh", "--out", "s").status == 0
    differ = cli("diff", "r", "s")
    assert (differ.status, "task own has another metric" in differ.stderr) == (2, True)


def _project(folder: Path, include: str) -> None:
    """Lay out a project as the document's vendor does: tasks, snippets and datasets beside each other."""
    for name in ("tasks", "snippets", "datasets"):
        (folder / "project" / name).mkdir(parents=True)
    text = UNIQUENESS.replace('"uniqueness_scorer.py"', include)
    text = text.replace("  scorers:", "  dataset: {key: rows}\n  scorers:", 1)
    (folder / "project" / "tasks" / "u.yaml").write_text(text)
    (folder / "project" / "snippets" / "uniqueness_scorer.py").write_text(SCORER)
    (folder / "outside.py").write_text(SCORER)
    _write(folder / "project" / "datasets" / "rows.jsonl", {"f": "a"}, {"f": "b"}, {"f": "a"}, {"g": "c"})


def test_a_task_of_a_named_folder_includes_what_is_beside_its_own_folder(cli: Cli, tmp_path: Path) -> None:
    _project(tmp_path, "../snippets/uniqueness_scorer.py")
    assert "project/tasks/u.yaml: ok, 1 task" in cli("validate", "project").stdout
    done = cli("bench", "project", "--config", "field=f", "--out", "r", "--json")
    assert done.status == 0, done.stderr
    (row,) = done.json["summary"]["rows"]
    assert row["splits"]["uniqueness-task"]["mean"] == 0.5
    alone = cli("validate", "project/tasks/u.yaml")
    assert (alone.status, "is outside of the task's folder, tasks" in alone.stdout) == (2, True)


def test_a_task_of_a_named_folder_includes_nothing_outside_of_it(cli: Cli, tmp_path: Path) -> None:
    _project(tmp_path, "../../outside.py")
    done = cli("validate", "project")
    assert (done.status, "is outside of the task's folder, project" in done.stdout) == (2, True)
    (tmp_path / "project" / "tasks" / "link.py").symlink_to(tmp_path / "outside.py")
    linked = (tmp_path / "project" / "tasks" / "u.yaml").read_text().replace("../../outside.py", "link.py")
    (tmp_path / "project" / "tasks" / "u.yaml").write_text(linked)
    assert "it is a link to there" in cli("validate", "project").stdout


def test_the_description_of_a_task_is_shown_with_its_rows_and_on_the_page(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(ABOUT_ROWS + "        - {type: mean, field: tp}\n")
    _write(tmp_path / "rows.jsonl", *ROWS)
    bench = ("bench", "rows.yaml", "--out", "r")
    done = cli(*bench, "--json")
    assert done.json["summary"]["metrics"][0]["description"] == "Which rows are right?"
    assert "task      │ Rows: Which rows are right?" in cli(*bench, "--show", "1").stdout
    assert cli("report", "r", "--format", "html").status == 0
    assert "Which rows are right?" in (tmp_path / "r" / "report.html").read_text()


ALIKE = ("caf\u00e9", "cafe\u0301", "caf\u200b\u00e9", "caf\u00e9\u00a0")


def test_names_that_look_alike_are_told_apart_in_every_output(cli: Cli, tmp_path: Path) -> None:
    named = [f"{name}.txt" for name in ALIKE]
    for place, name in enumerate(named):
        (tmp_path / name).write_text(f"text {place}")
    given = [word for name in named for word in ("--candidate", name)]
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "cat >&2", "echo '{\"score\": 1}'"])
    assert cli("run", "-e", "./e.sh", *given, "--out", "r", "--quiet").status == 0
    seen = ["caf\u00e9", "cafe\u0301-2", "caf\u200b\u00e9-3", "caf\u00e9-4"]
    summary = json.loads((tmp_path / "r" / "summary.json").read_bytes())
    assert sorted({row["candidate"] for row in summary["rows"]}) == sorted(seen)
    for form in ("terminal", "md", "csv", "junit", "html"):
        told = cli("report", "r", "--format", form).stdout
        told = (tmp_path / "r" / "report.html").read_text() if form == "html" else told
        assert all(f"-{number}" in told for number in (2, 3, 4)), form
    for name in ("r\u200b", "re\u0301", "r\u00e9"):
        shutil.copytree(tmp_path / "r", tmp_path / name)
    listed = cli("runs", ".").stdout
    assert all(words in listed for words in ("r\\u200b", "re\\u0301")), listed


def test_tasks_in_yaml_and_in_jsonl_are_one_bench(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    model(tmp_path / "m", f"{RIGHT} if ' plus ' in asked['prompt'] else 'x'")
    spec = {"category": "arithmetic", "prompt": "1", "targets": ["x"], "metric_name": "exact_match"}
    _write(tmp_path / "spec.jsonl", {"task_id": "one", "post_process": "none", **spec})
    _write(tmp_path / "more.jsonl", {"id": "a", "prompt": "2", "targets": ["y"], "metric": "exact"})
    bench = ("bench", "sums.yaml", "more.jsonl", "spec.jsonl", "--model", "m=cmd:./m", "--out", "r")
    done = cli(*bench, "--json", env=COUNTED)
    assert (done.status, calls(tmp_path)) == (0, SAMPLES + 2), done.stderr
    assert [(one["task"], one["score"]) for one in done.json["tasks"]] == [
        ("sums", 1),
        ("more", 0),
        ("one", 1),
    ]
    assert done.json["overall_score"] == pytest.approx(2 / 3)
    assert "nothing is left to call" in cli(*bench, env=COUNTED).stderr
    assert calls(tmp_path) == SAMPLES + 2
    assert "user      │ 1 plus 2" in cli(*bench, "--show", "s1").stdout
    assert "scored by exact," in cli(*bench, "--show", "more:a").stdout
    assert "0 differ" in cli("report", "r", "--check").stdout
    before = board_in(tmp_path / "r")
    assert cli("rescore", "r", "--metrics", "sums.yaml", "--quiet").status == 0
    assert timeless(board_in(tmp_path / "r")) == timeless(before)
    gate = ("--fail-under", "m@more=0.5", "--fail-under", "sums.right=1")
    missed = cli(*bench, *gate)
    assert (missed.status, missed.stderr.count("gate missed")) == (1, 1)
    (tmp_path / "other").mkdir()
    (tmp_path / "more.jsonl").rename(tmp_path / "other" / "sums.jsonl")
    alike = cli("bench", "sums.yaml", "other/sums.jsonl", "--model", "m=cmd:./m")
    assert (alike.status, "are both called sums" in alike.stderr) == (2, True)


def test_an_expression_that_is_a_path_without_braces_is_noted(cli: Cli, tmp_path: Path) -> None:
    rule = "{key: a, action: exclude_from_metrics, filter: {op: equals, expression: sample.g, value: a}}"
    (tmp_path / "rows.yaml").write_text(f"{ABOUT_ROWS}        []\n  actions:\n    - {rule}\n")
    done = cli("validate", "rows.yaml")
    assert done.status == 0
    assert "this is the text 'sample.g', not what it names: {{ sample.g }}" in done.stdout
