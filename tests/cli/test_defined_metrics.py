"""Metrics and rules of tasks in YAML: numbers made by hand, what the journal keeps of them, and reports."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import load_run
from optimize_eval.audit.__main__ import main as rederive
from tests.cli import defined
from tests.cli.benches import model
from tests.cli.measured import TASK, VALUES, command, metrics_of, values_of, write
from tests.cli.prompted import COUNTED, calls
from tests.front_door import Cli

FORMATS = ("terminal", "json", "md", "junit", "csv", "jsonl")


def journal(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "r" / "journal.jsonl").read_text().splitlines()]


def test_metrics_are_those_computed_by_hand_and_say_which_rows_they_are_of(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    ran = cli(*command(), "--details")
    assert ran.status == 0, ran.stderr
    assert "huge cannot be applied to 1 row" in ran.stderr
    assert "train 3: {{ scores.fields.n }} is null, and greater_than wants a number" in ran.stderr
    told = metrics_of(cli)
    assert values_of(told) == pytest.approx(VALUES)
    assert told["excluded_by"] == {"huge": 1}
    counts = [told[name] for name in ("n_total", "n_scored", "n_excluded", "n_failed")]
    assert counts == [6, 4, 1, 1]
    assert [one.get("missing", 0) for one in told["metrics"]] == [1, 1, 0, 0, 0]
    (fault,) = told["rule_faults"]
    assert (fault["rule"], fault["count"], fault["line"]) == ("huge", 1, 3)
    assert "Answers: All fields (answers.fields): metrics on train" in ran.stdout
    assert "4 of 6 rows count: 1 excluded (huge 1), 1 failed" in ran.stdout
    assert rederive(tmp_path / "r") == 0
    assert "done" in cli("runs", ".").stdout, "what follows on the end of a session is no new session"


def test_a_report_needs_neither_the_task_nor_its_rows_nor_its_code(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*command()).status == 0
    before = {name: cli("report", "r", "--format", name).stdout for name in FORMATS}
    (tmp_path / "answers.yaml").unlink()
    (tmp_path / "rows.jsonl").unlink()
    assert {name: cli("report", "r", "--format", name).stdout for name in FORMATS} == before
    assert json.loads(before["json"]) == json.loads((tmp_path / "r" / "summary.json").read_bytes())
    assert "| Mean n | 4.000 | 3 | 1 |" in before["md"]
    assert 'name="excluded_by.huge" value="1"' in before["junit"]


def test_rows_of_csv_and_jsonl_say_which_rules_left_them_out_and_at_which_stage_they_failed(
    cli: Cli, tmp_path: Path
) -> None:
    both = """\
    - key: long
      action: exclude_from_metrics
      filter: {op: in, expression: "{{ scores.fields.n }}", values: [100, 6]}
"""
    write(tmp_path, TASK + both)
    assert cli(*command()).status == 0
    told = [json.loads(line) for line in cli("report", "r", "--format", "jsonl").stdout.splitlines()]
    assert [one.get("excluded_by") for one in told] == [None, None, None, ["long"], ["huge", "long"], None]
    assert [one["outcome"] for one in told] == 5 * ["scored"] + ["failed"], "records stay what they are"
    assert told[5]["stage"] == "scorer"
    rows = [*csv.DictReader(io.StringIO(cli("report", "r", "--format", "csv").stdout))]
    assert [one["excluded_by"] for one in rows] == ["", "", "", "long", "huge, long", ""]
    some = cli("report", "r", "--format", "csv", "--wide", "--id", "d", "--id", "a").stdout
    assert [one["answers.fields@the task reason"] for one in csv.DictReader(io.StringIO(some))] == [
        "yes",
        "left out by long: no",
    ]
    assert [one.excluded_by for one in load_run(tmp_path / "r").records][3:5] == [("long",), ("huge", "long")]
    words = " ".join(cli("report", "r", "--id", "d", "--id", "a").stdout.split())
    assert "answers.fields · the task · train 1: is_correct: true · gold: yes" in words
    assert "answers.fields · the task · train 4: left out by long · is_correct: true" in words
    shown = cli("run", "-e", "task:answers.yaml", "--dataset", "rows.jsonl", "--out", "r", "--show", "d")
    assert "lang: en), left out by long" in shown.stdout, shown.stderr


def test_rows_that_are_left_out_are_counted_by_rule(cli: Cli, tmp_path: Path) -> None:
    both = """\
    - key: long
      action: exclude_from_metrics
      filter: {op: in, expression: "{{ scores.fields.n }}", values: [2, 100, 6]}
"""
    write(tmp_path, TASK + both)
    ran = cli(*command(), "--details")
    assert "left out by long 3, huge 1" in " ".join(ran.stdout.split()), ran.stdout + ran.stderr
    for name in ("md", "junit"):
        assert "left out by long 3, huge 1" in cli("report", "r", "--format", name).stdout, name
    (skipped,) = cli("report", "r", "--json").json["skips"]
    assert (skipped["count"], skipped["excluded_by"]) == (3, {"long": 3, "huge": 1})
    assert skipped["lines"] == [1, 4, 5]
    assert rederive(tmp_path / "r") == 0
    only = cli("report", "r", "--id", "a", "--id", "e")
    assert "skipped every call on train (2 calls): left out by long 2, huge 1" in " ".join(
        only.stdout.split()
    ), only.stdout


def test_what_code_made_of_rows_is_written_down_once_and_again_only_for_other_rows(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path, TASK.replace("def compute_metrics(scores):", TRACED))
    assert cli(*command()).status == 0
    records = [one for one in journal(tmp_path) if "metric" in one]
    assert [(one["metric"], one["task"], one["scorer"], one["model"], one["name"]) for one in records] == [
        ("own", "answers", "fields", None, "largest"),
        ("own", "answers", "fields", None, "rows"),
    ]
    assert {len(str(one[name])) for one in records for name in ("rows", "snippet")} == {64}
    assert runs(tmp_path) == 1
    assert cli(*command()).status == 0
    assert runs(tmp_path) == 1, "the rows and the code are the same"
    (tmp_path / "answers.yaml").write_text(
        TASK.replace("def compute_metrics(scores):", TRACED).replace("value: 50", "value: 5")
    )
    scored = sum(one.get("outcome") == "scored" for one in journal(tmp_path))
    assert cli(*command()).status == 0
    assert runs(tmp_path) == 2, "another rule leaves other rows"
    assert sum(one.get("outcome") == "scored" for one in journal(tmp_path)) == scored, "nothing was called"
    assert metrics_of(cli)["excluded_by"] == {"huge": 2}
    assert values_of(metrics_of(cli))["Mean n"] == 3.0


def test_numbers_of_code_that_a_journal_was_cut_off_among_are_made_again(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*command()).status == 0
    path = tmp_path / "r" / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b'"name":"rows"')])
    assert "its code was not run yet" in metrics_of(cli)["metrics"][-1]["problem"]
    assert cli(*command()).status == 0
    assert values_of(metrics_of(cli)) == pytest.approx(VALUES)


TRACED = """def compute_metrics(scores):
                open("ran", "a").write("x")"""


def runs(folder: Path) -> int:
    return len((folder / "ran").read_text())


def test_code_of_a_metric_that_fails_is_told_and_stops_nothing_else(cli: Cli, tmp_path: Path) -> None:
    write(
        tmp_path,
        TASK.replace('return {"largest"', 'raise ValueError("no idea")\n                return {"largest"'),
    )
    ran = cli(*command())
    assert ran.status == 0
    assert "metric own: compute_metrics" in ran.stderr
    assert "no idea" in ran.stderr
    told = metrics_of(cli)
    assert values_of(told) == pytest.approx({k: v for k, v in VALUES.items() if k not in {"largest", "rows"}})
    assert "no idea" in told["metrics"][-1]["problem"]
    write(tmp_path)
    assert cli(*command()).status == 0
    assert values_of(metrics_of(cli)) == pytest.approx(VALUES)


def test_a_rule_sees_what_a_model_replied_without_calling_it(cli: Cli, tmp_path: Path) -> None:
    rule = """\
  actions:
    - key: is_five
      action: exclude_from_metrics
      filter: {op: equals, expression: "{{ solver_output.output }}", value: 5}
    - key: first
      action: exclude_from_metrics
      filter: {op: in, expression: "{{ sample.id }}", values: [s0, s1]}
"""
    defined.task(tmp_path, defined.TASK + rule)
    ran = cli(*defined.command("--out", "r", "--json"), env=COUNTED)
    assert ran.status == 0, ran.stderr
    assert calls(tmp_path) == defined.SAMPLES
    for told in ran.json["summary"]["metrics"]:
        assert (told["n_scored"], told["excluded_by"]) == (3, {"is_five": 1, "first": 2})
    assert rederive(tmp_path / "r") == 0


def test_a_gate_on_a_metric_is_met_or_missed_on_run_report_and_diff(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    met = cli(*command("--fail-under", "answers.fields.Mean n=3"))
    assert (
        met.status,
        "answers.fields.Mean n on the task, train: 3 (2 rows) is at least 3" in met.stderr,
    ) == (
        0,
        True,
    ), met.stderr
    missed = cli("report", "r", "--fail-under", "answers.fields.recall=0.51", "--json")
    assert missed.status == 1
    (gate,) = missed.json["gates"]
    assert (gate["met"], gate["text"]) == (
        False,
        "answers.fields.recall on the task, train: 0.5 (2 rows) is below 0.51",
    )
    assert cli("diff", "r", "r", "--fail-under", "answers.fields.recall=0.51").status == 1
    assert cli("report", "r", "--fail-under", "answers.fields.largest@the task=4").status == 0
    unknown = cli(*command("--fail-under", "answers.fields.nothing=1"))
    assert (unknown.status, "there is no such metric; there are Mean n, n_max" in unknown.stderr) == (1, True)


def test_a_gate_on_a_name_that_metrics_share_is_missed_unless_they_agree(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, WHOLE.replace('"largest"', '"recall"').replace('"rows"', '"precision"'))
    assert cli(*command()).status == 0
    told = cli("report", "r", "--fail-under", "answers.fields.recall=0.1")
    assert (told.status, "differ: name one of binary_classification.recall, own.recall" in told.stderr) == (
        1,
        True,
    ), told.stderr
    diff = {
        one["name"]: one["a"]["value"]
        for one in cli("diff", "r", "r", "--json").json["metrics"][0]["metrics"]
    }
    assert (diff["binary_classification.recall"], diff["own.recall"]) == (0.5, 4.0)
    agreeing = WHOLE.replace('{"largest"', '{"precision": 1.0, "largest"')
    write(tmp_path, agreeing)
    assert cli(*command("--fail-under", "answers.fields.precision=1")).status == 0


LABELS = (
    TASK.split("            fields =")[0]
    + """\
            return {"label": sample["said"]}
    - key: bare
      type: string_equals
      value: "{{ sample.said }}"
      ground_truth: "{{ sample.gold }}"
      metrics: []
"""
)


def test_a_gate_on_the_mean_of_labels_says_that_there_are_no_numbers(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, LABELS)
    told = cli(*command("--fail-under", "answers.fields=0.1"))
    assert (told.status, "the mean (no call of 6 gave a number) cannot be known" in told.stderr) == (1, True)


def test_a_scorer_that_wants_no_metrics_has_no_table_of_them(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, LABELS)
    assert cli(*command()).status == 0
    for format_ in ("terminal", "md"):
        told = cli("report", "r", "--format", format_).stdout
        assert ("fields): metrics on" in told, "bare): metrics on" in told) == (True, False), told


def test_a_gate_says_how_many_rows_its_metric_is_of(cli: Cli, tmp_path: Path) -> None:
    rules = TASK.index("  actions:")
    write(tmp_path, TASK[:rules].replace("sample[key] for", "sample.get(key) for"))
    told = cli(*command("--fail-under", "answers.fields.Mean n=3"))
    assert "answers.fields.Mean n on the task, train: 28 (4 rows) is at least 3" in told.stderr, "of six"


# the first two rows alone, which are those of English with a number
WHOLE = (
    TASK.replace("op: greater_than", "op: not_in")
    .replace("{{ scores.fields.n }}", "{{ sample.id }}")
    .replace("value: 50", "values: [a, b]")
    .replace("sample[key] for", "sample.get(key) for")
)


def test_a_gate_on_a_metric_is_missed_where_rows_failed_and_refused_where_it_cannot_be(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path)
    told = cli(*command("--fail-under", "answers.fields.recall=0.1"))
    assert (told.status, "0.500 lacks 1 row that failed, so it may be below 0.1" in told.stderr) == (
        1,
        True,
    )
    plain = TASK.split("      metrics:")[0] + "      metrics: [{type: mean, field: n}]\n"
    write(tmp_path, plain)
    refused = cli(
        "run", "-e", "task:answers.yaml", "--dataset", "rows.jsonl", "--fail-under", "answers.fields.m=1"
    )
    assert (refused.status, "its metrics are n_mean" in refused.stderr) == (2, True)
    write(tmp_path, TASK.split("      metrics:")[0] + "      metrics: []\n")
    refused = cli(*command("--fail-under", "answers.fields.m=1", "--out", "other"))
    assert (refused.status, "it has none: give it some in the task" in refused.stderr) == (2, True)


def test_changed_metrics_of_a_stored_run_call_nothing(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*command()).status == 0
    scored = [one for one in journal(tmp_path) if "outcome" in one]
    changed = TASK.replace("value: 50", "value: 5").replace("{type: max, field: n}", "{type: min, field: n}")
    (tmp_path / "answers.yaml").write_text(changed)
    (tmp_path / "rows.jsonl").unlink()
    told = cli("rescore", "r", "--metrics", "answers.yaml", "--json")
    assert told.status == 0, told.stderr
    (entry,) = told.json["summary"]["metrics"]
    assert entry["excluded_by"] == {"huge": 2}
    assert {name: values_of(entry)[name] for name in ("Mean n", "n_min", "largest", "rows")} == {
        "Mean n": 3.0,  # of a and b; c has none
        "n_min": 2.0,
        "largest": 4.0,
        "rows": 3.0,
    }
    assert [one for one in journal(tmp_path) if "outcome" in one] == scored
    assert metrics_of(cli) == entry
    assert rederive(tmp_path / "r") == 0


def test_rules_that_look_at_samples_say_where_these_are_missing(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*command()).status == 0
    (tmp_path / "answers.yaml").write_text(WHOLE)
    (tmp_path / "rows.jsonl").rename(tmp_path / "moved.jsonl")
    lost = cli("rescore", "r", "--metrics", "answers.yaml")
    assert lost.status == 2
    assert "--dataset" in lost.stderr
    found = cli("rescore", "r", "--metrics", "answers.yaml", "--dataset", "moved.jsonl", "--json")
    assert found.status == 0, found.stderr
    assert found.json["summary"]["metrics"][0]["n_scored"] == 2
    both = cli("rescore", "r", "--metrics", "answers.yaml", "-e", "@exact_match")
    assert (both.status, "give one of the two" in both.stderr) == (2, True)


def test_what_a_model_replied_is_there_for_changed_rules_and_for_scorers_that_are_added(
    cli: Cli, tmp_path: Path
) -> None:
    rule = """\
  actions:
    - key: is_five
      action: exclude_from_metrics
      filter: {op: equals, expression: "{{ solver_output.output }}", value: 5}
"""
    defined.task(tmp_path)
    assert cli(*defined.command("--out", "r"), env=COUNTED).status == 0
    (tmp_path / "m").unlink()
    (tmp_path / "sums.yaml").write_text(defined.TASK + rule)
    told = cli("rescore", "r", "--metrics", "sums.yaml", "--json")
    assert [one["excluded_by"] for one in told.json["summary"]["metrics"]] == 2 * [{"is_five": 1}]
    (tmp_path / "sums.yaml").write_text(defined.TASK + defined.SNIPPET + rule)
    added = cli("rescore", "r", "-e", "task:sums.yaml", "--json")
    assert added.status == 0, added.stderr
    assert {one["scorer"]: one["n_scored"] for one in added.json["summary"]["metrics"]} == {
        "right": 5,
        "wording": 5,
        "long": 5,
    }


def test_a_bench_shows_the_metrics_of_its_tasks_by_model(cli: Cli, tmp_path: Path) -> None:
    counted = """\
      metrics:
        - {type: mean, field: letters, name: Letters}
        - {type: max, field: letters}
"""
    defined.task(tmp_path, defined.TASK + defined.SNIPPET + counted)
    model(tmp_path / "w", "'I do not know'")
    ran = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--model", "w=cmd:./w", "--out", "r")
    assert ran.status == 0, ran.stderr
    assert "Sums: long (sums.long): metrics on sums" in ran.stdout
    told = cli("report", "r", "--json").json["metrics"]
    values = {(one["scorer"], one["task_model"]): values_of(one) for one in told}
    assert values["long", "m"] == {"Letters": 7 / 6, "letters_max": 2}  # 1 3 5 7 9 11
    assert values["long", "w"] == {"Letters": 13, "letters_max": 13}
    assert "| Letters | w | 13.000 | 6 |" in cli("report", "r", "--format", "md").stdout
    gate = cli("report", "r", "--fail-under", "sums.long.letters_max=10", "--fail-under", "m=0.5", "--json")
    assert (gate.status, [one["met"] for one in gate.json["gates"]]) == (1, [True, False, True])
    assert "sums.long.letters_max on m, sums: 2 (6 rows) is below 10" in gate.stderr
    of_one = cli("report", "r", "--fail-under", "sums.long.letters_max@w=10", "--json")
    assert (of_one.status, [one["met"] for one in of_one.json["gates"]]) == (0, [True])
    means = ("sums.right=0.1", "sums.right@m=0.9", "sums.right@w=0.1")
    of_means = cli("report", "r", *(word for text in means for word in ("--fail-under", text)), "--json")
    assert [one["met"] for one in of_means.json["gates"]] == [True, False, True, False]
    assert (
        "gate missed: sums.right on w, sums: the mean 0.000 (0.000 to 0.390) is below 0.1" in of_means.stderr
    )
    assert 'name="Letters" value="13.0"' in cli("report", "r", "--format", "junit").stdout
    assert rederive(tmp_path / "r") == 0


def test_means_verdicts_and_boards_leave_out_the_rows_that_rules_do(cli: Cli, tmp_path: Path) -> None:
    rule = """\
  actions:
    - key: small
      action: exclude_from_metrics
      filter: {op: in, expression: "{{ sample.target }}", values: [1, 3]}
"""
    defined.task(tmp_path, defined.TASK + rule)
    model(tmp_path / "w", "'5' if '2 plus' in asked['prompt'] else 'no'")
    ran = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--model", "w=cmd:./w", "--out", "r", "--json")
    assert ran.status == 0, ran.stderr
    scores = {one["adapter"]: (one["overall_score"], one["tasks"][0]["total"]) for one in ran.json["models"]}
    assert scores == {"m": (1.0, 6), "w": (0.25, 6)}, "one of the four that count"
    assert rederive(tmp_path / "r") == 0
    assert cli(*defined.command("--out", "s"), env=COUNTED).status == 0
    row = cli("report", "s", "--json").json["rows"][0]["splits"]["train"]
    assert (row["n"], row["scored"], row["skipped"]) == (4, 4, 2)
    assert rederive(tmp_path / "s") == 0
    told = cli("diff", "s", "s", "--json").json
    assert {one["n_pairs"] for one in told["rows"]} == {4}
    kept = [json.loads(line) for line in cli("report", "s", "--format", "jsonl").stdout.splitlines()]
    assert all(one["outcome"] == "scored" for one in kept), "records stay what they are"


def test_a_scorer_that_was_changed_leaves_the_rows_and_metrics_of_the_one_before(
    cli: Cli, tmp_path: Path
) -> None:
    rule = "{op: equals, expression: '{{ sample.id }}', value: s0}"
    text = f"{defined.TASK}  actions:\n    - {{key: first, action: exclude_from_metrics, filter: {rule}}}\n"
    defined.task(tmp_path, text)
    assert cli(*defined.command("--out", "r", "--quiet")).status == 0
    before = load_run(tmp_path / "r").summary.rows[0].splits["train"]
    defined.task(tmp_path, text.replace('ground_truth: "{{', 'ground_truth: "no {{', 1))
    told = cli("rescore", "r", "-e", "task:sums.yaml", "--json")
    assert told.status == 0, told.stderr
    assert load_run(tmp_path / "r").summary.rows[0].splits["train"] == before
    accuracy = {
        one["evaluator"]: one["metrics"][0]["values"]
        for one in cli("report", "r", "--json").json["metrics"]
        if one["evaluator"].startswith("sums.right")
    }
    assert accuracy == {"sums.right": {"accuracy": 1.0}, "sums.right-2": {"accuracy": 0.0}}
    assert rederive(tmp_path / "r") == 0


TWICE = """\
key: twice
display_name: Twice
description: Two scorers that are the same evaluator.
definition:
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - {key: a, type: string_equals, value: "{{ sample.said }}", ground_truth: "{{ sample.gold }}"}
    - {key: b, type: string_equals, value: "{{ sample.said }}", ground_truth: "{{ sample.gold }}"}
  actions:
    - key: huge
      action: exclude_from_metrics
      filter: {op: equals, expression: "{{ sample.n }}", value: 100}
"""


def test_two_scorers_that_are_the_same_evaluator_keep_their_names_when_a_run_is_rescored(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path, TWICE)
    assert cli(*command()).status == 0
    before = cli("report", "r", "--json").json["metrics"]
    assert [one["evaluator"] for one in before] == ["twice.a", "twice.b"]
    again = cli("rescore", "r", "-e", "task:answers.yaml")
    assert again.status == 0, again.stderr
    assert cli("report", "r", "--json").json["metrics"] == before


def test_tasks_of_one_key_keep_their_own_rules_and_a_renamed_one_is_told(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    other = TASK.replace("value: 50", "value: 5").replace("display_name: Answers", "display_name: Others")
    (tmp_path / "others.yaml").write_text(other)
    assert cli(*command("-e", "task:others.yaml")).status == 0

    def kept() -> dict[str, Any]:
        tasks = json.loads((tmp_path / "r" / "run.json").read_text())["settings"]["tasks"]
        return {one["scorers"][0]["evaluator"]: one["actions"][0]["filter"]["value"] for one in tasks}

    assert kept() == {"answers.fields": 50, "answers.fields-2": 5}
    one = cli("rescore", "r", "--metrics", "others.yaml")
    assert (one.status, "has 2 tasks called answers, and the command names 1" in one.stderr) == (
        2,
        True,
    )
    (tmp_path / "others.yaml").write_text(other.replace("value: 5", "value: 3"))
    both = cli("rescore", "r", "--metrics", "answers.yaml", "--metrics", "others.yaml")
    assert both.status == 0, both.stderr
    assert "in its order: answers.yaml as Answers, others.yaml as Others" in " ".join(both.stderr.split())
    assert kept() == {"answers.fields": 50, "answers.fields-2": 3}
    (tmp_path / "others.yaml").write_text(other.replace("key: answers", "key: renamed"))
    renamed = cli("rescore", "r", "--metrics", "others.yaml")
    assert (renamed.status, "renamed is found by its earlier key" in renamed.stderr) == (2, True)
    assert cli(*command()[:-1], "s").status == 0
    twice = cli("rescore", "s", "--metrics", "answers.yaml", "--metrics", "answers.yaml")
    assert twice.status == 0, twice.stderr
    (tmp_path / "others.yaml").write_text(other)
    two = cli("rescore", "s", "--metrics", "answers.yaml", "--metrics", "others.yaml")
    assert (two.status, "are both called answers, and the run has one such task" in two.stderr) == (2, True)


def test_scorers_of_a_task_with_a_name_of_its_own_are_found(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    named = [word.replace("task:", "mine=task:") for word in command()]
    assert cli(*named).status == 0
    write(tmp_path, TASK.replace("value: 50", "value: 5"))
    assert cli("rescore", "r", "--metrics", "answers.yaml").status == 0
    (told,) = cli("report", "r", "--json").json["metrics"]
    assert (told["evaluator"], told["n_excluded"]) == ("mine.fields", 2)


def test_a_timeout_that_is_given_counts_also_where_it_is_the_default(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*command("--timeout", "90")).status == 0

    def kept() -> float:
        (task,) = json.loads((tmp_path / "r" / "run.json").read_text())["settings"]["tasks"]
        return float(task.get("timeout", 30))

    for further, seconds in (((), 90), (("--timeout", "30"), 30), (("--timeout", "45"), 45), ((), 45)):
        assert cli("rescore", "r", "--metrics", "answers.yaml", *further).status == 0
        assert kept() == seconds, further
    assert cli("rescore", "r", "-e", "task:answers.yaml", "--timeout", "30").status == 0
    assert kept() == 30
