"""Task files that make very much of few letters: one problem says what there is too much of."""

from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tasks.yaml.made import HEAD, definition, rules, scorer, task, validated

LONG = "x" * 5_000
PARAMETER = f"config_spec: [{{type: string, key: a, display_name: A, default_value: {LONG}}}]\n"
LABELERS = "".join(
    f"  - {{type: labeler_via_model, model_key: m, user_prompt: '{'<<config.a>>' * 50}'}}\n"
    for _ in range(10)
)
PROMPTS = "".join(
    f"  - {{type: labeler_via_model, model_key: m, user_prompt: '{'{{ sample.a }}' * 300}'}}\n"
    for _ in range(20)
)
REFERENCES = "".join("  - $ref: s.yml\n" for _ in range(300))


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        (
            definition(f"scorers:\n{LABELERS}", head=HEAD + PARAMETER),
            "bad_template",
            "parameters put more than 1 MiB",
        ),
        (definition(f"scorers:\n{PROMPTS}"), "bad_template", "more than 50,000 letters between braces"),
        (definition(f"scorers:\n{REFERENCES}"), "bad_reference", "more than 200 references"),
        (
            task(head=f"{HEAD}tags: [!include big.txt, !include big.txt]\n"),
            "bad_reference",
            "more than 1 MiB",
        ),
    ],
    ids=["parameters", "templates", "references", "includes"],
)
def test_what_grows_out_of_few_letters_is_one_problem(
    cli: Cli, tmp_path: Path, text: str, rule: str, words: str
) -> None:
    (tmp_path / "big.txt").write_text("x\n" * 300_000)
    (tmp_path / "s.yml").write_text("{type: string_equals, ground_truth: a, value: b}\n")
    told = validated(cli, tmp_path, {"t.yaml": text})["t.yaml"]
    assert [found for found, _ in rules(told)] == [rule]
    assert words in told["errors"][0]["detail"]


def test_a_note_about_what_is_wrong_anyhow_is_left_out(cli: Cli, tmp_path: Path) -> None:
    wrong = scorer("type: labeler_via_model\nmodel_key: ''\nuser_prompt: x")
    told = validated(cli, tmp_path, {"t.yaml": wrong})["t.yaml"]
    assert rules(told) == [("bad_value", "definition.scorers[0].model_key")]
    assert "definition.scorers[0].model_key" not in {one["field"] for one in told["notes"]}
