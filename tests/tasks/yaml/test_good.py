"""What can be used is said to be, with what is noted of it; what cannot reads as a compiler tells it."""

from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tasks.yaml.good import GOOD
from tests.tasks.yaml.made import HEAD, task, validated


def test_what_the_pages_allow_is_allowed(cli: Cli, tmp_path: Path) -> None:
    told = validated(cli, tmp_path, {f"{name.replace(' ', '_')}.yaml": text for name, text in GOOD.items()})
    assert {name: one["errors"] for name, one in told.items()} == {name: [] for name in told}
    assert [(one["valid"], len(one["ids"])) for one in told.values()] == [(1, 1)] * len(GOOD)


NOTED = {
    "smallest": ["definition.dataset.key"],
    "all of the top": ["evaluated_entity_type", "definition.dataset.key"],
    "old type": ["definition.type", "definition.dataset.key"],
    "fast subset": ["definition.dataset.key", "definition.dataset.fast_subset_size"],
    "a dollar": ["definition.dataset.key"],
    "judge": ["definition.dataset.key", "definition.scorers[0].model_key"],
    "neither": ["definition", "definition.dataset.key"],
    "dataset": [],
    "parameters": [],
}


def test_what_is_old_or_missing_or_looks_as_if_it_were_replaced_is_noted(cli: Cli, tmp_path: Path) -> None:
    variable = {"variable.yml": task(head=HEAD.replace("Knows", "Asks $HOME and ${KEY_2},"))}
    files = {f"{name}.yml": GOOD[name] for name in NOTED} | variable
    told = validated(cli, tmp_path, files)
    noted = {name: [note["field"] for note in one["notes"]] for name, one in told.items()}
    assert noted == {f"{name}.yml": fields for name, fields in NOTED.items()} | {
        "variable.yml": ["description", "definition.dataset.key"]
    }
    (tmp_path / "capitals.csv").write_text("question,answer\nx,y\n")
    (note,) = cli("validate", "variable.yml").stdout.splitlines()[1:]
    assert note.startswith("note: variable.yml:3:14 description: $HOME is sent as it is")


@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_people_read_what_is_wrong_as_a_compiler_tells_it(cli: Cli, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.{suffix}").write_text(task(head=HEAD.replace("key:", "kee:")))
    done = cli("validate", f"a.{suffix}")
    assert done.status == 2
    assert done.stdout.splitlines()[:2] == [
        f"a.{suffix}:1:1 kee: a task has no such field (did you mean 'key'?)",
        f"a.{suffix}:1:1 key: key is required",
    ]
    (tmp_path / f"a.{suffix}").write_text(task())
    ok, note = cli("validate", f"a.{suffix}").stdout.splitlines()
    assert ok == f"a.{suffix}: ok, 1 task"
    assert note.startswith(f"note: a.{suffix}:5:18 definition.dataset.key: no such dataset stands beside")
    assert note.endswith("run it with --data capitals=FILE")
