"""The routing example: what both of its programs answer, and the story that its four candidates tell."""

import json
import subprocess
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.paths import ROOT

ROUTING = ROOT / "evaluators" / "routing.py"
FEW_RULES = ROOT / "evaluators" / "few_rules.sh"
DATA = ROOT / "datasets" / "routing"
CANDIDATES = ("baseline", "general", "memorised", "with_amounts")
BILLED = {"message": "I was charged 40 euros, send the parcel back", "team": "billing"}
Answer = dict[str, Any]


def payload(candidate: str, example: object = BILLED, **more: object) -> bytes:
    said = {"_protocol_version": 2, "candidate": candidate, "example": example} | more
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def ask(program: Path, *payloads: bytes) -> list[Answer]:
    done = subprocess.run([program], input=b"".join(payloads), capture_output=True, check=True, timeout=30)
    assert not done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def routed(candidate: str, example: object = BILLED) -> Answer:
    (said,) = ask(ROUTING, payload(candidate, example))
    return said


def rules_read(candidate: str, message: str) -> Answer:
    (said,) = ask(FEW_RULES, payload(candidate, {"message": message}))
    return said


def test_the_first_rule_that_matches_decides() -> None:
    assert routed("# what is paid\n\nReturn -> returns\nCHARGED , euros -> billing\n* -> technical") == {
        "score": 1.0,
        "team": "billing",
        "rule": 2,
        "confident": True,
        "reasoning": 'Rule 2 sent "I was charged 40 euros, send the parcel back" to billing,'
        " and billing is the team it belongs to.",
        "_capabilities": {"persistent": True, "batch": 64},
    }


def test_a_later_rule_that_names_the_team_is_worth_a_little() -> None:
    said = routed("parcel -> shipping\ncharged -> billing")
    assert (said["score"], said["team"], said["rule"], said["confident"]) == (0.3, "shipping", 1, False)
    assert said["reasoning"].endswith("but it belongs to billing, which rule 2 would have found.")


def test_the_rule_for_everything_else_is_no_later_rule_but_may_be_right() -> None:
    assert routed("parcel -> shipping\n* -> billing")["score"] == 0.0
    last = routed("nothing -> shipping\n* -> billing")
    assert (last["score"], last["rule"], last["confident"]) == (1.0, 2, False)


@pytest.mark.parametrize(
    "candidate", ["", "# nothing but a comment", "refund -> billing", "charge -> billing"]
)
def test_where_no_rule_matches_nobody_is_chosen(candidate: str) -> None:
    said = routed(candidate)
    assert (said["score"], said["team"], said["rule"], said["confident"]) == (0.0, None, None, False)
    assert said["reasoning"].startswith('No rule matched "I was charged')


@pytest.mark.parametrize(
    "line", ["charged", "-> billing", "charged ->", "amount > much -> billing", "a -> b -> c"]
)
def test_a_line_that_cannot_be_read_is_named(line: str) -> None:
    said = routed(f"# rules\nparcel -> shipping\n{line}")
    assert said["error"] == f"line 3 of the candidate is no rule, `words -> team`: {line}"


def test_an_amount_is_compared_with_the_first_number() -> None:
    assert routed("charged, amount > 39.5 -> billing")["rule"] == 1
    assert routed("amount > 40 -> billing")["rule"] is None


def test_an_amount_that_a_message_lacks_is_reported_but_only_where_the_words_match() -> None:
    wordy = {"message": "Where is my refund?", "team": "billing"}
    missing = "rule 2 compares an amount, and the message has none"
    assert routed("a -> account\nrefund, amount > 100 -> billing", wordy)["error"] == missing
    assert routed("a -> account\nAmount>100, refund -> billing", wordy)["error"] == missing
    assert routed("parcel, amount > 100 -> billing", wordy)["team"] is None


@pytest.mark.parametrize("example", [{}, {"message": "a"}, {"team": "a"}, {"message": 1, "team": "a"}])
def test_an_example_needs_a_message_and_a_team(example: Answer) -> None:
    assert (
        routed("* -> a", example)["error"]
        == 'routing needs an example with a "message" and its "team" (texts)'
    )


def test_a_payload_without_an_example_is_reported_by_both() -> None:
    bare = b'{"_protocol_version":2,"candidate":"* -> a"}\n'
    assert all("error" in said for program in (ROUTING, FEW_RULES) for said in ask(program, bare))


def test_it_stays_alive_and_gives_back_ids() -> None:
    said = ask(ROUTING, payload("* -> billing", _id="a"), payload("?", _id="b"), payload("* -> a"))
    assert [one.get("_id") for one in said] == ["a", "b", None]
    assert ["error" in one for one in said] == [False, True, False]


def test_a_batch_is_answered_one_by_one() -> None:
    other = {"message": "Hello", "team": "account"}
    (said,) = ask(ROUTING, payload("charged -> billing", _id="a", examples=[BILLED, {}, other]))
    assert said["_id"] == "a"
    assert [one.get("score", "error") for one in said["results"]] == [1.0, "error", 0.0]


@pytest.mark.parametrize(
    ("before", "score"), [(0, 1.0), (1, 0.9091), (2, 0.8333), (4, 0.7143), (9, 0.5263), (90, 0.1)]
)
def test_the_fewer_rules_are_read_the_better(before: int, score: float) -> None:
    candidate = (
        "# comment\n\n" + "nothing -> account\n" * before + " Foo,  bar baz -> billing\nfoo -> account\n"
    )
    assert rules_read(candidate, "FOO: Bar baz.") == {"score": score, "rules_read": before + 1}


@pytest.mark.parametrize("candidate", ["", "fo -> a", "foo bar", "foo, nothing -> a", "oo -> a\nba -> a"])
def test_where_no_rule_matches_few_rules_says_zero(candidate: str) -> None:
    read = len(candidate.splitlines())
    assert rules_read(candidate, "foo bar") == {"score": 0.0, "rules_read": read}


@pytest.mark.parametrize(
    "rule", ["foo, amount > 100 -> a", "amount > 100 -> a", "* -> a", "foo,Amount>1 -> a"]
)
def test_few_rules_takes_amounts_and_everything_else_as_met(rule: str) -> None:
    assert rules_read(f"nothing, amount > 1 -> a\n{rule}", "foo")["rules_read"] == 2


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('say "hi" -> a', 'They say "hi" twice'),
        ('"hi" -> a', '"hi"'),
        (r"c:\new -> a", r"It is in C:\new, I think"),
        (r"\\server\name -> a", r"see \\server\name"),
        (r"ends with \ -> a", "it ends with \\"),
        ('","example":{"message":"x -> a', 'odd: ","example":{"message":"x'),
        ("[a-z]*? -> a", "the pattern [a-z]*? is odd"),
        ("$HOME `id` -> a", "$HOME `id`"),
        ("tab -> a", "a\ttab"),
        ("line -> a", "a\nline"),
        ("50% off/on -> a", "50% off/on"),
        ("Zoë -> a", "Is Zoë there?"),
    ],
)
def test_quotes_backslashes_and_patterns_are_plain_text_to_both(rule: str, message: str) -> None:
    candidate = f"nothing -> a\n{rule}\n"
    assert rules_read(candidate, message) == {"score": 0.9091, "rules_read": 2}
    assert rules_read(candidate, "xyz") == {"score": 0.0, "rules_read": 2}
    assert routed(candidate, {"message": message, "team": "a"})["rule"] == 2


def test_few_rules_answers_every_line_also_one_that_does_not_end() -> None:
    said = ask(FEW_RULES, payload("* -> a"), payload("b -> a"), payload("b -> a\n* -> a").rstrip())
    assert [one["rules_read"] for one in said] == [1, 1, 2]


def test_few_rules_reads_json_with_blanks_and_keys_in_any_order() -> None:
    (said,) = ask(FEW_RULES, b'{"example": {"team": "a", "message":  "b"}, "candidate": "b -> a"}\n')
    assert said == {"score": 1.0, "rules_read": 1}


@pytest.mark.parametrize("candidate", ["a" * 1_000_000, '"\\' * 100_000, "a, " * 300_000 + "-> b"])
def test_few_rules_is_not_slowed_down_by_long_candidates(candidate: str) -> None:
    assert rules_read(candidate, "foo") == {"score": 0.0, "rules_read": 1}


def test_a_message_that_is_no_text_is_reported_by_both() -> None:
    number = payload("* -> b", {"message": 1, "team": "b"})
    assert all("error" in said for program in (ROUTING, FEW_RULES) for said in ask(program, number))


def examples(split: str) -> list[Answer]:
    return [json.loads(line) for line in (DATA / f"{split}.jsonl").read_text().splitlines()]


@cache
def results(candidate: str, split: str) -> list[Answer]:
    text = (DATA / f"{candidate}.txt").read_text()
    (said,) = ask(ROUTING, payload(text, examples=examples(split)))
    return list(said["results"])


def test_the_data_is_balanced_without_duplicates_and_shares_no_customer() -> None:
    train, val = examples("train"), examples("val")
    assert (len(train), len(val)) == (80, 60)
    assert len({one["message"].lower() for one in train + val}) == 140
    for rows, each in ((train, 16), (val, 12)):
        teams = [one["team"] for one in rows]
        assert {teams.count(team) for team in teams} == {each}
        assert sum(one["metadata"]["difficulty"] == "hard" for one in rows) == len(rows) / 4
        assert len({one["metadata"]["customer"] for one in rows}) >= 25
    assert not {one["metadata"]["customer"] for one in train} & {one["metadata"]["customer"] for one in val}


def test_the_candidates_tell_their_story() -> None:
    said = {(name, split): results(name, split) for name in CANDIDATES for split in ("train", "val")}
    mean = {run: fmean(one["score"] for one in ones if "score" in one) for run, ones in said.items()}
    failed = {run: sum("error" in one for one in ones) for run, ones in said.items()}
    assert mean["general", "val"] - mean["baseline", "val"] > 0.15
    assert mean["memorised", "train"] - mean["memorised", "val"] > 0.3
    assert abs(mean["memorised", "val"] - mean["baseline", "val"]) < 0.1
    assert {run[0] for run, count in failed.items() if count} == {"with_amounts"}
    assert (failed["with_amounts", "train"], failed["with_amounts", "val"]) == (5, 4)


def test_every_reason_is_a_sentence_of_some_length() -> None:
    for name in CANDIDATES:
        for one in results(name, "val") + results(name, "train"):
            assert "error" in one or 80 <= len(one["reasoning"]) <= 200
            assert "error" in one or one["reasoning"].endswith(".")


@pytest.mark.parametrize("name", CANDIDATES)
def test_both_programs_find_the_same_rule_in_all_examples(name: str) -> None:
    text = (DATA / f"{name}.txt").read_text()
    rows = [payload(text, one) for one in examples("train") + examples("val")]
    pairs = zip(ask(ROUTING, *rows), ask(FEW_RULES, *rows), strict=True)
    different = [(one, few) for one, few in pairs if "rule" in one and one["rule"] != few["rules_read"]]
    assert len(different) == (2 if name == "with_amounts" else 0)  # amounts are not compared by @few_rules
