"""Task files that ship, and files that are wrong in one way or another."""

from optimize_eval.tasks import load_fixtures, load_tasks, validate_file
from optimize_eval.tasks.dialects import POST_PROCESS, RULES
from tests.paths import ROOT

DATASETS = ROOT / "datasets"
FIVE = ("arithmetic", "code-exec", "generation", "multiple-choice", "summary")


def test_the_ten_tasks_are_two_of_each_category_and_use_all_that_there_is() -> None:
    tasks = load_fixtures()
    categories = [task.category for task in tasks]
    assert {category: categories.count(category) for category in categories} == dict.fromkeys(
        ("arithmetic", "mcq", "code_exec", "classification", "summary"), 2
    )
    assert {task.post_process for task in tasks} == set(POST_PROCESS)
    assert {task.metric_name for task in tasks} == {
        "exact_match",
        "f1",
        "bleu_4",
        "rouge_l",
        "accuracy",
        "code_exec",
    }


def test_the_bad_tasks_trip_every_rule_there_is_once_a_line() -> None:
    path = DATASETS / "tasks_bad.jsonl"
    tasks, errors = validate_file(path)
    assert [task.task_id for task in tasks] == ["good-one"]
    assert {error.rule for error in errors} == set(RULES)
    assert [error.line_number for error in errors] == list(range(2, path.read_bytes().count(b"\n") + 1))


def test_a_name_of_a_metric_means_what_its_dialect_says() -> None:
    ids = {name: load_tasks(DATASETS / "tasks" / f"{name}.jsonl").tasks[0].metric for name in FIVE}
    assert ids == {
        "arithmetic": "exact_match@normalised",
        "code-exec": "code_exec@io_pairs",
        "generation": "substring_contains",
        "multiple-choice": "multiple_choice",
        "summary": "rouge_l@ascii",
    }
    assert {task.evaluator for task in load_tasks(DATASETS / "tasks.jsonl").tasks} == {
        "@exact_match@strict",
        "@f1",
        "@bleu_4",
        "@rouge_l@unicode",
        "@accuracy",
        "@code_exec@assertions",
    }
