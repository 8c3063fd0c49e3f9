"""A task file that is no YAML: told in plain words, where to look, and what is likely meant."""

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
    "an apostrophe": ("a: 'it's'\n", "2:8: something stands after the closing ': a ' inside a text is"),
    "no colon": ("ab T\nb: c\n", "2:1: this line has no colon after its key"),
    "no colon, a word": ("name T\n", "2:1: this line has no colon after its key (did you mean `name: T`?)"),
    "no space after a colon": ("a:b\nc: d\n", "2:1: a space is missing after the colon: a: b"),
    "no space after a dash": ("-a\nb: c\n", "2:1: a space is missing after the dash: - a"),
    "two colons": ("a: b: c\n", "2:5: a second ': ' stands in one line: put the whole value in quotes"),
    "indented too much": ("  a: b\n", "2:3: a: is indented more than line 1, which has a value already"),
    "indented too little": (
        "a:\n    b: 1\n  c: 2\n",
        (
            "4:3: wrong indentation: this line begins in column 3, the lines that it could belong to "
            "begin in column 1 or 5"
        ),
    ),
    "beside its dash": ("a:\n  - b: 1\n   c: 2\n", "4:4: wrong indentation"),
    "below a whole entry": ("a:\n  - {b: 1}\n    c: 2\n", "4:5: nothing can follow here"),
    "a key in a list": ("a:\n  - b\n  c: d\n", "4:3: a key stands among the entries of a list"),
    "an entry among keys": ("a: b\n- c\n", "3:1: an entry of a list stands among keys"),
    "a list on its key's line": ("a: - b\n", "2:4: a list begins on the line after its key"),
    "a block with a loose end": ("a: |\n    b\n  c\n", "4:3: this line is indented less than the first line"),
    "an open bracket": ("a: [b, c\nd: e\n", "2:4: the [ that stands here is not closed"),
    "an open brace at the end": ("a: {b: 1\n", "2:4: the { that stands here is not closed"),
    "one bracket too many": ("a: [b]]\n", "2:7: this ] closes nothing: no [ is open"),
    "no comma": ('a: ["b" "c"]\n', "2:9: a comma is missing before this"),
    "two commas": ("a: [b,, c]\n", "2:7: a value is missing before this ,"),
    "a template without quotes": ("a: {{ b }} c\n", "2:12: something stands after the closing bracket"),
    "@": ("a: @b\n", "2:4: a value may not begin with @: put the whole value in quotes"),
    "bold": ("a: **b** c\n", "2:4: a value that begins with * is special in YAML: put the whole"),
    "an alias": ("a: *b\n", "2:4: *b is an alias, and no &b stands above"),
    "an anchor twice": ("a: &b c\nd: &b e\n", "3:4: this anchor is given twice, first in line 2"),
    "an escape": ('a: "\\d"\n', "2:6: \\d is no escape in a text between double quotes"),
    "after a block's sign": ("a: |b\n", "2:4: after | the text begins on the next line"),
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
