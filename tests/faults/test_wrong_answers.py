"""Answers that are wrong in ways that people know: each is told by its cause, with what to write instead."""

from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tools import need

SCRIPT = "this is how JavaScript shows an object: print JSON.stringify(answer) instead"
PYTHON = "this looks like a Python dict: print json.dumps(answer) instead"
FINITE = 'score a finite number; to say that there is no score, answer {"error": "why"}'
ONCE = "print one JSON object for each payload, once"

ANSWERS = {  # what is printed, the kind, the end of the message, the hint or its beginning
    "no zero before the point": (
        b'{"score": .870}',
        "invalid_json",
        'a number begins with a digit, line 1 column 11: {"score": .870}',
        'write 0.870, as printf "%.3f" does',
    ),
    "a negative one": (b'{"score": -.5}', "invalid_json", '{"score": -.5}', "write -0.5, as"),
    "no digit after the point": (b'{"score": 1.}', "invalid_json", '{"score": 1.}', "write 1.0 or 1"),
    "a plus": (b'{"score": +1}', "invalid_json", '{"score": +1}', "take out the +"),
    "a comma in a number": (b'{"score": 0,87}', "invalid_json", '{"score": 0,87}', "write a point, {"),
    "console.log": (b"{ score: 1 }", "invalid_json", '"{ score: 1 }"', SCRIPT),
    "console.log of a text": (b"[object Object]", "invalid_json", '"[object Object]"', SCRIPT),
    "undefined": (b"undefined", "invalid_json", '"undefined"', "undefined was printed"),
    "a field undefined": (b'{"score": undefined}', "invalid_json", "undefined}", "give the value, or leave"),
    "a comma too many": (
        b'{"score": 0.5,}',
        "invalid_json",
        '{"score": 0.5,}',
        "take out the comma before the closing bracket",
    ),
    "a comma too many, on lines": (
        b'{\n "score": 0.5,\n}\n',
        "invalid_json",
        "",
        "take out the comma before",
    ),
    "a comma too many in a list": (b'{"score": 1, "why": [1,]}', "invalid_json", "]}", "take out the comma"),
    "a comma forgotten": (b'{"score": 1 "a": 2}', "invalid_json", '"a": 2}', "let a JSON library write it"),
    "a line break in a text": (b'{"score": 1, "a": "b\nc"}', "invalid_json", '"a": "b', "let a JSON library"),
    "cut off": (b'{"score": 0.5', "invalid_json", '{"score": 0.5', "print the whole object"),
    "Python's": (b'{"score": 1, "ok": True}', "invalid_json", "True}", PYTHON),
    "Ruby's": (b'{"score"=>1}', "invalid_json", '{"score"=>1}', "print answer.to_json instead"),
    "printf of NaN": (b'{"score": -nan}', "invalid_json", '{"score": -nan}', FINITE),
    "a fence": (
        b'```json\n{"score": 1}\n```',
        "invalid_json",
        '"```json"',
        "print the object alone, without",
    ),
    "colours": (
        b'\x1b[32m{"score": 1}\x1b[0m\n',
        "invalid_json",
        "",
        "print only the answer there, and without",
    ),
    "two answers": (
        b'{"score": 1}\n{"score": 0}\n',
        "invalid_json",
        'stdout holds two answers, the second on line 2: {"score": 0}',
        ONCE,
    ),
    "two answers on a line": (b'{"score": 1}{"score": 0}', "invalid_json", 'second is {"score": 0}', ONCE),
    "a score twice": (
        b'{"score": 1, "why": "x", "score": 0}',
        "invalid_json",
        'stdout gives the key "score" twice in one object',
        "give it once: two of them contradict each other",
    ),
    "a score twice after a mark": (
        b'\xef\xbb\xbf{"score": 1, "score": 0}',
        "invalid_json",
        'the key "score" twice in one object',
        "give it once",
    ),
    "UTF-16": (
        '{"score": 1}'.encode("utf-16-le"),
        "invalid_utf8",
        "stdout is UTF-16, not UTF-8",
        "write UTF-8 (PowerShell: ",
    ),
    "UTF-16, the other way": (
        '{"score": 1}'.encode("utf-16-be"),
        "invalid_utf8",
        "is UTF-16, not UTF-8",
        "w",
    ),
    "UTF-16 with a mark": ('{"score": 1}'.encode("utf-16"), "invalid_utf8", "is UTF-16, not UTF-8", "write"),
    "NaN by JSON.stringify": (
        b'{"score": null}',
        "score_type",
        "score is null, not a number",
        "JSON libraries make null of NaN, and jq of a field that is missing: score a finite number, or",
    ),
    "true": (
        b'{"score": true}',
        "score_type",
        "true, not a number",
        'write 1 for true and 0 for false: {"score": 1}',
    ),
    "false": (
        b'{"score": false}',
        "score_type",
        "false, not a number",
        'write 1 for true and 0 for false: {"score": 0}',
    ),
    "a number in quotes": (
        b'{"score": "0.25"}',
        "score_type",
        "not a number",
        'write the number itself, without quotes: {"score": 0.25}',
    ),
    "a word": (b'{"score": "good"}', "score_type", "not a number", 'write one number: {"score": 0.7}'),
    "a list": (b'{"score": [0.5]}', "score_type", "not a number", 'write one number: {"score": 0.7}'),
    "a capital": (
        b'{"Score": 0.7}',
        "missing_score",
        'it has "Score"',
        'name it "score" instead of "Score"',
    ),
    "scores": (b'{"scores": 0.7}', "missing_score", 'it has "scores"', 'name it "score" instead of "scores"'),
    "inside": (
        b'{"result": {"score": 0.7}}',
        "missing_score",
        'it has "result"',
        '"score" stands inside of "result": put it at the top, {"score": …, "result": …}',
    ),
    "in a list": (b'[{"score": 1}]', "not_an_object", "not a JSON object", "print the object alone, without"),
    "encoded twice": (
        b'"{\\"score\\": 1}"',
        "not_an_object",
        "not a JSON object",
        "it is JSON within a text: encode the answer once",
    ),
}


@pytest.mark.parametrize(("printed", "kind", "said", "hint"), ANSWERS.values(), ids=ANSWERS)
def test_what_is_wrong_with_an_answer_is_told_by_its_cause(
    cli: Cli, tmp_path: Path, printed: bytes, kind: str, said: str, hint: str
) -> None:
    (tmp_path / "answer").write_bytes(printed)
    told = cli("score", "-", "-e", "cat answer").json
    assert told["kind"] == kind
    assert told["message"].endswith(said)
    assert told["hint"].startswith(hint)


@pytest.mark.parametrize("name", ["no zero before the point", "a score twice", "inside", "true"])
def test_run_and_preflight_say_what_score_says(cli: Cli, tmp_path: Path, name: str) -> None:
    printed, kind, _, _ = ANSWERS[name]
    (tmp_path / "answer").write_bytes(printed)
    (tmp_path / "a.txt").touch()
    told = cli("score", "a.txt", "-e", "cat answer").json
    run = cli("run", "--candidate", "a.txt", "-e", "cat answer")
    assert f"{kind}: {told['message']}\n  try: {told['hint']}\n" in run.stderr
    checks = cli("preflight", "--candidate", "a.txt", "-e", "cat answer", "--json")
    assert (run.status, checks.status) == (4, 1)
    assert f"{kind}: {told['message']}; {told['hint']}" in checks.stdout.replace('\\"', '"')


def test_scores_of_parts_beside_the_score_are_side_information(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "answer").write_text('{"score": 1, "parts": [{"score": 0}, {"score": 1}]}')
    told = cli("score", "-", "-e", "cat answer").json
    assert (told["score"], told["side_info"]) == (1.0, {"parts": [{"score": 0}, {"score": 1}]})


def test_a_score_twice_in_one_result_of_a_batch_fails_that_example_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "batch.py").write_text(BATCH)
    (tmp_path / "a.txt").touch()
    (tmp_path / "d.jsonl").write_text('{"n": 0}\n{"n": 1}\n{"n": 2}\n{"n": 3}\n{"n": 4}\n')
    cli("run", "--candidate", "a.txt", "-e", "python3 batch.py", "--dataset", "d.jsonl", "--out", "x")
    rows = cli("report", "x", "--format", "jsonl").stdout
    assert rows.count('"outcome":"scored"') == 4
    assert rows.count("twice in one object") == 1


BATCH = """
import json, sys
asked = json.loads(sys.stdin.readline())
def of(example):
    twice = ', "score": 1' if example["n"] == 3 else ""
    return '{"score": 0.5' + twice + "}"
declared = '"_capabilities": {"batch": 4}'
if "examples" in asked:
    print('{"results": [' + ", ".join(map(of, asked["examples"])) + "], " + declared + "}")
else:
    print(of(asked["example"])[:-1] + ", " + declared + "}")
"""


@need("node")
def test_what_node_shows_of_an_object_is_told_as_such(cli: Cli) -> None:
    told = cli("score", "-", "-e", "node -e 'console.log({score: 0.5})'").json
    assert told["hint"] == SCRIPT


@need("node")
def test_what_node_makes_of_nan_is_told_as_such(cli: Cli) -> None:
    told = cli("score", "-", "-e", "node -e 'console.log(JSON.stringify({score: 0 / 0}))'").json
    assert told["hint"].startswith("JSON libraries make null of NaN")
