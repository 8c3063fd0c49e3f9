"""`bench` of system tasks, and of a folder of tasks in YAML as a suite."""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.cli.benches import arithmetic, board_in, model
from tests.cli.defined import FOUND, SAMPLES, SYSTEM, TASK, task
from tests.cli.prompted import COUNTED, calls
from tests.front_door import Cli

MODELS = ("--model", "m=cmd:./m", "--model", "w=cmd:./w")


def suite(folder: Path) -> None:
    """Write two tasks, the dataset of both and what else may stand there."""
    task(folder, TASK.replace("description: Sums", "tags: [adding, short]\ndescription: Sums"))
    model(folder / "w", "'I do not know'")
    (folder / "more.yaml").write_text(
        TASK.replace("key: sums\ndisplay_name: Sums", "key: more\ndisplay_name: More sums\ntags: [adding]")
    )
    (folder / "rows.yaml").write_text(
        "key: rows\ndisplay_name: Rows\nsource: {type: local, file_path: sums.jsonl}\n"
    )
    (folder / "part.yaml").write_text("role: user\ncontent: part of a task\n")


def test_a_system_task_is_one_call_whose_first_metric_is_the_score(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "up.yaml").write_text(SYSTEM)
    done = cli("bench", "up.yaml", "--out", "r", "--json")
    assert done.status == 0, done.stderr
    summary = done.json["summary"]
    assert (summary["units"]["total"], summary["rows"][0]["splits"]["single"]["mean"]) == (1, 40)
    assert summary["score_ranges"] == {"uptime.evidence": "any"}
    assert [one["values"] for one in summary["metrics"][0]["metrics"]] == [{"days": 40}, {"ok": 1}]
    row = json.loads(cli("report", "r", "--format", "jsonl").stdout.splitlines()[0])
    assert row["side_info.metadata.reasons.days"] == "since boot"
    again = cli("bench", "up.yaml", "--out", "r", "--fail-under", "uptime.evidence.days=41")
    assert (again.status, "is below 41" in again.stderr, calls(tmp_path)) == (1, True, 1), again.stderr
    (tmp_path / "up.yaml").unlink()
    checked = cli("report", "r", "--check")
    assert (checked.status, "0 differ" in checked.stdout) == (0, True), checked.stdout
    document = json.loads((tmp_path / "r" / "run.json").read_text())
    del document["settings"]["tasks"][0]["scorers"][0]["is_evidence"]  # as earlier versions wrote it
    (tmp_path / "r" / "run.json").write_text(json.dumps(document))
    former = cli("report", "r", "--fail-under", "uptime.evidence.days_mean=39", "--json")
    assert (former.status, former.json["gates"][0]["met"]) == (0, True), former.stderr


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ("{'metrics': {}}", "compute_evidence returned no metrics"),
        ("{'metrics': {'': {'value': 1}}}", "compute_evidence returned a metric without a name"),
        ("{'metrics': {'a': {'value': float('nan')}}}", "not JSON"),
        ("{'metrics': {'a': {'value': 1 / 0}}}", "ZeroDivisionError: division by zero (line 4"),
    ],
)
def test_a_system_task_that_fails_says_where_and_the_next_command_calls_it_again(
    cli: Cli, tmp_path: Path, returned: str, words: str
) -> None:
    (tmp_path / "up.yaml").write_text(SYSTEM.replace(FOUND, returned))
    for _ in range(2):
        done = cli("bench", "up.yaml", "--out", "r", "--retries", "0")
        told = " ".join(done.stderr.split())
        assert (done.status, "scorer evidence: compute_evidence" in told, words in told) == (4, True, True), (
            told
        )
    assert calls(tmp_path) == 2


def test_system_tasks_of_a_folder_are_one_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "up.yaml").write_text(SYSTEM)
    (tmp_path / "tasks" / "load.yaml").write_text(SYSTEM.replace("uptime", "load").replace("40", "3"))
    done = cli("bench", "tasks/", "--json")
    means = {row["evaluator"]: row["splits"]["single"]["mean"] for row in done.json["summary"]["rows"]}
    assert means == {"load.evidence": 3, "uptime.evidence": 40}


@pytest.mark.parametrize(
    ("further", "words"),
    [
        (("--limit", "3"), "--limit is about rows, and the task uptime has none"),
        (("--id", "3"), "--filter or --id is about rows"),
        (("--data", "x=y.csv"), "--data is about rows"),
        (MODELS[:2], "is about a system, not a model"),
        (("--tag", "infr"), "did you mean infra?"),
        (("--config", "k=v"), "'k'"),
    ],
    ids=["limit", "id", "data", "model", "tag", "config"],
)
def test_what_a_system_task_has_no_use_for_is_refused(
    cli: Cli, tmp_path: Path, further: tuple[str, ...], words: str
) -> None:
    (tmp_path / "up.yaml").write_text(SYSTEM)
    told = cli("bench", "up.yaml", *further)
    assert (told.status, words in " ".join(told.stderr.split())) == (2, True), told.stderr
    assert not (tmp_path / "calls").exists()


def test_a_folder_of_tasks_is_one_board(cli: Cli, tmp_path: Path) -> None:
    suite(tmp_path)
    done = cli("bench", ".", *MODELS, "--out", "r", env=COUNTED)
    assert done.status == 0, done.stderr
    assert [one["task"] for one in board_in(tmp_path / "r")["tasks"]] == ["more", "sums"]
    assert "so it is not a task: part.yaml" in " ".join(done.stderr.split())
    assert "rows.yaml" not in done.stderr
    assert "in JSONL" not in done.stderr, "rows are no tasks"


def test_a_task_and_a_dataset_may_be_written_in_braces_as_json_is(cli: Cli, tmp_path: Path) -> None:
    suite(tmp_path)
    for name in ("sums", "more", "rows"):
        path = tmp_path / f"{name}.yaml"
        path.write_text(f"# a comment\n---\n{json.dumps(yaml.safe_load(path.read_bytes()), indent=2)}\n")
    done = cli("bench", ".", *MODELS, "--out", "r")
    assert done.status == 0, done.stderr
    assert [one["task"] for one in board_in(tmp_path / "r")["tasks"]] == ["more", "sums"]
    assert "so it is not a task: part.yaml" in " ".join(done.stderr.split())
    assert "rows.yaml" not in done.stderr


def test_a_dry_run_says_what_a_bench_would_call_and_calls_nothing(cli: Cli, tmp_path: Path) -> None:
    suite(tmp_path)
    plan = cli("bench", ".", *MODELS, "--repeats", "2", "--dry-run", env=COUNTED)
    assert plan.status == 0, plan.stderr
    assert f" data        more {SAMPLES} · sums {SAMPLES}\n" in plan.stdout
    assert f" cost        {16 * SAMPLES} calls; if a call takes 100 ms, " in plan.stdout
    assert f" replies     {8 * SAMPLES}: each is made once, for all evaluators\n" in plan.stdout
    assert "candidates" not in plan.stdout
    assert (calls(tmp_path), (tmp_path / "runs").exists()) == (0, False)
    assert cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r").status == 0
    grown = cli("bench", "sums.yaml", *MODELS, "--out", "r", "--dry-run", "--json").json
    assert (grown["calls"], grown["owed"]) == (4 * SAMPLES, 2 * SAMPLES)
    arithmetic(tmp_path, size=2, name="older.jsonl")
    told = cli("bench", "older.jsonl", *MODELS[:2], "-e", "@contains", "--dry-run")
    assert (" cost        2 calls; " in told.stdout, "contains will score each reply" in told.stderr) == (
        True,
        True,
    )
    both = cli("bench", "older.jsonl", *MODELS[:2], "--show", "q1", "--dry-run")
    assert (both.status, "--show and --dry-run are two things" in both.stderr) == (2, True)


def test_tasks_in_jsonl_beside_those_in_yaml_are_told_and_both_are_validated(
    cli: Cli, tmp_path: Path
) -> None:
    suite(tmp_path)
    arithmetic(tmp_path, size=2, name="older.jsonl")
    told = cli("bench", ".", "--tag", "none")
    assert ". has tasks in JSONL, too, which are left out unless they are named: older.jsonl" in " ".join(
        told.stderr.split()
    )
    checked = cli("validate", ".")
    assert checked.status == 0, checked.stderr
    assert checked.stdout == "more.yaml: ok, 1 task\nsums.yaml: ok, 1 task\nolder.jsonl: ok, 2 examples\n"
    (tmp_path / "more.yaml").write_text(TASK.replace("display_name: Sums", "display_name: yes"))
    wrong = cli("validate", ".")
    assert (wrong.status, "1 of 3 files cannot be used" in wrong.stderr) == (2, True)
    (tmp_path / "none").mkdir()
    none = cli("validate", "none")
    assert (none.status, "the folder none has no task file" in none.stderr) == (2, True)


@pytest.mark.parametrize("command", [("validate", "."), ("bench", ".", *MODELS, "--dry-run")], ids=["v", "b"])
def test_yaml_without_a_definition_is_told_wherever_a_folder_is_named(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    suite(tmp_path)
    told = cli(*command, env=COUNTED)
    words = "note: . has YAML without a definition, so it is not a task:"
    assert (told.status, f"{words} part.yaml" in " ".join(told.stderr.split())) == (0, True)
    assert "rows.yaml" not in told.stderr
    for path in tmp_path.glob("*.yaml"):
        path.write_text(path.read_text().replace("\ndefinition:", "\ndefiniton:"))
    (tmp_path / "sums.jsonl").unlink()
    arithmetic(tmp_path, size=2, name="older.jsonl")
    told = cli(*command, env=COUNTED)
    assert (told.status, f"{words} more.yaml, part.yaml" in " ".join(told.stderr.split())) == (0, True)
    (tmp_path / "older.jsonl").unlink()
    told = cli(*command, env=COUNTED)
    assert (told.status, f"{words} more.yaml, part.yaml" in " ".join(told.stderr.split())) == (2, True)


def test_what_is_named_as_a_file_and_is_none_is_left_and_part_of_a_name_is_no_name(
    cli: Cli, tmp_path: Path
) -> None:
    suite(tmp_path)
    arithmetic(tmp_path, size=2, name="sum.jsonl")  # the YAML names sums
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "lost.jsonl").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    checked = cli("validate", ".")
    assert (checked.status, checked.stdout.splitlines()[-1]) == (0, "sum.jsonl: ok, 2 examples")
    told = cli("bench", ".", "--tag", "none")
    assert "left out unless they are named: sum.jsonl" in " ".join(told.stderr.split())


def test_tags_choose_among_tasks_and_others_need_no_parameters(cli: Cli, tmp_path: Path) -> None:
    suite(tmp_path)
    parameter = "config_spec:\n  - {type: string, key: field, display_name: Field}\n"
    (tmp_path / "other.yaml").write_text(TASK.replace("key: sums\n", f"key: other\n{parameter}", 1))
    (tmp_path / "up.yaml").write_text(SYSTEM)

    def benched(*tags: str) -> list[str]:
        options = [word for tag in tags for word in ("--tag", tag)]
        done = cli("bench", ".", *MODELS, *options, "--json", env=COUNTED)
        assert done.status == 0, done.stderr
        return [one["task"] for one in done.json["tasks"]]

    assert benched("short") == ["sums"]
    assert benched("adding") == benched("short", "adding") == ["more", "sums"]
    told = cli("bench", ".", *MODELS, "--tag", "ading")
    assert (told.status, "did you mean adding?" in told.stderr) == (2, True), told.stderr
    jsonl = cli("bench", "sums.jsonl", *MODELS, "--tag", "adding")
    assert (jsonl.status, "--tag is for tasks in YAML" in jsonl.stderr) == (2, True), jsonl.stderr


def test_parameters_go_to_the_tasks_that_declare_them(cli: Cli, tmp_path: Path) -> None:
    suite(tmp_path)
    parameter = "config_spec:\n  - {type: string, key: field, display_name: Field}\n"
    declared = TASK.replace("key: sums\n", f"key: other\n{parameter}", 1)
    (tmp_path / "other.yaml").write_text(declared.replace("sample.target", "sample.<< config.field >>"))
    done = cli("bench", ".", *MODELS, "--config", "field=target", "--json", env=COUNTED)
    assert [one["task"] for one in done.json["tasks"]] == ["more", "other", "sums"]
    told = cli("bench", ".", *MODELS, "--config", "feild=target")
    assert (told.status, "feild" in told.stderr) == (2, True), told.stderr


def test_tasks_that_do_not_call_the_same_are_benched_apart(cli: Cli, tmp_path: Path) -> None:
    suite(tmp_path)
    (tmp_path / "up.yaml").write_text(SYSTEM)
    told = cli("bench", ".", *MODELS, env=COUNTED)
    words = " ".join(told.stderr.split())
    assert (told.status, "uptime is about a system, not a model" in words) == (2, True), words
    assert "(--tag) or files: optimize-eval bench up.yaml" in words
    assert calls(tmp_path) == 0


def test_rows_are_counted_and_copies_noted_as_in_other_datasets(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    rows = tmp_path / "sums.jsonl"
    first = rows.read_text().splitlines(keepends=True)[0]
    rows.write_text(first * 2)
    command = ("bench", "sums.yaml", "--model", "m=cmd:./m", "--json")
    copied = cli(*command, env=COUNTED)
    assert (copied.status, calls(tmp_path)) == (0, 1), copied.stderr
    assert "sums.jsonl: 1 of 2 records is a copy of another" in copied.stderr
    rows.write_text(first * 10_001)
    many = cli(*command)
    assert (many.status, "10,001 records are too many" in many.stderr) == (2, True), many.stderr
    assert cli(*command, "--limit", "1").status == 0
    rows.write_text("")
    none = cli(*command)
    assert (none.status, "sums.jsonl" in none.stderr) == (2, True), none.stderr


@pytest.mark.parametrize("command", [("score", "text.txt"), ("serve",)], ids=["score", "serve"])
def test_a_command_that_takes_no_task_says_which_do(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    task(tmp_path)
    (tmp_path / "text.txt").write_text("a text")
    told = cli(*command, "-e", "task:sums.yaml", env=COUNTED)
    words = " ".join(told.stderr.split())
    assert told.status == 2, words
    assert "rank models by it: optimize-eval bench sums.yaml" in words
    assert "optimize-eval run -e task:sums.yaml" in words
    assert calls(tmp_path) == 0


def test_a_mean_is_shown_as_a_metric_where_it_has_a_name_or_no_table_has_it(cli: Cli, tmp_path: Path) -> None:
    code = "def compute_scores(sample): return {'is_right': sample['n'] > 1}"
    (tmp_path / "d.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    for name, more in (("a", ""), ("b", ", name: R")):
        metric = f"{{type: mean, field: is_right{more}}}"
        scorer = f'{{type: python, compute_scores_snippet: "{code}", metrics: [{metric}]}}'
        definition = f"{{evaluated_entity_type: dataset, scorers: [{scorer}]}}"
        text = f"key: {name}\ndisplay_name: D\ndescription: ''\ndefinition: {definition}\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    shown = {}
    for names in ("a", "ab", "ba"):
        tasks = [f"{name}.yaml" for name in names]
        ran = cli("bench", *tasks, "--data", "dataset=d.jsonl", "--out", names)
        assert ran.status == 0, ran.stderr
        shown[names] = [line.split() for line in ran.stdout.splitlines() if "  0.500     2" in line]
    unnamed, named = ["is_right_mean", "0.500", "2"], ["R", "0.500", "2"]
    assert shown == {"a": [], "ab": [named], "ba": [named, unnamed]}
