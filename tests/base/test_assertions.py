"""Seed 004's functions, as its text defines them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval import UsageError, evaluate, has_forbidden, label_in_set


def score_one(pred: str, gold: str, mode: str) -> float:
    """Compare as the page shows."""
    p, g = pred.strip().lower(), gold.strip().lower()
    if mode == "exact":
        return 1.0 if p == g else 0.0
    return 1.0 if g in p else 0.0


TEXT = st.text(" aAbß\n", max_size=4)


@given(st.lists(st.tuples(TEXT, TEXT)), st.sampled_from(["exact", "contains"]))
def test_it_is_the_mean_of_the_comparisons_to_four_places(pairs: list[tuple[str, str]], mode: str) -> None:
    expected = round(sum(score_one(*pair, mode) for pair in pairs) / len(pairs), 4) if pairs else 0.0
    assert evaluate([said for said, _ in pairs], [gold for _, gold in pairs], mode) == expected


def test_the_examples_of_the_page() -> None:
    assert evaluate(["Paris", " PARIS\n"], ["paris", "paris"], "exact") == 1.0
    assert evaluate(["The capital is Paris."], ["paris"], "contains") == 1.0
    assert evaluate(["The capital is Paris."], ["paris"], "exact") == 0.0
    assert evaluate(["a", "b", "c"], ["a", "b", "x"], "exact") == 0.6667
    assert label_in_set([" yes ", "no", "Yes"], ["yes", "no"]) == {"passed": 2, "failed": 1}
    assert has_forbidden("well, as an AI model", ["banned", "as an AI"])


@pytest.mark.parametrize("mode", ["exact", "contains"])
def test_nothing_to_compare_is_zero(mode: str) -> None:
    nothing = evaluate([], [], mode)
    assert (nothing, type(nothing)) == (0.0, float)
    assert label_in_set([], []) == {"passed": 0, "failed": 0}
    assert has_forbidden("text", []) is False


@pytest.mark.parametrize(
    ("said", "gold", "mode"), [([], [], "fuzzy"), (["a"], ["a"], "Exact"), (["a"], [], "exact")]
)
def test_an_unknown_mode_and_unequal_lengths_are_value_errors(
    said: list[str], gold: list[str], mode: str
) -> None:
    with pytest.raises(ValueError, match=r"unknown mode|cannot be compared"):
        evaluate(said, gold, mode)


def test_patterns_are_regular_expressions_whose_case_counts() -> None:
    assert has_forbidden("order 66", [r"\d{2}"]) is True
    assert has_forbidden("AS AN AI", ["as an ai"]) is False
    assert has_forbidden("AS AN AI", ["(?i)as an ai"]) is True


def test_a_bad_pattern_is_a_usage_error_even_after_one_that_is_found() -> None:
    with pytest.raises(UsageError, match="is not a regular expression"):
        has_forbidden("a", ["a", "("])


def test_one_text_is_not_taken_for_a_list_of_letters() -> None:
    with pytest.raises(UsageError, match="several texts"):
        has_forbidden("all is well", "as an AI")
    with pytest.raises(UsageError, match="several texts"):
        label_in_set(["y"], "yes")
