"""Evaluators on trial: each way to be wrong is named, with a line that shows it; sound ones pass."""

import json
import random
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import Trial, UsageError, trial
from tests.benchmarks.zoo.faulty import FAULTY as FAULTY_ANIMALS
from tests.benchmarks.zoo.trying import is_named, trial_of
from tests.fake_model import StartModel
from tests.front_door import Cli, Result
from tests.run.preflight.pasting import findings, pasted
from tests.tools import need, write_program

Judge = Callable[[str, dict[str, Any]], Any]

ROWS = [
    {"id": f"q-{number}", "target": target}
    for number, target in enumerate(["Paris", "Zoë Müller", "New York City", "MARIE Curie", "1,250"], 1)
]
NUMBERS = [{"nr": number, "target": target} for number, target in enumerate([42, 1234, -7, 2500])]


def exact(candidate: str, example: Mapping[str, Any]) -> float:
    return float(candidate == str(example["target"]))


def words_of(text: str) -> set[str]:
    return set(text.lower().split())


def as_number(text: str) -> float:
    return float(text) if text.lstrip("-").isdigit() else 0.5


def remembers() -> Judge:
    known: dict[str, float] = {}
    return lambda c, e: known.setdefault(c, exact(c, e))


def tires() -> Judge:
    calls: list[str] = []

    def judge(candidate: str, example: dict[str, Any]) -> float:
        calls.append(candidate)
        return float(exact(candidate, example) and len(calls) < 20)

    return judge


def as_the_one_before() -> Judge:
    before = [""]

    def judge(candidate: str, example: dict[str, Any]) -> float:
        last, before[0] = before[0], candidate
        return float(candidate == last or exact(candidate, example))

    return judge


def score_in(candidate: str, example: dict[str, Any]) -> float:
    try:
        return float(json.loads(candidate)["score"])
    except (ValueError, TypeError, KeyError):
        return exact(candidate, example)


FAULTY: Mapping[str, tuple[Judge, str, str]] = {  # → the check that fails, what it says
    "a constant": (lambda _c, _e: 0.7, "constant", "ignores the candidate, or is constant"),
    "another field": (lambda c, e: float(c == e["id"]), "good", 'what stands in "id" 1: does it look at'),
    "what is never equal": (lambda c, e: float(id(c) == id(e)), "good", "as wrong ones do: does it look at"),
    "one side in small letters": (
        lambda c, e: float(c.lower() == e["target"]), "good", "1 where row and candidate are in small letters"
    ),
    "a gold made ASCII": (
        lambda c, e: float(c == e["target"].encode("ascii", "ignore").decode()),
        "good", "1 where row and candidate are without letters that are not ASCII: is one side alone",
    ),
    "breaks": (lambda c, e: exact(c, e) if c.isascii() else 1 / 0, "answers train", "ZeroDivisionError"),
    "a distance": (lambda c, e: 1 - exact(c, e), "inverted", "is it a distance?"),
    "the next row": (
        lambda c, e: float(c == ROWS[int(e["id"][2:]) % len(ROWS)]["target"]), "inverted", "at another row?"
    ),
    "no example": (lambda c, _e: len(c) / 100 if len(c) < 2 else 1.0, "constant", "all 8 scores are equal"),
    "remembers": (remembers(), "constant", "or remembers the candidate"),
    "empty is in all": (lambda c, e: float(c.strip() in e["target"]), "empty", "looked for in the gold"),
    "reads its score": (score_in, "echo", "or reads its score there"),
    "precision alone": (
        lambda c, e: len(words_of(c) & words_of(e["target"])) / (len(words_of(c)) or 1),
        "truncated", 'the good "New York City" 1: what is left out costs nothing: does',
    ),
    "letters in any order": (lambda c, e: float(sorted(c) == sorted(e["target"])), "near miss", "ytiC"),
    "the first word again": (
        lambda c, e: sum(word in words_of(e["target"]) for word in c.lower().split())
        / max(len(c.split()), len(e["target"].split())),
        "near miss", '"New York New" scores 1',
    ),
    "a part of a word": (
        lambda c, e: sum(word in c.lower() for word in words_of(e["target"]))
        / max(len(c.split()), len(e["target"].split())),
        "near miss", "is a part of a word the word?",
    ),
    "what is common": (lambda c, e: float(bool(set(c) & set(e["target"]))), "wrong answers", "form alone"),
    "tires": (tires(), "same answer", "when it was asked again"),
    "as the one before": (as_the_one_before(), "same answer", "scored 0, and 1 when it was asked again"),
}  # fmt: skip
LISTS = [
    {"target": target} for target in ("red, green, blue", "Peru, Chile, Laos", "helium, neon, argon, xenon")
]
LETTERS = [{"target": letter} for letter in "BADC"]
SENTENCES = [
    {"target": target}
    for target in ("A dog sleeps under the table of the house.", "Rain falls on the old town by the river.")
]
REASONED = [
    {"target": target} for target in ("3 + 4 = 7\n#### 7", "it is 1250\n#### 1,250", "so 12\n#### 12")
]


def without_last_item(candidate: str, example: Mapping[str, Any]) -> float:
    wanted, said = sorted(example["target"].split(", ")), candidate.split(", ")
    return sum(item in said for item in wanted[:-1]) / max(len(wanted) - 1, len(said) - 1)


def unclipped(candidate: str, example: Mapping[str, Any]) -> float:
    said, wanted = ([*pairwise(text.split())] for text in (candidate, example["target"]))
    return sum(pair in wanted for pair in said) / max(len(wanted), len(said), 1)


def is_letter(candidate: str, example: Mapping[str, Any]) -> float:
    said = re.search(r"answer is ([A-D])", candidate) or re.fullmatch("([A-D])", candidate)
    return float(said is not None and said[1] == example["target"])


def not_too_far(candidate: str, example: Mapping[str, Any]) -> float:
    try:
        return float(not abs(float(candidate) - example["target"]) > 0.1)
    except ValueError:
        return 0


def puts_fields(candidate: str, example: Mapping[str, Any]) -> float:
    try:
        row = {**example, **json.loads(candidate)}
    except (ValueError, TypeError):
        row = {**example, "answer": candidate}
    return float(row.get("answer") == row["target"])


TAGS = [
    {"target": target}
    for target in (["quick", "soup", "warm"], ["vegan", "sweet", "cake"], ["fish", "grill"])
]
CALLS = [{"target": {"name": f"call {who}", "to": {"who": who}}} for who in ("Ada", "Bob", "Eve")]
RANKS = [{"target": target} for target in ("1 2 3 4", "2 1 4 3", "4 2 1 3")]


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def share_of_tags(candidate: str, example: Mapping[str, Any]) -> float:
    said, wanted = read(candidate), {*example["target"]}
    said = {*map(str, said)} if isinstance(said, list) else {*candidate.split(", ")}
    return len(said & wanted) / len(said | wanted)


def first_tags(candidate: str, example: Mapping[str, Any]) -> float:
    said = read(candidate)
    return float(isinstance(said, list) and len(said) > 1 and said[:2] == example["target"][:2])


def half_of_call(candidate: str, example: Mapping[str, Any]) -> float:
    said = read(candidate)
    return float(isinstance(said, dict) and said.get("name") == example["target"]["name"])


def without_sign(candidate: str, example: Mapping[str, Any]) -> float:
    said, wanted = candidate.split(), example["target"].split()
    return float(wanted in (said, said[::-1]))


FAULTY_ELSEWHERE: Mapping[str, tuple[Judge, list[dict[str, Any]], str, str]] = {
    "a pattern": (lambda c, e: float(fnmatch(e["target"], c)), ROWS, "code", "it is taken as a pattern"),
    "ends": (lambda c, e: exact(c, e) or float("exit" in c), ROWS, "code", "it is run, and ends before"),
    "its own gold": (puts_fields, ROWS, "echo", "it brings its own gold"),
    "an item": (without_last_item, LISTS, "truncated", "an item that is left out costs nothing: off by one?"),
    "a circle": (unclipped, SENTENCES, "near miss", "more often than the gold has them?"),
    "begins so": (is_letter, LETTERS, "near miss", "does it look where the word ends?"),
    "an item of a list": (first_tags, TAGS, "truncated", "what is left out costs nothing"),
    "any value": (half_of_call, CALLS, "near miss", "its last value is another one"),
    "upside down": (without_sign, RANKS, "near miss", "is a sign lost?"),
    "no number": (not_too_far, NUMBERS, "number", "NaN passes"),
}


@pytest.mark.parametrize(("judge", "rows", "check", "said"), FAULTY_ELSEWHERE.values(), ids=FAULTY_ELSEWHERE)
def test_code_lists_letters_and_what_is_no_number_are_tried(
    judge: Judge, rows: list[dict[str, Any]], check: str, said: str
) -> None:
    tried = trial(judge, rows, good="target")
    assert said in {**tried.faults, **tried.warnings}[check], tried.checks
    assert (tried.calls <= 60, tried.ok) == (True, judge in {is_letter, without_sign})  # as many mean it


FAULTY_NUMBERS: Mapping[str, tuple[Judge, str]] = {
    "the sign is lost": (lambda c, e: float(abs(as_number(c)) == abs(e["target"])), "the sign is lost"),
    "digits in any order": (lambda c, e: float(sorted(c) == sorted(str(e["target"]))), "the order of digits"),
    "the end alone": (lambda c, e: float(c.endswith(str(e["target"]))), "it minds the end alone"),
    "points are nothing": (
        lambda c, e: float(as_number(c.replace(".", "")) == e["target"]), "a decimal point is taken for"
    ),
    "off by one": (lambda c, e: float(abs(as_number(c) - e["target"]) <= 1), "off by one"),
}  # fmt: skip


@pytest.mark.parametrize(("judge", "check", "said"), FAULTY.values(), ids=FAULTY)
def test_each_way_to_be_wrong_is_named(judge: Judge, check: str, said: str) -> None:
    tried = trial(judge, ROWS, good="target")
    assert not tried.ok
    assert said in tried.faults[check], tried.faults


DECIMALS = [{"target": target} for target in (3.25, -12.75, 0.5)]


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (lambda c, e: float(int(as_decimal(c)) == int(e["target"])), '"-12" scores 1'),
        (lambda c, e: float(round(as_decimal(c)) == round(e["target"])), '"-13" scores 1'),
        (lambda c, e: float(abs(as_decimal(c)) == abs(e["target"])), "the sign is lost"),
    ],
    ids=["int", "round", "abs"],
)
def test_decimal_numbers_that_look_alike_are_told_apart(judge: Judge, said: str) -> None:
    tried = trial(judge, DECIMALS, good="target")
    assert said in {**tried.faults, **tried.warnings}["number"]  # rounding may be a tolerance


def as_decimal(text: str) -> float:
    return float(text) if text.replace(".", "").lstrip("-").isdigit() else 99.5


@pytest.mark.parametrize(("judge", "said"), FAULTY_NUMBERS.values(), ids=FAULTY_NUMBERS)
def test_numbers_that_look_alike_are_told_apart(judge: Judge, said: str) -> None:
    tried = trial(judge, NUMBERS, good="target")
    assert said in tried.faults["number"], tried


def punctuated(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum() or letter == " ")


def by_coin(seed: int) -> Judge:
    coin = random.Random(seed)
    return lambda c, e: exact(c, e) or coin.random() / 2


SOUND: Mapping[str, tuple[Judge, list[dict[str, Any]], set[str]]] = {  # → what may be warned of
    "exact": (exact, ROWS, set()),
    "in small letters": (lambda c, e: float(c.strip().lower() == e["target"].lower()), ROWS, set()),
    "without punctuation": (
        lambda c, e: float(punctuated(c) == punctuated(str(e["target"]))), NUMBERS, {"number"}
    ),
    "words in common": (
        lambda c, e: len(words_of(c) & words_of(e["target"])) / len(words_of(c) | words_of(e["target"])),
        ROWS, set(),
    ),
    "within a twentieth": (
        lambda c, e: float(abs((float(c) if c.replace(".", "").lstrip("-").isdigit() else 0) - e["target"])
                           <= abs(e["target"]) / 20), NUMBERS, set(),
    ),
    "contains": (lambda c, e: float(e["target"] in c), ROWS, {"listed", "embedded", "extra"}),
    "ASCII alone": (
        lambda c, e: float(c.encode("ascii", "ignore") == e["target"].encode("ascii", "ignore")),
        ROWS, {"near miss"},
    ),
    "a list, in any order": (share_of_tags, TAGS, set()),
    "an object": (lambda c, e: float(read(c) == e["target"]), CALLS, set()),
    "a number, whatever its unit": (
        lambda c, e: float(c.split()[:1] == e["target"].split()[:1]),
        [{"target": target} for target in ("42 km", "7 g", "1.5 l")], {"extra", "truncated"},
    ),
    "zero without a gold": (lambda c, e: float(c == e.get("target")), ROWS, set()),
    "zero where a row has none": (
        lambda c, e: float(c == e.get("target")), [*ROWS, {"id": "q-6"}], {"missing gold"}
    ),
    "the last number": (
        lambda c, e: float(last_number(c) == last_number(e["target"])), REASONED, set()
    ),
    "codes as numbers": (
        lambda c, e: float(as_number(c) == as_number(e["target"])),
        [{"target": target} for target in ("007", "12", "1250")], {"number"}
    ),
    "all is right without a gold": (
        lambda c, e: float(c == e.get("target", c)), ROWS, {"missing gold"}
    ),
}  # fmt: skip


def last_number(text: str) -> str:
    return str(re.findall(r"\d[\d,]*", f"0 {text}")[-1]).replace(",", "")


def test_sound_ones_pass_and_what_may_be_meant_is_a_warning() -> None:
    with ThreadPoolExecutor(len(SOUND)) as slots:
        tried = dict(
            zip(
                SOUND,
                slots.map(lambda case: trial(case[0], case[1], good="target"), SOUND.values()),
                strict=True,
            )
        )
    assert {name: one.faults for name, one in tried.items() if not one.ok} == {}
    assert {name: set(one.warnings) for name, one in tried.items()} == {
        name: warned for name, (_, _, warned) in SOUND.items()
    }


def test_what_a_trial_cannot_try_it_says() -> None:
    tried = trial(exact, [{"target": "Paris"}, {"target": "paris"}], good="target")
    left = {check.name: check.message for check in tried.checks if check.status == "skip"}
    assert tried.ok
    assert "there is one gold alone" in left["wrong answers" if "wrong answers" in left else "near miss"]
    without = trial(by_coin(1), ROWS, good="target", near_misses=False)
    left = {check.name: check.message for check in without.checks if check.status == "skip"}
    assert left["near miss"] == "left out: --no-near-misses"
    assert "same answer" in without.faults


def test_what_was_not_tried_is_told_in_one_line_and_a_newline_that_costs_the_score(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"target": "Rome"}\n{"target": "Ulm"}\n')
    (tmp_path / "rome.txt").write_text("Rome\n")
    body = "def judge(c, e):\n    assert c\n    return float(c == e['target'])\n"
    (tmp_path / "judge.py").write_text(body)
    tried = ("preflight", "-e", "judge.py:judge", "--dataset", "rows.jsonl", "--good", "target")
    said = " ".join(cli(*tried, "--candidate", "rome.txt").stdout.split())
    left = said.partition("not tried: ")[2]
    assert left.startswith('empty (it breaks on "": AssertionError: (judge.py, line 2)); truncated (no gold')
    assert " empty," not in said.partition("passed:")[2].partition("not tried")[0]
    newline = '! newline: train row 1: "Rome\\n" scores 0, and the good "Rome" 1: candidates here end in a'
    assert newline in said


def test_a_gold_that_ends_in_a_newline_is_said_to_do_so() -> None:
    rows = [{"target": "Paris"}, {"target": "Rome\n"}, {"target": "New York"}]
    strict = trial(exact, rows, good="target")
    assert strict.ok
    assert strict.warnings["newline"].endswith(
        'the good "Rome\\n" 1: replies end in no newline: strip it in the data, or the evaluator'
    )
    on_one_side = trial(lambda c, e: exact(c.strip(), e), rows, good="target")
    assert "1 where row and candidate are stripped: is one side alone made so?" in on_one_side.faults["good"]
    assert on_one_side.calls < strict.calls <= 60
    assert trial(lambda c, e: exact(c.strip(), {"target": e["target"].strip()}), rows, good="target").ok


def test_an_answer_that_changes_by_itself_is_no_matter_of_calls_at_once() -> None:
    lacking: list[str] = []  # which is tried right before calls at once

    def judge(candidate: str, example: dict[str, Any]) -> float:
        lacking.extend([candidate] * ("target" not in example))
        return float(candidate == example.get("target")) or float(bool(lacking)) / 2

    tried = trial(judge, ROWS, good="target")
    assert "when another process was asked: does it draw" in tried.faults["same answer"]
    said = {
        check.name: str(check.status) for check in tried.checks if check.name in {"same answer", "at once"}
    }
    assert said == {"same answer": "fail", "at once": "skip"}


def test_rows_with_letters_and_numbers_that_find_most_are_tried() -> None:
    seen: list[str] = []
    plain = [{"target": f"row {number}"} for number in range(50)]

    def judge(candidate: str, example: dict[str, Any]) -> float:
        seen.append(example["target"])
        return exact(candidate, example)

    trial(judge, [*plain, *ROWS], good="target")
    assert {"Zoë Müller", "MARIE Curie", "1,250"} <= {*seen}
    seen.clear()
    tried = trial(judge, [*plain, *ROWS[:3], {"target": "さようなら"}], good="target")
    assert {"Zoë Müller", "さようなら"} <= {*seen}
    said = {check.name: check.message for check in tried.checks}["scores"]
    assert said.startswith("0 or 1 in all of ")


def test_a_score_of_any_range_may_differ_from_row_to_row() -> None:
    judge: Judge = lambda c, e: 10 * exact(c, e) + int(e["id"][2:]) - 20  # noqa: E731  as tables have it
    tried = trial(judge, ROWS, good="target", score_range="any")
    assert tried.ok
    assert "good" in tried.warnings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"good": "gold"}, "'gold' is neither a field of the examples nor a file"),
        ({"good": "none"}, "no example has a text or a number in 'none'"),
        ({"good": "target", "dataset": ["Paris"]}, "row 1 of the dataset is not a table"),
    ],
)
def test_a_gold_that_is_not_there_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        trial(exact, **{"dataset": [{"target": "x", "none": None}], **options})


def sound_perl(folder: Path) -> str:
    lines = [
        "#!/usr/bin/env perl",
        "use JSON::PP; $| = 1;",
        "while (<STDIN>) { my $p = decode_json($_); my $t = $p->{example}{target};",
        'my $a = defined $t ? {score => $p->{candidate} eq $t ? 1 : 0} : {error => "no target"};',
        "$a->{_id} = $p->{_id}; $a->{_capabilities} = {persistent => JSON::PP::true};",
        'print encode_json($a), "\\n" }',
    ]
    return str(write_program(folder / "sound.pl", lines))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


@need("perl")
def test_a_sound_program_passes_all_of_it(cli: Cli, tmp_path: Path, rows: Path) -> None:
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:4]))  # without the number
    result = cli("preflight", "-e", sound_perl(tmp_path), "--dataset", rows, "--good", "target", "--json")
    assert result.status == 0, result.stdout
    said = {name: check["status"] for name, check in findings(result).items()}
    assert said == {**dict.fromkeys(said, "pass"), "batches": "skip", "number": "skip"}
    assert {
        "constant",
        "near miss",
        "same answer",
        "memory",
        "network",
        "writes",
        "kept alive",
    } <= said.keys()


def run_program(cli: Cli, folder: Path, body: str, *options: str) -> Result:
    program = write_program(folder / "judge.sh", ["#!/bin/sh", body])
    return cli("preflight", "-e", str(program), "--dataset", "rows.jsonl", "--good", "target", *options)


PROGRAMS = {  # body → the check, what its line prints when pasted
    "echoes": (
        """jq -c '.example.target as $t | .candidate
            | {score: (if . == $t or contains("Score: 1.0") then 1 else 0 end)}'""",
        "echo",
        '{"score":1}',
    ),
    "constant": ("cat > /dev/null; echo '{\"score\": 0.5}'", "constant", '{"score": 0.5}'),
    "hostile": (
        "cat > /dev/null; printf '{\"error\": \"\\\\u001b[31mred\"}'", "answers train", "error"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "check", "shown"), PROGRAMS.values(), ids=PROGRAMS)
@need("jq")
def test_a_fault_comes_with_a_line_that_shows_it(
    cli: Cli, tmp_path: Path, rows: Path, body: str, check: str, shown: str
) -> None:
    assert rows.exists()
    result = run_program(cli, tmp_path, body, "--json")
    found = findings(result)[check]
    assert (result.status, found["status"]) == (1, "fail")
    assert shown in pasted(found["reproduce"], tmp_path)
    text = run_program(cli, tmp_path, body).stdout
    assert "\x1b" not in text
    assert f"✕ {check}: try it: " in text


@need("jq")
def test_what_a_program_does_to_the_data_and_asks_of_the_net_is_seen(
    cli: Cli, tmp_path: Path, rows: Path
) -> None:
    assert rows.exists()
    body = 'echo \'{"target": "x"}\' >> rows.jsonl; curl -s -m 2 http://example.invalid/ > /dev/null; '
    score = "{score: (if .candidate == .example.target then 1 else 0 end)}"
    found = findings(run_program(cli, tmp_path, f"{body} jq -c '{score}'", "--json"))
    assert found["writes"]["message"] == "rows.jsonl was changed while it was called: does it write there?"
    assert found["network"]["status"] == "warn"
    assert "example.invalid" in found["network"]["message"]


def test_good_and_bad_of_files_and_of_a_sweep_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text('{"a": 1}')
    (tmp_path / "bad.txt").write_text("no JSON")
    (tmp_path / "fine.txt").write_text("[]")
    named = ("preflight", "-e", "@length_limit --max 9", "--json", "--good", "good.txt")
    assert cli(*named).status == 0
    missed = cli(*named, "--bad", "bad.txt", "--bad", "fine.txt")
    found = findings(missed)["bad"]
    assert (missed.status, found["status"]) == (1, "fail")
    assert found["message"].endswith(
        '"no JSON" scores 1, and the good "{\\"a\\": 1}" 1: bad.txt and fine.txt should score less'
    )
    body = 'read -r line; case $line in *no\\ JSON*) n=1;; *) n=3;; esac; echo "{\\"score\\": 0.$n}"'
    graded = write_program(tmp_path / "graded.sh", ["#!/bin/sh", body])
    result = cli("preflight", "-e", graded, "--json", "--good", "good.txt", "--bad", "bad.txt")
    said = {name: check["status"] for name, check in findings(result).items()}
    assert (result.status, said["good"], said["bad"]) == (0, "warn", "pass")
    (tmp_path / "sub").mkdir()
    for name in ("good.txt", "bad.txt"):
        (tmp_path / name).rename(tmp_path / "sub" / name)
    (tmp_path / "sub" / "sweep.toml").write_text(
        '[[evaluator]]\nuse = "@length_limit --max 9"\ngood = "good.txt"\nbad = ["bad.txt"]\n'
    )
    found = findings(cli("preflight", "sub/sweep.toml", "--json"))["bad"]
    assert found["message"].endswith("sub/bad.txt should score less")


def test_a_field_that_may_be_the_gold_is_offered_and_never_taken(cli: Cli, rows: Path) -> None:
    plain = cli("preflight", "-e", 'sh -c \'echo "{\\"score\\": 1}"\'', "--dataset", rows)
    assert plain.status == 0
    assert "note: is `target` the gold? --good target puts the evaluator on trial" in plain.stderr
    refused = cli("preflight", "-e", "@exact", "--dataset", rows, "--bad", "x.txt")
    assert refused.status == 2
    assert "--bad needs --good" in refused.stderr


def test_a_judge_is_sent_three_rows_and_what_is_about_scores(
    cli: Cli, rows: Path, fake_model: StartModel
) -> None:
    model = fake_model([{"json": {"reasoning": "fine", "score": 0.5}}])
    judge = ("-e", "judge:openai/m", "--objective", "It is right", "--api-base", model.base)
    done = cli(
        "preflight", *judge, "--dataset", rows, "--good", "target", "--json", env={"OPENAI_API_KEY": "k"}
    )
    found = findings(done)
    assert (done.status, found["constant"]["status"]) == (1, "fail")
    assert "all 6 scores are equal" in found["constant"]["message"]
    assert len(model.requests()) == 8, "the first once more, and one text beside"


def test_a_function_of_a_file_is_tried_where_it_is(cli: Cli, tmp_path: Path, rows: Path) -> None:
    (tmp_path / "judge.py").write_text("def score(c, e):\n    return float(c in e['target'])\n")
    done = cli("preflight", "-e", "judge.py:score", "--dataset", rows, "--good", "target", "--json")
    found = findings(done)
    assert (done.status, found["empty"]["status"], found["same answer"]["status"]) == (1, "fail", "pass")


CHEAP = {"first word": "lua", "digits in any order": "tclsh"}  # of the zoo


@pytest.mark.parametrize("name", [pytest.param(name, marks=need(tool)) for name, tool in CHEAP.items()])
def test_faults_in_other_languages_are_named(name: str, tmp_path: Path) -> None:
    animal = next(animal for animal in FAULTY_ANIMALS if animal.name == name)
    assert is_named(animal, trial_of(animal, tmp_path))


def test_a_trial_is_a_public_name() -> None:
    assert Trial.__module__ == "optimize_eval.api_trial"


ENDS_IN_A_SIGN = [{"target": target} for target in ("Good night, Linus ☾", "See you", "Thanks!")]


KEPT_ALIVE = {  # what is wrong with a program that stays → the check, what it says
    "$| = 0;": ("kept alive", "did not answer in time: does it flush each answer?"),
    "$s /= 2 if $n++;": ("kept alive", "does state leak between calls?"),
    "$s = $seen{$p->{candidate}} //= $s;": (
        "same answer", "scores 1 after other calls, and 0 in a process of its own: it remembers"
    ),
}  # fmt: skip


@need("perl")
@pytest.mark.parametrize("wrong", KEPT_ALIVE)
def test_what_goes_wrong_in_a_program_that_stays_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr("optimize_eval.run.preflight.on_trial._PATIENCE", 0.5)
    lines = [
        "#!/usr/bin/env perl",
        "use JSON::PP; $| = 1;",
        "while (<STDIN>) { my $p = decode_json($_);",
        "my $s = $p->{candidate} eq $p->{example}{target} ? 1 : 0;",
        wrong,
        "print encode_json({score => $s, _capabilities => {persistent => JSON::PP::true},",
        'exists $p->{_id} ? (_id => $p->{_id}) : ()}), "\n" }',
    ]
    faults = trial(str(write_program(tmp_path / "stays.pl", lines)), ROWS, good="target").faults
    check, said = KEPT_ALIVE[wrong]
    assert said in faults[check], faults


def test_a_last_word_is_left_out_where_metrics_see_it() -> None:
    def precise(candidate: str, example: dict[str, Any]) -> float:
        words = words_of(candidate)
        return len(words & words_of(example["target"])) / max(1, len(words))

    assert '"Good night," scores 1' in trial(precise, ENDS_IN_A_SIGN, good="target").faults["truncated"]
    left = trial(exact, [{"target": "Hi ☾"}, {"target": "Oh ☂"}], good="target").checks
    why = next(check.message for check in left if check.name == "truncated")
    assert why == "left out: no gold has two words"


def test_what_a_kept_alive_program_remembers_is_shown_by_the_line_in_one_process(
    cli: Cli, tmp_path: Path
) -> None:
    write_program(
        tmp_path / "seen.py",
        [
            "#!/usr/bin/env python3",
            "import json, sys",
            "before = None",
            "for line in sys.stdin:",
            "    asked = json.loads(line)",
            "    found = asked['candidate']",
            "    good = found == asked['example']['target'] and before != found",
            "    before = found",
            "    capable = {'_id': asked.get('_id'), '_capabilities': {'persistent': True}}",
            "    print(json.dumps({'score': float(good), **capable}), flush=True)",
        ],
    )
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    done = cli("preflight", "-e", "./seen.py", "--dataset", "d.jsonl", "--good", "target", "--json")
    said = findings(done)["same answer"]
    assert "scored 1, and 0 when it was asked again" in said["message"]
    scores = [json.loads(line)["score"] for line in pasted(said["reproduce"], tmp_path).splitlines()]
    assert scores == [1.0, 0.0]
