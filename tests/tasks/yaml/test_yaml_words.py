"""A task file that is not YAML: told in plain words, where to look, and what is likely meant."""

import random
from pathlib import Path

import pytest

from optimize_eval.base import strict_yaml
from tests.front_door import Cli
from tests.tasks.yaml.made import task

# What stands below `key: t`, and what is told of it: line and column, and the words.
WRONG = {
    "a tab": ("a:\n\tb: 1\n", "3:1: this line is indented with a tab"),
    "a tab among spaces": ("a:\n  b: c\n \td: 1\n", "4:2: this line is indented with a tab"),
    "a tab before a list": ("a: \t[b]\n", "2:4: a tab stands before the value"),
    "an open quote": ('a: "T\nb: c\n', '2:4: the text that begins here with " has no closing "'),
    "an open quote, and one below": ('a: "T\nb: "c"\n', '2:4: the text that begins here with " ends in line'),
    "no colon": ("name T\nb: c\n", "2:1: this line has no colon after its key"),
    "no space after a colon": ("a:b\nc: d\n", "2:1: a space is missing after the colon: a: b"),
    "an open bracket": ("a: [b, c\nd: e\n", "2:4: the [ that stands here is not closed"),
    "an open brace at the end": ("a: {b: 1\n", "2:4: the { that stands here is not closed"),
    "wrong indentation": ("a:\n    b: 1\n  c: 2\n", "4:3: this is not YAML here: `c: 2` below `b: 1`; check"),
    "two colons": ("a: b: c\n", "2:5: this is not YAML here: `a: b: c` below `key: t`; check quotes"),
    "an alias": ("\na: *b\n", "3:4: this is not YAML here: `a: *b` below `key: t`"),
    "a long line": (f"a: @{'b' * 90}\n", f"2:4: this is not YAML here: `a: @{'b' * 55}…` below"),
}  # fmt: skip


def test_what_is_no_yaml_is_told_with_its_place_in_plain_words(cli: Cli, tmp_path: Path) -> None:
    for number, (text, _) in enumerate(WRONG.values()):
        (tmp_path / f"{number:02}.yaml").write_text(f"key: t\n{text}")
    done = cli("validate", *(f"{number:02}.yaml" for number in range(len(WRONG))))
    told = dict(line.split(".yaml:", 1) for line in done.stdout.splitlines())
    assert (done.status, len(told)) == (2, len(WRONG))
    for number, (name, (_, words)) in enumerate(WRONG.items()):
        assert told[f"{number:02}"].startswith(words), name


def test_what_is_meant_as_a_text_or_a_key_is_told_also_where_it_is_yaml(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(task().replace('"{{ sample.answer }}"', "{{ sample.answer }}"))
    line, note = cli("validate", "t.yaml").stdout.splitlines()
    assert line.startswith("t.yaml:14:21 definition.scorers[0].ground_truth: a value that begins with {{")
    assert note.startswith("note: ")
    (tmp_path / "t.yaml").write_text("key:t\n")
    assert "(a space is missing after the colon: key: t)" in cli("validate", "t.yaml").stdout


@pytest.mark.parametrize("seed", range(8))
def test_no_text_is_told_in_the_parsers_words(seed: int) -> None:
    chance, text = random.Random(seed), task()
    for _ in range(100):
        place = chance.randrange(len(text))
        wrong = text[:place] + chance.choice("\t\"'[]{}:-@*&!|>%#,?\n ") + text[place + chance.randrange(3) :]
        try:
            strict_yaml.compose(wrong)
        except strict_yaml.YamlFault as fault:
            assert fault.line, wrong
            assert not any(word in fault.reason for word in ("expected", "found", "could not", "<block")), (
                wrong
            )
