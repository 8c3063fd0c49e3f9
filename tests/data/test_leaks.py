"""Rows that two splits have in common: copies are found however they were changed, honest rows never."""

import random
from collections.abc import Callable

import pytest

from optimize_eval.audit.rows_left_out import leaks_again
from optimize_eval.audit.sameness import DataRow
from optimize_eval.data.leaks import overlaps_of
from tests.data.leaking import FRAME, SAME, TRAIN, VAL, Row, examples, leaks, reworded, told


@pytest.mark.parametrize("change", SAME)
def test_copies_are_found_however_they_were_changed(change: str) -> None:
    assert len(leaks(TRAIN, SAME[change])) == len(TRAIN)


@pytest.mark.parametrize("frame", ["{}", FRAME], ids=["bare", "in a long prompt"])
def test_rewordings_are_found_and_honest_rows_beside_them_stay(frame: str) -> None:
    draw = random.Random(3)
    found = leaks(TRAIN, [*told(lambda text: frame.format(reworded(text, draw))), *VAL])
    assert len(found) >= len(TRAIN) - 1
    assert {leak.how for leak in found} <= {"near", "normalised"}
    assert all(leak.line == leak.like for leak in found), "each is like the one that it was made of"


@pytest.mark.parametrize("change", [lambda text, _: text.lower(), reworded], ids=["lower case", "reworded"])
def test_a_few_rows_in_a_prompt_that_no_other_row_has_are_found(
    change: Callable[[str, random.Random], str],
) -> None:
    draw = random.Random(3)
    rows = told(lambda text: FRAME.format(change(text, draw)))
    found = leaks(TRAIN, [*draw.sample(rows, 7), *VAL])
    assert [leak.line for leak in found] == [*range(1, 8)]


def test_a_prompt_around_some_rows_of_train_hides_none_either() -> None:
    framed = told(FRAME.format)[:20]
    assert len(leaks([*framed, *TRAIN[20:]], TRAIN)) == len(TRAIN)


def test_honest_rows_in_a_prompt_of_their_own_stay() -> None:
    rows = [{**row, "message": FRAME.format(row["message"])} for row in VAL]
    assert leaks(TRAIN, rows) == leaks(TRAIN, [*rows[:9], *VAL[9:]]) == []


def test_another_answer_to_the_same_question_is_a_contradiction() -> None:
    found = leaks(TRAIN, [{**row, "team": "nobody"} for row in TRAIN])
    assert {leak.how for leak in found} == {"contradiction"}
    assert len(found) == len(TRAIN)


def test_of_rows_with_several_answers_the_one_that_agrees_is_named() -> None:
    there = [{**TRAIN[0], "team": team} for team in ("sales", "support", "support")]
    rows = [{"id": 1, **TRAIN[0], "team": team} for team in ("support", "billing")]
    assert [(leak.like, leak.how) for leak in leaks(there, rows)] == [(2, "normalised"), (1, "contradiction")]


def _grid() -> list[Row]:
    nouns, verbs = ["lamp", "door", "phone", "clock", "radio"], ["is", "is not", "was", "was not"]
    ends = ["on a monday", "on a friday", "before noon", "after noon", "in the hall", "in the attic"]
    return [
        {"text": f"the {noun} {verb} open {end}", "target": "yes"}
        for noun in nouns
        for verb in verbs
        for end in ends
    ]


def _brackets(draw: random.Random, depth: int) -> str:
    if not depth:
        return draw.choice(["True", "False"])
    inner = [_brackets(draw, depth - 1) for _ in range(2)]
    return draw.choice(
        [f"( {inner[0]} and {inner[1]} )", f"( {inner[0]} or {inner[1]} )", f"not ( {inner[0]} )"]
    )


def _honest() -> dict[str, list[Row]]:
    draw = random.Random(5)
    animals = ["goat", "ibis", "whale", "mouse", "tiger", "otter", "eagle", "shark", "horse", "camel"]
    words = "great awful movie plot acting boring lovely dull bright slow tense funny weak strong".split()  # noqa: SIM905
    things = [
        f"{a}{b}" for a in ("tele", "micro", "macro", "photo") for b in ("phone", "scope", "graph", "lens")
    ]
    passages = [" ".join(draw.choices([*things, *words], k=60)) for _ in range(40)]
    ways = ["How do I reset my {}?", "Where can I buy a {}?", "Can I return a {}?", "Why is my {} broken?"]
    return {
        "sums": [{"input": f"{a} + {b}", "target": str(a + b)} for a in range(2, 22) for b in range(2, 12)],
        "sums in fields": [{"a": a, "b": b, "target": a + b} for a in range(20) for b in range(10)],
        "a question in both directions": [
            {"q": f"Is a {a} larger than a {b}?", "target": "no"} for a in animals for b in animals if a != b
        ],
        "one question, many reviews": [
            {"question": "Is this review positive?", "review": " ".join(draw.choices(words, k=12))}
            for _ in range(200)
        ],
        "a few templates": [{"q": way.format(thing)} for way in ways for thing in things],
        "passages with three questions": [
            {"context": passage, "question": f"What of the {draw.choice(things)} in part {part}?"}
            for passage in passages
            for part in range(3)
        ],
        "negations in a grid": _grid(),
        "brackets": [
            {"input": f"{text} is"} for text in dict.fromkeys(_brackets(draw, 4) for _ in range(300))
        ],
        "formulas with a sign before": [
            {"input": f"{sign}alpha + {n} beta minus gamma", "target": "x"}
            for n in range(40)
            for sign in ("", "- ", "+ ")
        ],
        "code": [
            {"code": f"def f(x):\n    y = x {sign} {n}\n    return y\n", "target": "ok"}
            for n in range(40)
            for sign in "+-*"
        ],
    }


HONEST = _honest()


@pytest.mark.parametrize("kind", HONEST)
def test_honest_rows_stay(kind: str) -> None:
    rows = random.Random(7).sample(HONEST[kind], len(HONEST[kind]))
    half = len(rows) // 2
    assert leaks(rows[:half], rows[half:]) == []


def test_the_data_that_ship_are_honest() -> None:
    assert leaks(TRAIN, VAL) == []


def test_dense_data_of_which_train_has_near_rows_itself_lose_nothing() -> None:
    draw = random.Random(11)
    stems = [" ".join(draw.choices([f"word{n}" for n in range(400)], k=14)) for _ in range(60)]
    rows = [
        {"text": f"{stem} {ending}"} for stem in stems for ending in ("indeed", "surely", "perhaps", "again")
    ]
    draw.shuffle(rows)
    assert leaks(rows[:120], rows[120:]) == []


def test_fields_that_are_no_text_are_compared_by_all_but_ids() -> None:
    rows: list[Row] = [{"id": n, "a": n, "b": -n} for n in range(30)]
    assert [leak.how for leak in leaks(rows, [{"id": 99, "a": 3, "b": -3}, {"id": 3, "a": 3, "b": 3}])] == [
        "normalised"
    ]


def test_the_order_of_the_rows_of_train_changes_nothing_but_which_is_named() -> None:
    rows = told(lambda text: FRAME.format(text.lower()))
    found = leaks(TRAIN, rows), leaks([*reversed(TRAIN)], rows)
    assert [(leak.line, leak.how) for leak in found[0]] == [(leak.line, leak.how) for leak in found[1]]


def test_the_check_finds_the_same_by_code_of_its_own() -> None:
    draw = random.Random(3)
    rows = told(lambda text: FRAME.format(reworded(text, draw)))
    for there, leaking in ((TRAIN, [*rows[:7], *VAL]), ([*rows[:30], *TRAIN[30:]], [*VAL, *TRAIN[:20]])):
        splits = {"train": examples(there), "val": examples(leaking)}
        again = leaks_again(
            *([DataRow(one.line, one.raw, one.value) for one in split] for split in splits.values())
        )
        found = overlaps_of(splits, {})["val"]["leaks"]
        assert sorted([line, "train", *like] for line, *like in again) == found
