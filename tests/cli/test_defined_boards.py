"""Boards of tasks in YAML: names that people read, metrics, rules and failures by stage in every format.

One bench is called once; what changes it works on a copy.
"""

import csv
import io
import os
import shutil
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from optimize_eval.findings.wording import MINUS
from tests.cli import defined
from tests.cli.benches import board_in, model
from tests.cli.measured import values_of
from tests.cli.prompted import COUNTED, RIGHT, calls
from tests.front_door import Cli, in_this_process

MODELS = ("--model", "m=cmd:./m", "--model", "w=cmd:./w")
TASK = (
    defined.SOLVED.replace("display_name: Sums\n", "display_name: Sums of two\n")
    + """\
    - {key: right, display_name: The right number, type: string_equals, ground_truth: "{{ sample.target }}"}
    - key: inverse
      type: python
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            return {"part": 1 / (11 - int(sample["target"]))}
      metrics:
        - {type: max, field: part, name: Largest part}
  actions:
    - key: small
      action: exclude_from_metrics
      filter: {op: in, expression: "{{ sample.target }}", values: [1, 3]}
    - key: long
      action: exclude_from_metrics
      filter: {op: greater_than, expression: "{{ sample.target }}", value: 9}
"""
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bench two models, of which one is right; of six sums two are left out, and the last one fails."""
    folder = tmp_path_factory.mktemp("bench")
    defined.task(folder, TASK)
    model(folder / "m", RIGHT)
    model(folder / "w", "'5'")
    done = in_this_process(folder)("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED)
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def there(made: Path) -> Cli:
    """Call commands in the bench's folder, which they leave as it is."""
    return in_this_process(made)


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def rows_of(report: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(report))]


def test_a_board_shows_names_and_beside_them_the_key_that_gates_take(there: Cli, made: Path) -> None:
    told = there("report", "r", "--details").stdout
    assert "Sums of two  The right number  sums.right" in told
    assert "Sums of two: inverse (sums.inverse): metrics on sums" in told
    assert "| Sums of two | The right number | sums.right |" in there("report", "r", "--format", "md").stdout
    (task,) = board_in(made / "r")["tasks"]
    names = ("task", "display_name", "scorer_name", "evaluator", "metric_id")
    assert [task[name] for name in names] == [
        "sums",
        "Sums of two",
        "The right number",
        "sums.right",
        "right",
    ]
    rows = rows_of(there("report", "r", "--format", "csv").stdout)
    assert [(one["name"], one["metric"]) for one in rows if one["scope"] == "task"] == 2 * [("sums", "right")]


def test_a_narrow_board_has_the_key_rather_than_the_metric(there: Cli) -> None:
    told = there("report", "r", env={"COLUMNS": "44"}).stdout
    assert "sums.right" in told
    assert "The right number  " not in told


def test_a_gate_on_what_is_not_there_says_what_is(there: Cli) -> None:
    told = there("report", "r", "--fail-under", "sums.rihgt=0.5")
    assert (told.status, "  try: name one of sums.right, sums." in told.stderr) == (2, True), told.stderr
    told = there("report", "r", "--fail-under", "mus.right=0.5")
    hint = "its models are m, w; its tasks sums; a scorer's gate is TASK.SCORER[.METRIC]=0.8, such as "
    assert (told.status, f"  try: {hint}sums.right=0.8\n" in told.stderr) == (2, True), told.stderr
    told = there("report", "r", "--fail-under", "sums.right.right@m=0.5")
    assert told.status == 1
    said = "its value cannot be known (there is no such metric; there is accuracy), so it may be below 0.5"
    assert f"gate missed: sums.right.right on m, sums: {said}\n" in told.stderr


def test_a_narrow_report_leaves_out_other_columns_than_failures(cli: Cli, tmp_path: Path) -> None:
    defined.task(tmp_path, TASK)
    assert cli(*defined.command("--out", "r")).status == 0
    told = cli("report", "r", "--details", env={"COLUMNS": "40"}).stdout.splitlines()
    assert max(map(len, told)) <= 40, told
    assert [line.split()[-2:] for line in told if line.startswith(" candidate")] == [
        ["CI", "skipped"],
        ["failed", "skipped"],
    ]
    assert " failures   1 × reported" in told
    assert told[-2:] == [" next       see it again", "    optimize-eval report r"]
    planned = cli(*defined.command("--out", "other", "--dry-run"), env={"COLUMNS": "40"}).stdout
    assert max(map(len, planned.splitlines())) <= 40, planned


def test_the_table_of_a_run_has_the_names_too(cli: Cli, tmp_path: Path) -> None:
    defined.task(tmp_path, defined.TASK.replace("key: right", "key: right, display_name: The right number"))
    ran = cli(*defined.command("--out", "r"), "--details")
    assert "Sums: The right number (sums.right with m): train" in ran.stdout, ran.stdout
    assert (
        "**Sums: The right number (sums.right with m): train**" in cli("report", "r", "--format", "md").stdout
    )


def test_rows_that_rules_leave_out_are_none_that_could_be_perfect(there: Cli, made: Path) -> None:
    (m, w) = board_in(made / "r")["models"]
    assert [(one["perfect"], one["total"], one["skipped_examples"]) for one in (m, w)] == [
        (4, 6, 2),
        (1, 6, 2),
    ]
    md = there("report", "r", "--format", "md").stdout
    assert ("| 4/4 | 0 | 2 |" in md, "| 1/4 | 0 | 2 |" in md) == (True, True), md
    assert there("report", "r", "--check").status == 0


def test_metrics_rules_and_failures_by_stage_are_in_every_report_of_a_bench(there: Cli) -> None:
    rows = rows_of(there("report", "r", "--format", "csv").stdout)
    shown = ("scope", "name", "metric", "score", "n", "failed")
    of_m = [tuple(one[name] for name in shown) for one in rows if one["model"] == "m"]
    assert of_m[2:] == [
        ("metric", "sums.right", "accuracy", "1.0", "4", "0"),
        ("excluded", "sums.right", "small", "", "2", ""),
        ("failed", "sums.right", "action long", "", "", "6"),
        ("metric", "sums.inverse", "Largest part", "0.5", "3", "1"),
        ("excluded", "sums.inverse", "small", "", "2", ""),
        ("failed", "sums.inverse", "action long", "", "", "6"),
        ("failed", "sums.inverse", "scorer", "", "", "1"),
    ]
    for told in (there("report", "r", "--details").stdout, there("report", "r", "--format", "md").stdout):
        words = " ".join(told.split())
        assert words.count("4 of 6 rows count: 2 excluded (small 2)") == 1, "it is the same of both models"
        assert words.count("3 of 6 rows count: 2 excluded (small 2), 1 failed") == 1
        assert words.count("the rule long cannot be applied to 6 rows, which stay in") == 1
        assert "scorer inverse: compute_scores: ZeroDivisionError" in words
    md = there("report", "r", "--format", "md").stdout
    assert "| calls | kind | stage | evaluator | first | what it said |" in md
    assert "| 1 | reported | scorer | sums.inverse with m | sums 6 |" in md
    xml = there("report", "r", "--format", "junit").stdout
    for words in (
        'name="excluded_by.small" value="2"',
        'name="stage" value="scorer"',
        "the rule long cannot be applied to 6 rows, which stay in; the first is sums 1: {{ sample",
    ):
        assert words in xml
    told = there("report", "r", "--json").json
    assert told["metrics"][0]["excluded_by"] == {"small": 2}
    assert [(one["task_model"], one["stage"], one["count"]) for one in told["failures"]] == [
        ("m", "scorer", 1),
        ("w", "scorer", 1),
    ]


CHANGED = (
    TASK.replace("values: [1, 3]", "values: [5]")
    .replace("The right number", "Right sums")
    .replace("{type: max, field: part, name: Largest part}", "{type: mean, field: part, name: Part}")
)


def test_changed_metrics_and_rules_of_a_bench_make_its_board_again_without_a_call(
    cli: Cli, copied: Path
) -> None:
    before, called = (copied / "r" / "journal.jsonl").read_bytes(), calls(copied)
    (copied / "sums.yaml").write_text(CHANGED)
    (copied / "m").unlink()
    told = cli("rescore", "r", "--metrics", "sums.yaml", "--json")
    assert (told.status, "another scorer" in told.stderr) == (0, False), told.stderr
    scores = {one["adapter"]: (one["overall_score"], one["skipped"]) for one in told.json["models"]}
    assert scores == {"m": (1.0, 1), "w": (0.0, 1)}, "w is right where the sum is 5, which is left out now"
    assert board_in(copied / "r")["tasks"][0]["scorer_name"] == "Right sums"
    assert told.json["metrics"][0]["excluded_by"] == {"small": 1}
    assert values_of(told.json["metrics"][1])["Part"] == pytest.approx((1 / 10 + 1 / 8 + 1 / 4 + 1 / 2) / 4)
    assert (copied / "r" / "journal.jsonl").read_bytes().startswith(before)
    assert calls(copied) == called
    checked = cli("report", "r", "--check")
    assert (checked.status, "0 differ" in checked.stdout) == (0, True), checked.stdout
    gates = ["--fail-under", "sums.inverse.Part=0.1", "--fail-under", "w=0.1"]
    judged = cli("report", "r", "--json", *gates)
    assert (judged.status, [one["met"] for one in judged.json["gates"]]) == (1, [False, False, False])
    assert "sums.inverse.Part on m, sums" in judged.stderr


def test_a_metric_that_cannot_be_computed_is_a_row_of_the_csv(cli: Cli, copied: Path) -> None:
    (copied / "sums.yaml").write_text(TASK.replace("field: part, name: Largest part", "field: nothing"))
    assert cli("rescore", "r", "--metrics", "sums.yaml").status == 0
    rows = rows_of(cli("report", "r", "--format", "csv").stdout)
    failed = [(one["model"], one["failed"]) for one in rows if one["metric"] == "metric max"]
    assert failed == [("m", "1"), ("w", "1")]


def test_scores_of_a_scorer_that_is_another_now_are_said_to_be_the_former_ones(
    cli: Cli, copied: Path
) -> None:
    (copied / "sums.yaml").write_text(TASK.replace("1 / (11", "2 / (11"))
    told = cli("rescore", "r", "--metrics", "sums.yaml")
    words = "note: sums.inverse is another scorer in the task now; the run keeps the scores that it has\n"
    assert (told.status, told.stderr.startswith(words)) == (0, True), told.stderr
    assert "sums.right is another" not in told.stderr


def test_a_rule_that_cannot_be_applied_is_told_once_with_its_models(cli: Cli, copied: Path) -> None:
    (copied / "sums.yaml").write_text(TASK.replace("value: 9", "value: 8"))
    told = cli("rescore", "r", "--metrics", "sums.yaml").stderr
    assert told.startswith(
        "note: sums (m, w): the rule long cannot be applied to 12 rows, which stay in; the first is sums 1: "
    ), told
    assert told.count("cannot be applied") == 1


def test_no_board_is_left_that_other_rules_made(cli: Cli, copied: Path) -> None:
    """What ends the command between the new rules and their board is, here, a folder in a draft's place."""
    (copied / "sums.yaml").write_text(CHANGED)
    in_the_way = copied / "r" / f".summary.json.{os.getpid()}"
    in_the_way.mkdir()
    failed = cli("rescore", "r", "--metrics", "sums.yaml")
    assert failed.status == 3, failed.stderr
    assert not (copied / "r" / "leaderboard.json").exists()
    in_the_way.rmdir()
    told = cli("rescore", "r", "--metrics", "sums.yaml")
    assert (told.status, "the bench has no board any more" in told.stderr) == (0, True)
    called = calls(copied)
    assert cli("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED).status == 0
    assert calls(copied) == called
    checked = cli("report", "r", "--check")
    assert (checked.status, "0 differ" in checked.stdout) == (0, True), checked.stdout


def test_of_rules_that_were_not_applied_yet_nothing_is_said_by_scorer(cli: Cli, copied: Path) -> None:
    journal = copied / "r" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if b'"rules":' not in line))
    (copied / "r" / "leaderboard.json").unlink()
    told = " ".join(cli("report", "r").stdout.split())
    assert told.count("the task's rules were not applied to these rows yet") == 1, told
    assert told.count("metrics on sums") == 1, "the other scorer has nothing to tell"


def test_names_that_code_gives_leave_every_report_whole(cli: Cli, tmp_path: Path) -> None:
    hostile = "\\x1b[31m|a\\nb<c>\\x00"
    code = f'        def compute_metrics(scores):\n            return {{"{hostile}": 1}}\n'
    metric = f"      metrics:\n        - type: python\n          compute_metrics_snippet: |\n{code}"
    defined.task(
        tmp_path,
        defined.TASK
        + defined.SNIPPET
        + metric.replace("        def", "            def").replace(
            "            return", "                return"
        ),
    )
    assert cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r").status == 0
    for form in ("terminal", "md", "csv", "junit", "html"):
        told = cli("report", "r", "--format", form).stdout
        assert "\x1b" not in told, form
    xml = fromstring(cli("report", "r", "--format", "junit").stdout)  # noqa: S314  our own
    assert any("[31m" in one.attrib["name"] for one in xml.iter("property"))


def test_changed_rules_of_a_bench_find_samples_that_are_elsewhere(cli: Cli, copied: Path) -> None:
    (copied / "tasks").mkdir()
    (copied / "tasks" / "sums.yaml").write_text(CHANGED)
    (copied / "sums.jsonl").rename(copied / "moved.jsonl")
    lost = cli("rescore", "r", "--metrics", "tasks")
    assert lost.status == 2
    unknown = cli("rescore", "r", "--metrics", "tasks", "--data", "sum=moved.jsonl")
    assert (unknown.status, "no task has this dataset" in unknown.stderr) == (2, True)
    found = cli("rescore", "r", "--metrics", "tasks", "--data", "sums=moved.jsonl", "--json")
    assert found.status == 0, found.stderr
    assert found.json["metrics"][0]["excluded_by"] == {"small": 1}
    for evaluator in ("@f1", "task:tasks/sums.yaml"):
        other = cli("rescore", "r", "-e", evaluator)
        assert (other.status, "tasks in YAML, which name their own scorers" in other.stderr) == (2, True)


def test_diff_puts_metrics_of_benches_beside_each_other(cli: Cli, copied: Path) -> None:
    shutil.copytree(copied / "r", copied / "before")
    (copied / "sums.yaml").write_text(CHANGED)
    assert cli("rescore", "r", "--metrics", "sums.yaml", "--quiet").status == 0
    told = cli("diff", "before", "r", "--details").stdout
    assert "Sums of two: Right sums (sums.right): metrics on sums, B against A" in told
    assert " Sums of two (sums)  " in told
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert f"accuracy w {MINUS}0.250 4 → 5 0.250 → 0.000" in lines, told
    assert lines.count("· only in A: Largest part") == 1, "it is the same of both models"
    assert "· A: 4 of 6 rows count: 2 excluded (small 2)" in lines
    assert told.count("the rule long cannot be applied") == 2, "once for each board"
    entries: list[dict[str, Any]] = cli("diff", "before", "r", "--json").json["metrics"]
    named = {(one["evaluator"], one["task_model"]): one for one in entries}
    (accuracy,) = named["sums.right", "w"]["metrics"]
    assert accuracy == {
        "name": "accuracy",
        "a": {"value": 0.25, "n": 4},
        "b": {"value": 0.0, "n": 5},
        "diff": -0.25,
    }
    missing = {one["name"]: (one["a"], one["b"]) for one in named["sums.inverse", "m"]["metrics"]}
    assert missing == {
        "Part": (None, {"value": pytest.approx(0.24375), "n": 4}),
        "Largest part": ({"value": 0.5, "n": 3}, None),
    }
    same = cli("diff", "r", "r", "--details").stdout
    assert "no metric of sums.right, sums.inverse has changed" in same


def test_diff_counts_no_predictions_where_scorers_say_none(cli: Cli, copied: Path) -> None:
    model(copied / "w", RIGHT)
    assert cli("bench", "sums.yaml", *MODELS, "--out", "after").status == 0
    told = cli("diff", "r", "after")
    assert (told.status, "1 of 1 task moved." in " ".join(told.stdout.split())) == (0, True), told.stdout
    assert "predictions" not in told.stdout, "as replies differ, 0 would be false"
    (titles,) = [line.split() for line in told.stdout.splitlines() if "p (Holm)" in line]
    assert titles[-1] == "(Holm)", "there is no column of what changed"
    models = cli("diff", "r", "after", "--json").json["models"]
    assert [one["predictions_changed"] for one in models] == [None, None]


def test_boards_are_compared_where_tasks_measure_the_same_whatever_else_their_files_say(
    cli: Cli, copied: Path
) -> None:
    (copied / "sums.yaml").write_text(CHANGED)
    again = ("bench", "sums.yaml", *MODELS, "--reuse", "r", "--quiet")
    assert cli(*again, "--out", "metrics").status == 0
    assert cli("diff", "r", "metrics").status == 0
    assert cli("diff", "r/leaderboard.json", "metrics").status == 0
    assert cli(*again, "--out", "less", "--limit", "4").status == 0
    (copied / "sums.yaml").write_text(TASK.replace("{{ sample.question }}", "{{ sample.question }}!"))
    assert cli(*again, "--out", "asked").status == 0
    for other in ("less", "asked"):
        refused = cli("diff", "r", other)
        assert refused.status == 2
        assert "task sums has other samples, sends models something else, or scores" in refused.stderr
        assert "  try: run -e task:FILE compares prompts as candidates of one run, which" in refused.stderr
    before = cli(*again, "--out", "gated", "--limit", "4", "--no-regression-against", "r")
    assert (before.status, (copied / "gated").exists()) == (2, False), before.stderr
