"""What is said of how far the numbers reach: noise, who is best on every evaluator, copies, lopsidedness."""

import pytest

from optimize_eval.findings.leakage import joined
from tests.findings.made import LEAD, Example, made, moved, noisy, on_val, saying

BASE = noisy(40)


def repeated(by: float) -> list[Example]:
    return [(x, x + by) for x in noisy(20, mean=0.4)]


def test_the_noise_of_repeats_is_pooled_and_the_noisiest_candidate_named() -> None:
    steady = repeated(0.0)
    (found,) = saying(on_val(a=steady, b=repeated(0.2)).summary(), "judge is noisy")
    assert (
        found == "· judge is noisy: repeating a call changes its score by 0.100 (sd); b varies most, by 0.141"
    )
    (alike,) = saying(on_val(a=repeated(0.2), b=repeated(0.2)).summary(), "judge is noisy")
    assert alike.endswith("changes its score by 0.141 (sd)")


def test_no_line_speaks_of_noise_where_there_is_none() -> None:
    assert not saying(on_val(a=repeated(0.0), b=repeated(0.0)).summary(), "noisy")


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ({"a": 0.5, "b": 0.6, "c": 0.4}, "· b has the highest mean on every evaluator"),
        (
            {"a": 0.5, "b": 0.4, "c": 0.3},
            "· b is best on judge, a on cost; neither is best on both",
        ),
    ],
    ids=["one", "front"],
)
def test_with_several_evaluators_one_line_names_the_front(cost: dict[str, float], words: str) -> None:
    first = {"a": {"val": BASE}, "b": {"val": moved(BASE, 0.1)}, "c": {"val": moved(BASE, 0.05)}}
    second = {name: {"val": noisy(40, mean=mean, seed=3)} for name, mean in cost.items()}
    assert saying(made({LEAD: first, "cost": second}).summary(), words)
    assert not saying(made({LEAD: first}).summary(), "every evaluator")


def test_copies_and_the_clusters_they_are_in_are_joined() -> None:
    assert joined(["x", "y", "z"], None) is None
    assert joined(["x", "y", "z"], ["1", "1", "2"]) == ("1", "1", "2")
    assert joined(["x", "y", "x"], None) == ("x", "y", "x")
    labels = joined(["x", "y", "x", "z"], ["1", "1", "2", "3"])
    assert labels is not None
    assert (labels[0] == labels[1] == labels[2], len(set(labels))) == (True, 2)


def test_few_copies_among_many_lines_are_told_and_change_nothing() -> None:
    base = noisy(200)
    digests = ["same", "same", *(f"{n}" for n in range(198))]
    run = made({LEAD: {"a": {"val": base}, "b": {"val": moved(base, 0.1)}}}, sha256={"val": digests})
    summary = run.summary()
    assert saying(summary, "! 1 of 200 val examples are copies of earlier lines")
    assert summary["rows"][1]["vs_baseline"]["val"]["units"] == 200
