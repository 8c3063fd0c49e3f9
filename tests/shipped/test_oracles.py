"""The metrics that compute more than equality, against implementations that are not ours."""

import json
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bleu_4 import bleu_4
from edit_similarity import edit_similarity
from f1 import f1
from function_call_coverage import missing_calls, same
from optimize_eval.statistics.rates import corpus_bleu
from rouge_l import rouge_l
from tests.paths import EVALUATORS
from tests.shipped.asking import ask

WORDS = st.sampled_from(["a", "b", "B", "c", "the", "été", "ÉTÉ", "x_y", "42", "日本", "ß"])
TEXTS = st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=20))


def words(text: str) -> list[str]:
    """Split as the definition says, letter by letter: letters, digits and underscores are words."""
    return "".join(one if one.isalnum() or one == "_" else " " for one in text.lower()).split()


def close(value: float) -> object:
    return pytest.approx(value, abs=1e-12)


@given(TEXTS, TEXTS)
def test_f1_is_the_overlap_of_multisets(candidate: str, target: str) -> None:
    said, wanted = words(candidate), words(target)
    overlap = sum(min(said.count(word), wanted.count(word)) for word in {*said})
    if overlap == 0:
        expected = float(said == wanted)
    else:
        precision, recall = Fraction(overlap, len(said)), Fraction(overlap, len(wanted))
        expected = float(2 * precision * recall / (precision + recall))
    assert f1(candidate, target)["score"] == close(expected)


@given(TEXTS, TEXTS)
def test_bleu_4_is_its_formula_in_fractions(candidate: str, target: str) -> None:
    said, wanted = words(candidate), words(target)
    if not said:
        assert bleu_4(candidate, target)["score"] == 0
        return
    fractions = []
    for length in range(1, 5):
        runs = [tuple(said[at : at + length]) for at in range(len(said) - length + 1)]
        there = [tuple(wanted[at : at + length]) for at in range(len(wanted) - length + 1)]
        clipped = sum(min(runs.count(run), there.count(run)) for run in {*runs})
        fractions.append(Fraction(clipped + 1, len(runs) + 1))
    brevity = 1 if len(said) >= len(wanted) else exp(1 - len(wanted) / len(said))
    assert bleu_4(candidate, target)["score"] == close(brevity * float(prod(fractions)) ** 0.25)


@given(TEXTS, TEXTS)
def test_rouge_l_of_unicode_words_is_the_textbook_recursion(candidate: str, target: str) -> None:
    said, wanted = words(candidate), words(target)

    @cache
    def common(one: int, other: int) -> int:
        if not one or not other:
            return 0
        if said[one - 1] == wanted[other - 1]:
            return common(one - 1, other - 1) + 1
        return max(common(one - 1, other), common(one, other - 1))

    length = common(len(said), len(wanted))
    expected = 2 * length / (len(said) + len(wanted)) if length else float(not said and not wanted)
    assert rouge_l(candidate, target, "unicode")["score"] == close(expected)


@given(TEXTS, TEXTS)
def test_rouge_l_of_ascii_words_is_that_of_rouge_score(candidate: str, target: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeL"], use_stemmer=False).score(target, candidate)["rougeL"]
    ours = rouge_l(candidate, target, "ascii")
    assert ours["score"] == close(theirs.fmeasure)
    assert (ours["precision"], ours["recall"]) == (close(theirs.precision), close(theirs.recall))


@given(st.text("abcé", max_size=8), st.text("abcé", max_size=8))
def test_edit_similarity_is_the_textbook_distance(candidate: str, target: str) -> None:
    row = list(range(len(target) + 1))
    for at, letter in enumerate(candidate, 1):
        above, row = row, [at]
        for place, other in enumerate(target, 1):
            row.append(min(row[-1] + 1, above[place] + 1, above[place - 1] + (letter != other)))
    longest = max(len(candidate), len(target))
    found = edit_similarity(candidate, target)
    assert (found["edits"], found["score"]) == (row[-1], close(1 - row[-1] / longest if longest else 1))


SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "A quick brown fox jumped over a lazy dog!",
    "It costs $3.50, i.e. 10 % less; doesn't it?",
    "It costs 3.50 dollars",
    "日本 の 首都 は 東京",
    "dog",
    "",
]


def test_words_of_f1_are_what_a_pattern_finds() -> None:
    every = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    assert f1(every, every)["overlap"] == len(re.findall(r"\w+", every.lower())) > 700


def test_a_start_of_a_metric_loads_nothing_that_it_can_do_without() -> None:
    loaded = "import sys, {0}; print(*sorted(sys.modules), file=sys.stderr)"
    for name, needless in (("f1", {"re", "enum", "json"}), ("bleu; bleu.scorer()", {"portalocker", "lxml"})):
        done = subprocess.run(
            [sys.executable, "-c", loaded.format(name)], cwd=EVALUATORS, capture_output=True, check=True
        )
        assert not needless.intersection(done.stderr.decode().split())


def test_bleu_is_that_of_sacrebleu_and_never_above_one() -> None:
    import sacrebleu

    pairs = list(product(SENTENCES, SENTENCES, SENTENCES[:4]))
    asked = [{"candidate": said, "example": {"targets": refs}} for said, *refs in pairs]
    answers = ask("bleu", asked)
    found = [one["score"] for one in answers]
    theirs = [sacrebleu.sentence_bleu(said, refs).score / 100 for said, *refs in pairs]
    assert found == [close(min(1, score)) for score in theirs]
    assert all(0 <= score <= 1 for score in found)
    said, *references = zip(*pairs, strict=True)
    corpus = sacrebleu.corpus_bleu(said, references)
    assert corpus_bleu([one["bleu_counts"] for one in answers]) == close(corpus.score / 100)
    assert corpus_bleu([]) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2, width=16) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
)


@given(VALUES, VALUES)
def test_json_values_are_the_same_when_they_are_written_alike(one: object, other: object) -> None:
    def written(value: object) -> str:
        match value:
            case bool() | None | str():
                return json.dumps(value)
            case int() | float():
                return f"{value + 0.0:.17g}".replace("-0", "0") if value == 0 else f"{float(value):.17g}"
            case list():
                return f"[{','.join(map(written, value))}]"
            case dict():
                return f"{{{','.join(f'{key}:{written(value[key])}' for key in sorted(value))}}}"
        raise AssertionError(value)

    assert same(one, other) == (written(one) == written(other))
    assert same(one, json.loads(json.dumps(one)))


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_calls_by_name_are_counted_as_a_multiset(made: list[str], required: list[str]) -> None:
    missing = missing_calls([(name, None) for name in made], [(name, None) for name in required])
    assert Counter(name for name, _ in missing) == Counter(required) - Counter(made)
