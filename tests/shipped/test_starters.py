"""The starters: in every language the same answers to the digit, and `new` gives one that works at once."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.cli.commands.new import LANGUAGES, Language
from tests.front_door import in_this_process
from tests.paths import PROGRAM, ROOT
from tests.tools import need, starts_in_any_locale

MOST_LINES = {"tcl": 70, "go": 62, "rust": 61}
FEW = 60


def bash(line: str, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"PATH": path}
    return subprocess.run(
        ["bash", "-c", line], input=stdin, capture_output=True, cwd=folder, env=environment, check=False
    )


@dataclass(frozen=True, slots=True)
class Tried:
    """A starter as `new` wrote it, the line that it printed, and what that line gave."""

    folder: Path
    command: str
    line: str
    result: str


def tried(language: Language, folder: Path) -> Tried:
    new = in_this_process(folder)("new", "evaluator", "mine", "--lang", language.name)
    assert new.status == 0, new.stderr
    line = new.stdout
    done = bash(line, folder)
    return Tried(
        folder=folder,
        command=language.spec.replace("NAME", "mine").removeprefix("mine="),
        line=line,
        result=f"exit code {done.returncode}\n{(done.stdout + done.stderr).decode()}",
    )


@pytest.mark.parametrize(
    "language", [pytest.param(one, id=one.name, marks=need(*one.needs)) for one in LANGUAGES.values()]
)
def test_what_new_writes_works_as_it_stands_and_answers_as_every_language_does(
    language: Language, tmp_path: Path
) -> None:
    """One test a language: it is compiled and tried once."""
    starter = tried(language, tmp_path)
    _the_line_that_is_printed_works(starter)
    _answers_are_those_of_all_languages(starter)
    if not starts_in_any_locale.args[0]:  # what keeps Python from it, not us
        _answers_one_payload_in_any_locale(starter)


def _the_line_that_is_printed_works(tried: Tried) -> None:
    assert tried.line.count("\n") == 1
    assert tried.result.startswith("exit code 0\n")
    assert "Ready to run." in tried.result  # without a warning
    assert "truncated" in tried.result  # on trial
    assert not re.search(r"^ +try it", tried.result, re.MULTILINE) or "shim" in tried.result


def words(text: object) -> list[str]:
    """Find words in another way than the starters do: sign by sign."""
    signs = (
        [sign if sign >= "\x80" or sign.isalnum() else " " for sign in text] if isinstance(text, str) else []
    )
    return [
        "".join(sign.lower() if sign < "\x80" else sign for sign in word)
        for word in "".join(signs).split(" ")
        if word
    ]


def expected(payload: Any) -> dict[str, Any]:
    wanted = words(payload.get("example", {}).get("target"))
    if not wanted:
        return {"error": "the example needs a target, a text with a word in it"}
    said = words(payload["candidate"])
    found, longer = sum(word in {*said} for word in wanted), max(len(wanted), len(said))
    return {"score": found / longer, "found": found, "words": longer}


PLAIN = [  # candidate, example; sent both with signs as they are and with every sign escaped that can be
    ("hello Ada", {"target": "Hello, dear Ada!"}),
    ("a b c d e f", {"target": "A B c x y z 7"}),
    ("", {"target": "one two three"}),
    ("Zoë said: ÉTÉ été", {"target": "zoë été Été ÉTÉ"}),
    ("K k", {"target": "\u212a K"}),  # the sign of Kelvin is a k where all of Unicode is made small
    ("おはよう ございます", {"target": "おはよう、 ございます"}),
    ("🙂 👩\u200d🚀 x", {"target": "🙂 👩\u200d🚀 👩 y"}),
    ('he said "no"', {"target": 'said "no" \\ "yes"'}),
    ("back\\slash \\ud83d \\u0041 \\n", {"target": "back slash ud83d u0041 n A"}),
    ("tab\there\nand\r\nthere\b\f/", {"target": "tab here and there\u001f b f n"}),
    ("nul\0inside", {"target": "nul inside nulinside"}),
    ("del\x7fete next\x85line", {"target": "del ete next line next\x85line"}),
    ("line\u2028and\u2029paragraph", {"target": "line and line\u2028and\u2029paragraph"}),
    ("no\u00a0break", {"target": "no break no\u00a0break"}),
    ("\ufeffmark", {"target": "mark \ufeffmark"}),
    ("a-b_c.d", {"target": "a b c d a-b"}),
    ("x x x", {"target": "x x y"}),
    ("7 007 1e5", {"target": "7 07 1E5"}),
    ("yes", {"meta": {"target": "no"}, "target": "yes", "more": [{"target": "no"}, ["target"]]}),
    ("yes", {"Target": "no", "TARGET": "no", "target ": "no", "tar": "no", "target": "yes sir"}),
    ("yes", {"note": '"target": "no"', "target": "yes yes no", "z": "}]{["}),
    ("yes", {"target\0": "no", "": "no", "target": "yes"}),
    ("yes", {"big": 10**400, "small": -1.5e-300, "t": True, "f": False, "n": None, "target": "yes no"}),
    ("yes", {"target": "yes", "deep": json.loads("[" * 190 + "]" * 190)}),
    ("yes", {"target": "yes", "empty": [{}, [], "", [[]], {"a": {}}]}),
    ("long " * 2_000 + "end", {"target": "long " * 400 + "end start"}),
    ("x" * 300_000, {"target": "x" * 300_000 + " y"}),
    ("one two", {"target": " ".join(str(number) for number in range(97)) + " one"}),
    ("no target", {"input": "x"}),
    ("no text", {"target": 5}),
    ("no text", {"target": None}),
    ("no text", {"target": ["no", "text"]}),
    ("no text", {"target": {"target": "no text"}}),
    ("no word", {"target": " .,;! "}),
    ("true", {"target": True}),
]
ODD = [  # lines as other programs may write them
    b'{"candidate":"yes","example":{"t\\u0061rget":"yes no"},"_id":"%d"}',
    b'{ "candidate" : "yes" ,\r"example" :\t{ "a" : [ 1 , 2 ],\r "target" : "yes no" } , "_id" : "%d" }',
    b'{"_id":"%d","example":{"target":"yes \\/ no"},"candidate":"\\"yes\\" \\u004eO"}',
    b'{"candidate":"\\ud83d\\ude42","example":{"target":"\xf0\x9f\x99\x82 \\uD83D\\uDE43"},"_id":"%d"}',
    b'{"candidate":"yes","_id":"\\u00e9\\" \\\\ %d"}',
    b'{"_protocol_version":2,"candidate":"yes","task_model":"a/b","_id":"%d"}',
]


def lines() -> list[bytes]:
    asked = [
        json.dumps(
            {"candidate": candidate, "example": example, "_id": str(number)}, ensure_ascii=ascii_only
        ).encode()
        for number, (candidate, example) in enumerate(PLAIN)
        for ascii_only in (False, True)
    ]
    return asked + [line % number for number, line in enumerate(ODD)]


@cache
def lines_and_answers() -> list[tuple[bytes, dict[str, Any]]]:
    """Expect the same of every language: it is worked out once."""
    payloads = [(line, json.loads(line)) for line in lines()]
    rest = {"_capabilities": {"persistent": True}}
    return [(line, expected(one) | rest | {"_id": one["_id"]}) for line, one in payloads]


def _answers_are_those_of_all_languages(tried: Tried) -> None:
    asked = lines_and_answers()
    assert len(asked) >= 50
    done = bash(tried.command, tried.folder, b"".join(line + b"\n" for line, _ in asked))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(asked), done.stderr.decode()
    for (line, wanted), answer in zip(asked, answers, strict=True):
        assert answer == wanted, line[:300]
        assert list(answer)[-1] == "_id"


def _answers_one_payload_in_any_locale(tried: Tried) -> None:
    payload = '{"_protocol_version":2,"candidate":"Zoë","example":{"target":"Zoë Été"}}'
    done = bash(
        f"env LC_ALL=C LANG=C {tried.command}", tried.folder, payload.encode()
    )  # without an end of the line
    answer = {"score": 0.5, "found": 1, "words": 2, "_capabilities": {"persistent": True}}
    assert json.loads(done.stdout) == answer, done.stderr.decode()


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_a_starter_is_short_and_says_where_to_change_it(language: Language) -> None:
    text = (ROOT / "evaluators" / "starters" / f"word_share{language.suffix}").read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES.get(language.name, FEW)
    assert len(re.findall(r"[Cc]hange this", text)) == 1
    assert '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' in text


def test_every_starter_is_in_the_table_and_every_tool_in_ci() -> None:
    suffixes = {path.suffix for path in (ROOT / "evaluators" / "starters").glob("word_share.*")}
    assert suffixes == {one.suffix for one in LANGUAGES.values()} | {".jsonl", ".toml"}
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    tools = dict(re.findall(r"^(\S+) (\S+)$", ci.partition('tools="')[2].partition('"')[0], re.MULTILINE))
    for one in LANGUAGES.values():
        assert set(one.needs) - {"python3"} <= set(tools)
        assert {tools[tool] for tool in one.needs if tool in tools} <= set(one.package.split())
