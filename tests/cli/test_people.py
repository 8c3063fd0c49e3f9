"""What people say of what a judge scores: how far it agrees, and numbers without the judge's error."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.peopled import called, falsified, judged, pairs, start
from tests.fake_model import StartModel
from tests.front_door import Cli

HUMAN = 'human = "people"'
MINUS, ALPHA = "\N{MINUS SIGN}", "\N{GREEK SMALL LETTER ALPHA}"


def test_what_people_say_decides_where_the_judge_errs(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = start(fake_model, tmp_path, pairs(60, bias=0.4, labelled=40), HUMAN)
    done = called(cli)
    assert done.status == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "new beats old on held-out data by what people say: +0.337 helps (95 % CI +0.306 to" in said
    assert f"the judge alone has it {MINUS}0.277" in said
    assert (
        f"agrees with people: {ALPHA} {MINUS}0.59 ({MINUS}0.66 to {MINUS}0.53), 80 labels; scores 0.147 hi"
        in said
    )
    asked = json.dumps(model.bodies())
    assert "question 59" in asked
    assert "people" not in asked, "no label reaches a judge"
    summary = json.loads((tmp_path / "r/summary.json").read_text())
    assert (summary["verdict"]["state"], summary["verdict"]["winner"]) == ("better", "new")
    old, new = summary["people"][0]["corrected"]
    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert old["mean"] == pytest.approx(by_hand(rows, "old"), abs=1e-9)
    assert new["vs_baseline"]["diff"] == pytest.approx(new["mean"] - old["mean"], abs=1e-9)
    assert "corrected for the judge's error" in cli("report", "r", "--format", "md").stdout
    assert falsified(summary, tmp_path / "r", "people") > 20
    checked = cli("report", "r", "--check")
    assert (checked.status, "0 differ" in checked.stdout) == (0, True)


def by_hand(rows: list[dict[str, Any]], name: str) -> float:
    """Add the mean error on labelled rows to the judge's mean."""
    scores = [float(row[name].rpartition(" ")[2]) for row in rows]
    errors = [row["people"][name] - score for row, score in zip(rows, scores, strict=True) if row["people"]]
    return float(sum(scores) / len(scores) + sum(errors) / len(errors))


def rows_of(said: list[Any], scores: list[float]) -> list[dict[str, Any]]:
    """Make rows of one candidate, with what people say of each."""
    return [
        {
            "q": f"q{n}",
            "old": judged(f"reply {n}", score),
            **(value if isinstance(value, dict) else {"h": value}),
        }
        for n, (value, score) in enumerate(zip(said, scores, strict=True))
    ]


SCORES = [0.9, 0.8, 0.2, 0.1, 0.7, 0.3] * 4
KINDS: dict[str, tuple[str, list[Any], str]] = {
    "true and false": ('human = "h"', [True, True, False, True, True, False] * 4, "κ 0.67"),
    "levels": ('human = "h"\nhuman_range = [1, 5]', [5, 4, 2, 1, 3, 2] * 4, "κ 0.96"),
    "any number": ('human = "h"', [score - n / 1000 for n, score in enumerate(SCORES)], f"{ALPHA} 1.00"),
    "several people": (
        'human = ["a", "b"]',
        [{"a": score > 0.5, "b": n % 5 != 0 if score > 0.5 else None} for n, score in enumerate(SCORES)],
        "κ 0.88",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_all_kinds_have_their_coefficient(
    kind: str, cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    more, said, coefficient = KINDS[kind]
    start(fake_model, tmp_path, rows_of(said, SCORES), more)
    done = called(cli)
    words = " ".join(done.stdout.split())
    assert f"agrees with people: {coefficient} (" in words
    assert (f"people with each other: {ALPHA}" in words) is (kind == "several people")
    assert cli("report", "r", "--check").status == 0


def test_a_gate_is_on_the_lower_end_and_a_few_labels_meet_none(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    said = KINDS["true and false"][1]
    start(fake_model, tmp_path, rows_of(said, SCORES), 'human = "h"\n[gates]\nmin_agreement = {helps = 0.6}')
    done = called(cli)
    assert done.status == 1
    assert "gate missed: helps: agrees with people by κ 0.67 (" in done.stderr
    junit = cli("report", "r", "--format", "junit", "--min-agreement", "helps=0.2")
    assert (junit.status, "is at least 0.2" in junit.stderr) == (0, True)
    assert "min-agreement helps" in cli("report", "r", "--format", "junit").stdout
    assert "is below 0.6" in cli("report", "r", "--format", "md").stdout
    for wrong, why in {"helps=7": "above 0 and at most 1", "other=0.6": "no judge 'other'"}.items():
        refused = cli("report", "r", "--min-agreement", wrong)
        assert (refused.status, why in refused.stderr) == (2, True), refused.stderr
    few = [*said[:19], *[None] * 5]
    start(fake_model, tmp_path, rows_of(few, SCORES), 'human = "h"')
    done = called(cli, "--out", "few")
    assert "19 labels are too few to say how well it agrees with people: it takes 20" in " ".join(
        done.stdout.split()
    )
    refused = called(cli, "--out", "other", "--min-agreement", "helps=0.5")
    assert (refused.status, "people gave 19 labels, and 20 are needed" in refused.stderr) == (2, True)
    assert not (tmp_path / "other").exists()


def test_what_is_no_label_is_refused_with_its_line(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    wrong = {'human = "h"': [4, "fine", [1]], 'human = "h"\nhuman_range = [1, 5]': [6, 0, {"old": 9}]}
    for more, said in wrong.items():
        start(fake_model, tmp_path, [{"old": "a", "h": value} for value in said], more)
        done = called(cli)
        assert done.status == 2
        assert all(f"d.jsonl:{line}" in done.stderr for line in (1, 2, 3)), done.stderr
    start(fake_model, tmp_path, [{"old": "a", "h": 1}, {"old": "b", "h": True}], 'human = "h"')
    assert "some labels are numbers" in called(cli).stderr


def test_a_field_that_is_no_longer_named_says_nothing_any_more(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    said = [{"a": score, "b": 1 - score} for score in SCORES]
    start(fake_model, tmp_path, rows_of(said, SCORES), 'human = "a"')
    assert called(cli).status == 0
    sweep = (tmp_path / "s.toml").read_text()
    for field in ('["a", "b"]', '"b"'):
        (tmp_path / "s.toml").write_text(sweep.replace('human = "a"', f'human = {field}\nhides = ["a"]'))
        called(cli, "--replace", "helps")
        [people] = json.loads((tmp_path / "r/summary.json").read_text())["people"]
        assert people["raters"] == json.loads(f"[{field}]".replace("[[", "[").replace("]]", "]"))


def test_one_label_of_two_candidates_is_of_neither(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    rows = [{**row, "people": 0.5} for row in pairs(3)]
    start(fake_model, tmp_path, rows, HUMAN)
    done = called(cli)
    assert "3 labels in people left out, as the run has several candidates: say of which" in done.stderr
    assert "people" not in json.loads((tmp_path / "r/run.json").read_text())["settings"]
