"""The package as a library: an evaluator is a plain function that any optimizer can call."""

import gc
import pickle
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import optimize_eval
from optimize_eval import DataError, EvaluationError, FailureKind, UsageError, command_evaluator, load_dataset
from optimize_eval.base.errors import Problem
from tests.paths import PROGRAMS
from tests.tools import need


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert optimize_eval.__all__ == sorted(optimize_eval.__all__)
    for name in optimize_eval.__all__:
        assert getattr(optimize_eval, name).__name__ == name
    assert set(optimize_eval.__all__) < set(dir(optimize_eval))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        optimize_eval.nonsense  # noqa: B018


def test_an_evaluator_returns_score_and_side_info() -> None:
    with command_evaluator([str(PROGRAMS / "good.sh")]) as evaluator:
        assert evaluator("anything") == (0.5, {"note": "fine"})


def test_an_example_of_load_dataset_arrives_with_its_big_integers(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": 123456789012345678901234567890, "one": 1.0}\n')
    with command_evaluator([str(PROGRAMS / "echoes_payload.py")], task_model="m") as evaluator:
        _, side_info = evaluator("c", load_dataset(path)[0])
    assert '"example":{"id":123456789012345678901234567890,"one":1.0},"task_model":"m"' in side_info["line"]
    assert side_info["variable"] == "m"


def test_a_failure_is_raised_with_its_facts() -> None:
    with (
        command_evaluator(str(PROGRAMS / "raises.py")) as evaluator,
        pytest.raises(EvaluationError, match="KeyError") as caught,
    ):
        evaluator("x")
    assert caught.value.kind is FailureKind.EXIT_CODE
    assert caught.value.detail.startswith("Traceback")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.kind, str(again), again.detail) == (
        FailureKind.EXIT_CODE,
        str(caught.value),
        caught.value.detail,
    )


def test_a_failure_becomes_a_number_only_when_asked_in_so_many_words() -> None:
    with command_evaluator([str(PROGRAMS / "kills_itself.sh")], on_failure=0.0) as evaluator:
        assert evaluator("x") == (0.0, {"failure": "killed", "error": "ended by SIGKILL"})


def test_data_errors_survive_pickling() -> None:
    error = DataError([Problem(path="d.jsonl", rule="bad_json", reason="no", line=3, column=1)])
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "d.jsonl:3:1: no"


@pytest.mark.parametrize("task_model", ["a\0b", "a\ud800"])
def test_a_task_model_that_no_environment_can_hold_is_refused(task_model: str) -> None:
    with pytest.raises(UsageError, match="task model"):
        command_evaluator("true", task_model=task_model)


def test_an_unknown_score_range_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown score range 'percent'"):
        command_evaluator("true", score_range="percent")


@need("perl")
def test_one_failure_changes_no_other_outcome() -> None:
    outcomes: dict[int, float | str] = {}
    with command_evaluator([str(PROGRAMS / "crashes_every_7th.pl")]) as evaluator:

        def ask(numbers: range) -> None:
            for number in numbers:
                try:
                    outcomes[number] = evaluator(str(number))[0]
                except EvaluationError as error:
                    outcomes[number] = error.kind

        threads = [threading.Thread(target=ask, args=(range(start, 29, 4),)) for start in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == {n: "exit_code" if n % 7 == 0 else n / 100 for n in range(1, 29)}


def test_a_thousand_calls_leave_descriptors_and_memory_where_they_were() -> None:
    with command_evaluator([str(PROGRAMS / "never_reads.sh")]) as evaluator:
        evaluator("warm up")
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1000):
            evaluator(str(number))
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert grown < 100_000


def test_a_program_that_appears_later_is_found_then(tmp_path: Path) -> None:
    with command_evaluator("./late.sh", cwd=tmp_path) as evaluator:
        with pytest.raises(EvaluationError, match="no program"):
            evaluator("x")
        (tmp_path / "late.sh").write_bytes((PROGRAMS / "never_reads.sh").read_bytes())
        with pytest.raises(EvaluationError, match="not executable"):
            evaluator("x")
        (tmp_path / "late.sh").chmod(0o755)
        assert evaluator("x")[0] == 0.5


@need("setsid")
def test_closing_ends_what_calls_left_behind_in_sessions_of_their_own() -> None:
    with command_evaluator([str(PROGRAMS / "background_in_own_session.sh")]) as evaluator:
        assert evaluator("x")[0] == 0.5
    # that it is gone now is checked after each test


def test_env_is_added_to_the_environment() -> None:
    with command_evaluator(
        ["sh", "-c", 'cat >/dev/null; echo "{\\"score\\": $HALF}"'], env={"HALF": "0.5"}
    ) as evaluator:
        assert evaluator("x")[0] == 0.5


@pytest.mark.parametrize(
    ("candidate", "what"),
    [({"system": "a", "user": "b"}, "dict with 'system', 'user'"), (b"x", "bytes"), (None, "NoneType")],
)
def test_a_candidate_that_is_not_one_text_is_refused_in_words(candidate: Any, what: str) -> None:
    with command_evaluator([str(PROGRAMS / "good.sh")], on_failure=0.0) as evaluator:
        with pytest.raises(UsageError, match=f"the candidate is not a text but a {what}\n.*join them"):
            evaluator(candidate)


def test_wrong_arguments_and_wrong_data_are_value_errors(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text("{}\n[]\n")
    with pytest.raises(ValueError, match="a record must be a JSON object") as data:
        load_dataset(tmp_path / "d.jsonl")
    with pytest.raises(ValueError, match="the evaluator command is empty") as usage:
        command_evaluator("")
    assert (type(data.value), type(usage.value)) == (DataError, UsageError)
    assert not issubclass(EvaluationError, ValueError)
