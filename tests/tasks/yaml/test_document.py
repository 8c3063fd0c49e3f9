"""YAML, includes and references of task files: what is read, what is refused; nothing hostile hurts."""

from pathlib import Path
from typing import Any

import pytest

from tests.front_door import Cli
from tests.tasks.yaml.made import (
    HEAD,
    rules,
    scorer,
    task,
    validated,
)

INCLUDING = scorer("type: python\ncompute_scores_snippet: !include 'code/score.py'")
REFERRING = task(scorers="scorers:\n  - $ref: scorers/equal.yaml\n    key: mine\n")
FILES = {
    "code/score.py": "\n\n# code\ndef compute_scores(sample):\n    return {}\n\n",
    "scorers/equal.yaml": 'type: string_equals\nground_truth: !include "../texts/truth.txt"\n',
    "texts/truth.txt": "\n {{ sample.answer }}\n\n",
}


def told(cli: Cli, folder: Path, text: str | bytes, files: dict[str, Any] | None = None) -> Any:
    return validated(cli, folder, {**FILES, **(files or {}), "t.yaml": text})["t.yaml"]


def test_texts_are_included_and_mappings_referred_to_each_relative_to_its_file(
    cli: Cli, tmp_path: Path
) -> None:
    for text in (INCLUDING, REFERRING):
        assert told(cli, tmp_path, text)["errors"] == []


def test_what_is_wrong_in_another_file_is_told_at_its_line_there(cli: Cli, tmp_path: Path) -> None:
    (error,) = told(
        cli, tmp_path, INCLUDING, {"code/score.py": "\n\ndef compute_scores(sample):\n  return ("}
    )["errors"]
    assert (error["path"], error["line_number"], error["rule"]) == ("code/score.py", 4, "bad_snippet")
    wrong = {"scorers/equal.yaml": "# mine\ntype: string_equals\nground_truht: x\n"}
    missing, unknown = told(cli, tmp_path, REFERRING, wrong)["errors"]
    assert (unknown["path"], unknown["line_number"]) == ("scorers/equal.yaml", 3)
    assert unknown["field"] == "definition.scorers[0].ground_truht"
    assert (missing["path"], missing["line_number"]) == ("t.yaml", 13)
    (error,) = told(cli, tmp_path, REFERRING, {"texts/truth.txt": "\n\nx\n{{ smaple.y }}"})["errors"]
    assert (error["path"], error["line_number"], error["rule"]) == ("texts/truth.txt", 4, "bad_template")


def test_lines_of_a_block_are_the_files(cli: Cli, tmp_path: Path) -> None:
    text = scorer(
        "type: python\ncompute_scores_snippet: |\n\n  def compute_scores(sample):\n      return 1 +"
    )
    (error,) = told(cli, tmp_path, text)["errors"]
    line = text.split("\n").index("            return 1 +") + 1
    assert (error["line_number"], error["column"]) == (line, len("            return 1 +") + 1)


BAD_REFERENCES = {
    "not there": "nowhere.yaml",
    "absolute": "/etc/passwd",
    "home": "~/x.yaml",
    "above": "../x.yaml",
    "above by way of a folder": "scorers/../../x.yaml",
    "remote": "https://example.org/x.yaml",
    "a folder": "scorers",
    "a link to elsewhere": "link.yaml",
    "a link to a folder elsewhere": "links/x.yaml",
    "itself": "t.yaml",
    "empty": "''",
    "a list": "list.yaml",
    "nothing": "nothing.yaml",
    "a number": "3",
}


@pytest.mark.parametrize("what", BAD_REFERENCES)
def test_a_reference_stays_in_the_tasks_folder_and_names_a_mapping(
    cli: Cli, tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (tmp_path / "x.yaml").write_text("type: string_equals\nground_truth: x\n")
    (folder / "link.yaml").symlink_to(tmp_path / "x.yaml")
    (folder / "links").symlink_to(tmp_path)
    for name, text in {**FILES, "list.yaml": "- a\n", "nothing.yaml": ""}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "t.yaml").write_text(task(scorers=f"scorers:\n  - $ref: {BAD_REFERENCES[what]}\n"))
    (one,) = cli("validate", "task/t.yaml", "--json").json["files"]
    assert {(rule, field.rpartition(".")[2]) for rule, field in rules(one)} == {("bad_reference", "$ref")}


@pytest.mark.parametrize("named", ["../secret.txt", "/etc/passwd", "gone.py", "code", "latin.txt", "pipe"])
def test_an_include_stays_in_the_tasks_folder_and_names_a_text(cli: Cli, tmp_path: Path, named: str) -> None:
    import os

    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "task"
    (folder / "code").mkdir(parents=True)
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    os.mkfifo(folder / "pipe")
    (folder / "t.yaml").write_text(scorer(f"type: bleu\nground_truth: !include {named}"))
    (one,) = cli("validate", "task/t.yaml", "--json").json["files"]
    assert rules(one) == [("bad_reference", "definition.scorers[0].ground_truth")]


def test_a_circle_of_references_is_told(cli: Cli, tmp_path: Path) -> None:
    files = {"a.yaml": "$ref: b.yaml\n", "b.yaml": "$ref: a.yaml\n"}
    one = told(cli, tmp_path, task(scorers="scorers: [{$ref: a.yaml}]\n"), files)
    assert rules(one)[0] == ("bad_reference", "definition.scorers[0].$ref")
    assert "a.yaml → b.yaml → a.yaml" in one["errors"][0]["detail"]


def test_keys_given_twice_are_told_with_both_lines(cli: Cli, tmp_path: Path) -> None:
    (error,) = told(cli, tmp_path, HEAD + HEAD + task()[len(HEAD) :])["errors"][:1]
    assert (error["rule"], error["field"], error["line_number"]) == ("duplicate_key", "key", 4)
    assert "first in line 1" in error["detail"]
    (error,) = told(cli, tmp_path, REFERRING.replace("key: mine", "ground_truth: x"))["errors"]
    assert (error["rule"], error["field"]) == ("duplicate_key", "definition.scorers[0].ground_truth")
    assert "scorers/equal.yaml, line 2" in error["detail"]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE: dict[str, tuple[str | bytes, str]] = {  # what it is → the file, its rule
    "bomb": (BOMB, "bad_yaml"),
    "itself": ("a: &a [*a]\n", "bad_yaml"),
    "101 aliases": (f"a: &a 1\nb: [{', '.join(['*a'] * 101)}]\n", "bad_yaml"),
    "deep": ("[" * 25_000, "bad_yaml"),
    "steps": ("- " * 25_000, "bad_yaml"),
    "many values": ("- a\n" * 200_000, "bad_yaml"),
    "large": (b"# " + b"x" * 5_000_000, "bad_yaml"),
    "latin": (b"key: caf\xe9\n", "bad_yaml"),
    "UTF-16": ("key: a\n".encode("utf-16"), "bad_yaml"),
    "null byte": ("key: \0\n", "bad_yaml"),
    "tabs": ("key:\n\t- a\n", "bad_yaml"),
    "empty": ("", "bad_yaml"),
    "a comment": ("# nothing\n", "bad_yaml"),
    "two documents": (f"{task()}---\n{task()}", "bad_yaml"),
    "not closed": ("key: 'a\n", "bad_yaml"),
    "an object of Python": (f"{task()}tags: [!!python/object/apply:os.system [ls]]\n", "bad_yaml"),
    "a tag": (f"{task()}tags: [!secret x]\n", "bad_yaml"),
    "a set": (f"{task()}tags: !!set {{a}}\n", "bad_yaml"),
    "bytes": (f"{task()}long_description: !!binary aGFsbG8=\n", "bad_yaml"),
    "half a sign": (f'{task()}tags: ["\\ud800"]\n', "bad_yaml"),
    "a key that moves the cursor": (f'{task()}"\\e[2J": x\n', "bad_yaml"),
    "a key of a list": (f"{task()}[a]: b\n", "bad_yaml"),
    "a list": ("- a\n", "bad_type"),
    "a text": ("hello\n", "bad_type"),
    "a digit too many": (f"{task()}tags: [{'9' * 5_000}]\n", "bad_value"),
    "no number": (task(dataset="dataset: {key: a, fast_subset_size: .nan}\n"), "bad_value"),
    "deep templates": (scorer(f"type: bleu\nground_truth: '{{{{ {'(' * 5_000} }}}}'"), "bad_template"),
    "long templates": (scorer(f"type: bleu\nground_truth: '{'{{ sample }}' * 10_000}'"), "bad_template"),
    "many parameters": (scorer(f"type: bleu\nground_truth: '{'<< config.x >>' * 10_000}'"), "bad_template"),
    "long code": (
        scorer(f"type: python\ncompute_scores_snippet: '{'x = 1; ' * 50_000}'"),
        "bad_snippet",
    ),
    "deep code": (
        scorer(f"type: python\ncompute_scores_snippet: 'x = {'(' * 5_000}'"),
        "bad_snippet",
    ),
    "a null in code": (
        scorer('type: python\ncompute_scores_snippet: "x = \\0"'),
        "bad_snippet",
    ),
}


def test_what_is_hostile_is_one_problem_and_no_traceback(cli: Cli, tmp_path: Path) -> None:
    files = {f"{number}.yaml": text for number, (text, _) in enumerate(HOSTILE.values())}
    one = validated(cli, tmp_path, files)
    found = {what: rules(file) for what, file in zip(HOSTILE, one.values(), strict=True)}
    assert {what: [rule for rule, _ in broken] for what, broken in found.items()} == {
        what: [rule] for what, (_, rule) in HOSTILE.items()
    }


def test_references_that_grow_without_end_are_refused(cli: Cli, tmp_path: Path) -> None:
    files = {f"{n}.yml": f"a: {{$ref: {n + 1}.yml}}\nb: {{$ref: {n + 1}.yml}}\n" for n in range(30)}
    one = told(cli, tmp_path, "$ref: r/0.yml\n", {f"r/{name}": text for name, text in files.items()})
    assert {"bad_reference"} <= {rule for rule, _ in rules(one)}


def test_a_file_that_is_not_there_is_told_as_any(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(task())
    done = cli("validate", "tsk.yaml")
    assert (done.status, done.stdout) == (2, "tsk.yaml: no such file; did you mean task.yaml?\n")
