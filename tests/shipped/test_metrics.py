"""The ready-made metrics as programs: what they score, what they cannot score, how they are kept alive."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from math import exp
from pathlib import Path

import pytest

from tests.paths import EVALUATORS
from tests.shipped.asking import METRICS, NEEDING, Answer, answer, ask, scores

Case = tuple[str, Mapping[str, object], float]


def targets(*texts: object) -> dict[str, object]:
    return {"targets": list(texts)}


TEN = "a b c d e f g h i j"

TABLES: dict[tuple[str, ...], list[Case]] = {
    ("exact_match",): [
        ("  Hello,\n  ADA! ", targets("hello, ada!"), 1),
        ("b", targets("a", "B"), 1),
        ("hello", targets("hello!"), 0),
        ("İ", targets("i̇"), 1),
        ("x", {"targets": [], "target": "X"}, 1),
        ("", {"target": ""}, 1),
        ("a", {"target": ["b", "a"]}, 1),
    ],
    ("exact_match", "--variant", "strict"): [
        (" a b\n", targets("a b"), 1),
        ("a  b", targets("a b"), 0),
        ("A", targets("a"), 0),
    ],
    ("accuracy",): [(" a b\n", targets("a b "), 1), ("a  b", targets("a b"), 0), ("A", targets("a"), 0)],
    ("exact",): [
        (" Paris\n", targets("paris"), 1),
        ("the  end", targets("the end"), 0),
        ("Paris.", targets("paris"), 0),
        ("yes", targets("no", " YES"), 1),
    ],
    ("contains",): [
        ("The capital is Paris.", targets(" PARIS "), 1),
        ("the  end", targets("the end"), 0),
        ("par", targets("paris"), 0),
        ("anything", targets(""), 1),
    ],
    ("substring_contains",): [
        ("It is the\n  END.", targets("the end"), 1),
        ("party", targets("x", "art"), 1),
        ("par", targets("paris"), 0),
    ],
    ("string_equals",): [
        ("a", targets("a"), 1),
        ("a\n", targets("a"), 0),
        ("A", targets("a"), 0),
        ("é", targets("e\u0301"), 0),
        ("a", {"ground_truth": "a"}, 1),
    ],
    ("f1",): [
        ("the cat sat", targets("the cat sat"), 1),
        ("the cat", targets("the dog"), 0.5),
        ("a a a b", targets("a b b"), 4 / 7),
        ("", targets(""), 1),
        ("!?", targets("..."), 1),
        ("", targets("a"), 0),
        ("a", targets(""), 0),
        ("x", targets("y", "x z"), 2 / 3),
        ("ÉTÉ 42", targets("été 42"), 1),
        ("snake_case", targets("snake case"), 0),
    ],
    ("bleu_4",): [
        ("dog", targets("cat"), 0.5**0.25),
        ("cat", targets("cat"), 1),
        ("", targets("cat"), 0),
        ("", targets(""), 0),
        ("cat", targets(""), 0.5**0.25),
        (TEN, targets(TEN), 1),
        ("a b c d", targets(TEN), exp(1 - 10 / 4)),
        ("a a a a", targets("a b c d"), (2 / 5 * 1 / 4 * 1 / 3 * 1 / 2) ** 0.25),
        (TEN, targets("a b c d"), (5 / 11 * 4 / 10 * 3 / 9 * 2 / 8) ** 0.25),
        ("dog", targets("cat", "dog"), 1),
    ],
    ("rouge_l",): [
        ("the cat sat", targets("the cat sat"), 1),
        ("a b c d", targets("a c d"), 6 / 7),
        ("d c b a", targets("a b c d"), 1 / 4),
        ("", targets(""), 1),
        ("a", targets(""), 0),
        ("été", targets("ÉTÉ"), 1),
        ("x", targets("y", "x"), 1),
    ],
    ("rouge_l", "--variant", "ascii"): [
        ("", targets(""), 0),
        ("été", targets("ÉTÉ"), 1),
        ("été", targets("àté"), 1),
        ("ÄÖ", targets("ÄÖ"), 0),
        ("snake_case", targets("snake case"), 1),
    ],
    ("multiple_choice",): [
        (" b) because", targets("B"), 1),
        ("B", targets("A", "b."), 1),
        ("", targets("A"), 0),
        ("", targets(""), 0),
        ("Answer: B", targets("B"), 0),
        ("Answer: B", targets("A"), 1),
    ],
    ("label_in_set",): [
        (" yes\n", {"allowed": ["yes", "no"]}, 1),
        ("Yes", {"allowed": ["yes", "no"]}, 0),
        ("no", targets("yes", "no"), 1),
        ("", {"allowed": ["yes"]}, 0),
        ("a", {"allowed": ["a"], "targets": ["b"]}, 1),
    ],
    ("label_in_set", "--label", "yes", "--label", "no"): [("no", {}, 1), ("maybe", targets("maybe"), 0)],
    ("forbidden",): [
        ("As an AI", {"forbidden": ["(?i)as an ai"]}, 0),
        ("As an AI", {"forbidden": ["as an ai"]}, 1),
        ("call 555", {"forbidden": ["x", r"\d{3}"]}, 0),
        ("Paris", {"forbidden": [], "targets": ["Paris"]}, 1),
        ("abc", targets("b"), 0),
    ],
    ("forbidden", "--pattern=b+"): [("abba", {}, 0), ("aa", {}, 1)],
    ("regex_match",): [
        ("in 1815.", {"pattern": r"\d{4}"}, 1),
        ("in 181", {"pattern": r"\d{4}"}, 0),
        ("x", targets("^y", "x$"), 1),
    ],
    ("regex_match", "--variant", "full"): [("1815\n", targets(r"\d{4}"), 0), ("1815", targets(r"\d{4}"), 1)],
    ("numeric_close",): [
        ("42", {"target": 42}, 1),
        ("It is 3.2, or 1,234.5 in all.", {"target": "1234.5"}, 1),
        ("1e3", {"target": 1000}, 1),
        ("-5", {"target": 5}, 0),
        ("2-5", {"target": 5}, 1),
        (".5", {"target": 0.5}, 1),
        ("3.1415926", {"target": 3.14159265}, 1),
        ("3.1416", {"target": 3.14159265}, 0),
        ("none", {"target": 0}, 0),
        ("0", {"target": 0}, 1),
        ("1e999", {"target": 1}, 0),
        ("7", targets(6, "7"), 1),
        ("1,23", {"target": 23}, 1),
    ],
    ("numeric_close", "--abs-tol", "0.1"): [("3.1", {"target": 3.14}, 1), ("3.0", {"target": 3.14}, 0)],
    ("numeric_close", "--variant", "whole"): [("it is 4", {"target": 4}, 0), (" 4\n", {"target": 4}, 1)],
    ("length_limit", "--max", "3"): [("abc", {}, 1), ("abcd", {}, 0), ("äöü", {}, 1), ("", {}, 1)],
    ("length_limit", "--max", "3", "--variant", "bytes"): [("äöü", {}, 0)],
    ("length_limit", "--min", "2", "--variant", "words"): [("one two", {}, 1), ("one", {}, 0)],
    ("length_limit",): [("ab", {"limit": 1}, 0), ("ab", {"limit": 2}, 1), ("a\nb", {"target": 3}, 1)],
    ("length_limit", "--variant", "lines"): [("a\nb\n", {"limit": 2}, 1), ("a\nb\n", {"limit": 1}, 0)],
    ("edit_similarity",): [
        ("kitten", targets("sitting"), 1 - 3 / 7),
        ("", targets(""), 1),
        ("", targets("abc"), 0),
        ("a", targets("b", "a"), 1),
        ("A", targets("a"), 0),
    ],
    ("bleu",): [
        ("The cat is here today.", targets("The cat is here today."), 1),
        ("", targets("a"), 0),
        ("cat", targets("dog", "cat"), 1),
    ],
    ("json_valid",): [
        ('{"a": 1}', {}, 1),
        ("{'a': 1}", {}, 0),
        ("NaN", {}, 0),
        ("", {}, 0),
        ("1 2", {}, 0),
        ('{"a": 1}', {"schema": {"required": ["a"]}}, 1),
        ('{"a": 1}', {"schema": {"required": ["b"]}}, 0),
        ("[]", {"schema": False}, 0),
        ("[" * 100_000, {}, 0),
    ],
    ("string_equals_mcqa",): [
        ("B because", {"choices": ["A", "B"], "target": "B"}, 1),
        ("b", {"choices": ["A", "B"], "target": "B"}, 0),
        (" B", {"choices": ["A", "B"], "target": "B"}, 0),
        ("", {"choices": ["A", "B"], "target": "B"}, 0),
        ("A", {"choices": '["A", "B"]', "ground_truth_choice": "A"}, 1),
        ("A", {"choices": "['A', 'B']", "ground_truth_choice": "A"}, 1),
    ],
    ("function_call_coverage",): [
        ('["a", "b"]', {"function_calls": ["b", "a"]}, 1),
        ('["a"]', {"function_calls": ["a", "a"]}, 0.5),
        ('["a"]', {"function_calls": []}, 1),
        ("[]", {"function_calls": ["a"]}, 0),
        ("I called nothing", {"function_calls": ["a"]}, 0),
        ('[{"name": "a", "arguments": {"x": 1}}]', {"function_calls": ["a"]}, 1),
        (
            '[{"name": "a", "arguments": {"x": [1, {"y": null}]}}]',
            {"function_calls": [{"name": "a", "arguments": {"x": [1.0, {"y": None}]}}]},
            1,
        ),
        (
            '[{"name": "a", "arguments": {"x": 1}}]',
            {"function_calls": [{"name": "a", "arguments": {"x": True}}]},
            0,
        ),
        (  # the one with arguments chooses first, or the name alone would take its call
            '[{"name": "a", "arguments": {"x": 1}}, {"name": "a", "arguments": {"x": 2}}]',
            {"function_calls": ["a", {"name": "a", "arguments": {"x": 1}}]},
            1,
        ),
        (
            '{"tool_calls": [{"function": {"name": "a", "arguments": "{\\"x\\": 1}"}}]}',
            {"function_calls": [{"name": "a", "arguments": {"x": 1}}]},
            1,
        ),
    ],
}


WRONG: list[tuple[str, Mapping[str, object]]] = [  # data of which a metric makes an error
    ("forbidden", {"forbidden": ["("]}),
    ("regex_match", {"pattern": "("}),
    ("json_valid", {"schema": {"type": "nonsense"}}),
    ("json_valid", {"schema": {"pattern": "("}}),
    ("json_valid", {"schema": {"$ref": "http://127.0.0.1:9/never-fetched"}}),
    ("json_valid", {"schema": "text"}),
    ("numeric_close", {"target": "about 3"}),
    ("numeric_close", {"target": True}),
    ("numeric_close", {"targets": []}),
    ("numeric_close", {"target": 10**400}),
    ("length_limit", {"target": "3"}),
    ("string_equals_mcqa", {"choices": "no list", "target": "a"}),
    ("function_call_coverage", {"function_calls": [{"arguments": {}}]}),
]
GOOD = {"targets": ["1"], "choices": ["1"], "limit": 9}
CALLS: list[dict[str, object]] = [  # of each metric, before those of its tables
    {"candidate": "1", "example": GOOD},
    {"candidate": "1", "example": GOOD, "_id": "a"},
    {"candidate": None, "_id": "b"},
    {"candidate": "1", "examples": [GOOD, {"schema": 1}], "_id": "c"},
    {"candidate": "a"},
    {"candidate": "a", "example": {"choices": ["a"], "target": {"a": None}}},
]


@pytest.fixture(scope="module")
def replies(request: pytest.FixtureRequest) -> tuple[str, list[Answer]]:
    """Make all calls without an option in one process of a metric, which its tests share."""
    metric: str = request.param
    table = [{"candidate": one, "example": example} for one, example, _ in TABLES.get((metric,), [])]
    wrong = [{"candidate": '"a"', "example": example} for name, example in WRONG if name == metric]
    return metric, ask(metric, [*CALLS, *table, *wrong])


def of_metrics(*, but: Collection[str] = ()) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("replies", sorted({*METRICS} - {*but}), indirect=True, scope="module")


@of_metrics(but={*METRICS} - {command[0] for command in TABLES if len(command) == 1})
def test_the_scores_are_those_of_the_table(replies: tuple[str, list[Answer]]) -> None:
    metric, said = replies
    scores_are_those_of(TABLES[metric,], said[len(CALLS) :])


@pytest.mark.parametrize("command", [command for command in TABLES if len(command) > 1], ids=" ".join)
def test_with_options_the_scores_are_those_of_the_table(command: tuple[str, ...]) -> None:
    metric, *options = command
    calls = [{"candidate": one, "example": example} for one, example, _ in TABLES[command]]
    scores_are_those_of(TABLES[command], ask(metric, calls, *options))


def scores_are_those_of(table: Sequence[Case], said: Sequence[Answer]) -> None:
    found = [one.get("score", "error") for one in said[: len(table)]]
    assert found == [pytest.approx(score, abs=1e-12) for _, _, score in table]


@of_metrics()
def test_it_stays_alive_gives_back_ids_and_takes_batches(replies: tuple[str, list[Answer]]) -> None:
    first, second, failed, batch = replies[1][:4]
    assert first == {key: value for key, value in second.items() if key != "_id"}
    assert first["_capabilities"] == {"persistent": True, "batch": 64}
    assert (second["_id"], failed["_id"], batch["_id"]) == ("a", "b", "c")
    assert failed["error"] == "the payload's candidate is no text but null"
    single = {key: value for key, value in first.items() if key != "_capabilities"}
    assert batch["results"][0] == single
    assert "error" in batch["results"][1]


@of_metrics(but=["json_valid"])
def test_without_an_example_it_says_what_it_needs(replies: tuple[str, list[Answer]]) -> None:
    bare = replies[1][4]
    assert "score" not in bare
    assert "there is no example" in bare["error"]


@of_metrics(but=["json_valid", "function_call_coverage"])
def test_a_target_of_another_kind_is_an_error(replies: tuple[str, list[Answer]]) -> None:
    assert "an object" in replies[1][5]["error"]


@of_metrics(but={*METRICS} - {name for name, _ in WRONG})
def test_what_is_wrong_with_the_data_is_an_error_and_no_score(replies: tuple[str, list[Answer]]) -> None:
    metric, said = replies
    of_wrong = said[len(CALLS) + len(TABLES.get((metric,), [])) :]
    assert len(of_wrong) == sum(name == metric for name, _ in WRONG)
    assert all("score" not in found and found["error"] for found in of_wrong), of_wrong


def test_every_metric_has_a_table() -> None:
    assert {command[0] for command in TABLES} == set(METRICS)


@pytest.mark.parametrize("metric", METRICS)
def test_a_wrong_field_is_an_error_that_lists_the_fields_there_are(metric: str) -> None:
    example = {"input": "x", "meta": {"gold": "a", "of": {"deep": {"er": 1}}}}
    found = answer(metric, "a", example | {"choices": ["a"]}, "--target-field", "expected")
    assert "score" not in found
    assert found["error"].startswith(
        'the example has no field "expected"; it has "input", "meta.gold", "meta.of.deep"'
    )
    assert f"-e '@{metric} --target-field NAME' reads another" in found["error"], "what to write then"
    assert "did you mean" not in found["error"]


def test_a_field_that_is_nearly_there_is_asked_for() -> None:
    said = answer("exact_match", "a", {"input": "x", "meta": {"team": "a"}}, "--target-field", "meta.teem")
    assert 'no field "meta.teem"; it has "input", "meta.team"; did you mean "meta.team"? (' in said["error"]


def test_an_empty_list_of_targets_is_an_error_and_an_empty_target_is_a_text() -> None:
    cases: list[tuple[str, Mapping[str, object]]] = [
        ("", {"targets": []}),
        ("", {"targets": ""}),
        ("", {"target": ""}),
        ("", {"targets": [""]}),
    ]
    assert scores("exact_match", cases) == scores("f1", cases) == ["error", "error", 1, 1]


def test_fields_lead_inwards_and_a_key_with_dots_goes_before() -> None:
    example = {"extras": {"gold": ["no", "yes"]}, "a.b": "yes"}
    assert answer("exact", "yes", example, "--target-field", "extras.gold")["score"] == 1
    assert answer("exact", "yes", example, "--target-field=extras.gold.1")["score"] == 1
    assert answer("exact", "yes", example, "--target-field", "a.b")["score"] == 1
    assert "error" in answer("exact", "yes", example, "--target-field", "extras.gold.2")
    assert "extras.gold" in answer("exact", "yes", example, "--target-field", "extras.glod")["error"]


def test_long_lists_of_fields_are_cut() -> None:
    error = answer("f1", "a", {f"field{number}" * 20: 1 for number in range(40)})["error"]
    assert len(error) < 1200
    assert "and 28 more" in error


@pytest.mark.parametrize(
    ("line", "says"), [(b"x", "not JSON"), (b"[1]", "a list"), (b"[" * 99999, "not JSON")]
)
def test_what_is_no_payload_is_told(line: bytes, says: str) -> None:
    done = subprocess.run(
        [sys.executable, EVALUATORS / "f1.py"], input=line + b"\n\n", capture_output=True, check=True
    )
    assert says in json.loads(done.stdout)["error"]


def test_the_side_info_explains_the_score() -> None:
    f1 = answer("f1", "the the cat", targets("no", "the dog"))
    assert (f1["overlap"], f1["missing"], f1["extra"]) == (1, ["dog"], ["the", "cat"])
    assert (f1["precision"], f1["recall"], f1["target"]) == (1 / 3, 1 / 2, "the dog")
    differs = answer("exact", "The cot", targets("the cat"))["first_difference"]
    assert differs == {"at": 5, "candidate": "ot", "target": "at"}
    assert answer("contains", "so YES", targets("no", "yes"))["matched"] == "yes"
    assert answer("forbidden", "abc abd", {"forbidden": ["x", "ab."]})["texts"] == ["abc"]
    assert answer("numeric_close", "3.5", {"targets": [1, 3]})["off_by"] == 0.5
    assert answer("multiple_choice", "c", targets("b", "a"))["wanted"] == ["A", "B"]
    mcqa = answer("string_equals_mcqa", "Z", {"choices": ["A"], "target": "A"})
    assert (mcqa["is_correct"], mcqa["completion_validity"]) == (False, "invalid")
    schema = answer("json_valid", '{"a": "x"}', {"schema": {"properties": {"a": {"type": "integer"}}}})
    assert (schema["is_json"], schema["where"]) == (True, "$.a")
    assert answer("bleu", "a b", targets("a b"))["signature"].startswith(
        "nrefs:1|case:mixed|eff:yes|tok:13a|"
    )


def test_calls_in_order_are_a_subsequence_of_all_calls() -> None:
    example = {"function_calls": ["a", {"name": "b", "arguments": {"x": 1}}]}
    calls = ["b", "a", "c", {"name": "b", "arguments": {"x": 1}}]
    found = answer("function_call_coverage", json.dumps(calls), example, "--variant", "in_order")
    assert {key: value for key, value in found.items() if key[:3] in {"all", "num"}} == {
        "all_required_calls_made": True,
        "num_required_calls_made": 2,
        "num_required_calls_not_made": 0,
        "num_unrequired_calls": 2,
        "num_required_calls_total": 2,
    }
    backwards = json.dumps(calls[::-1][:3])
    found = answer("function_call_coverage", backwards, example, "--variant", "in_order")
    assert (found["score"], found["all_required_calls_made"]) == (1.0, False)
    assert answer("function_call_coverage", backwards, example)["all_required_calls_made"] is True


@pytest.mark.parametrize("metric", NEEDING)
def test_a_missing_library_is_an_error_with_the_line_that_installs_it(metric: str) -> None:
    # -S: no site-packages, so none of the libraries
    payload = {"candidate": "1", "example": targets("1")}
    for said in ask(metric, [payload, payload], python=["-S"]):
        assert "score" not in said
        assert f"this metric needs {NEEDING[metric]}: " in said["error"]
        assert f" -m pip install {NEEDING[metric]} (" in said["error"]


@pytest.mark.parametrize("metric", sorted({*METRICS} - {*NEEDING}))
def test_a_metric_and_what_it_shares_run_anywhere_and_start_light(metric: str, tmp_path: Path) -> None:
    for name in (f"{metric}.py", "_metric.py"):
        shutil.copy(EVALUATORS / name, tmp_path)
    done = subprocess.run(
        [
            sys.executable,
            *("-S", "-E", "-X", "importtime"),
            tmp_path / f"{metric}.py",
            "--target-field",
            "target",
        ],
        input=b'{"candidate": "1"}\n',
        capture_output=True,
        cwd="/",
        check=True,
    )
    loaded = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    heavy = {"argparse", "ast", "dataclasses", "inspect", "pathlib", "typing", "optimize_eval", "subprocess"}
    assert not loaded & heavy
    assert len(loaded) < 65, loaded
    source = (tmp_path / f"{metric}.py").read_text()
    assert ("re" in loaded) == bool(re.search("^import (json|re)$", source, re.MULTILINE)), loaded
    assert b'"error"' in done.stdout


def test_a_wrong_option_ends_it_with_a_line_that_says_so() -> None:
    done = subprocess.run(
        [sys.executable, EVALUATORS / "rouge_l.py", "--variant", "latin"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"choose from 'unicode', 'ascii'" in done.stderr


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        ("--variant=lines --max=3", "--variant lines --max 3"),
        ("--max 7 --max 3", "--max 3"),
        ("--min=-1 --max=3", "--max 3 --min -1"),
    ],
)
def test_options_mean_the_same_however_they_are_given(odd: str, plain: str) -> None:
    said = [answer("length_limit", "a\nb\nc\nd", {}, *options.split()) for options in (odd, plain)]
    assert said[0] == said[1]
    assert said[0]["score"] == 0


@pytest.mark.parametrize("options", ["--max", "--max x", "3", "--max 3 --min", "--most 3"])
def test_options_that_cannot_be_read_end_it(options: str) -> None:
    program = [sys.executable, str(EVALUATORS / "length_limit.py"), *options.split()]
    done = subprocess.run(program, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage: length_limit.py")
