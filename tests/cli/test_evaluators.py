"""`optimize-eval evaluators` from outside: the list, and that what it copies and prints runs."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from optimize_eval.base import shipped
from tests.cli.benches import arithmetic
from tests.front_door import Cli
from tests.paths import ROOT
from tests.reports.looks import WIDTHS, measured

PAYLOAD = b'{"candidate": "the cat", "example": {"target": "a cat"}}\n'


def test_the_list_names_each_with_its_language_and_what_it_scores(cli: Cli) -> None:
    result = cli("evaluators", env={"COLUMNS": "120"})
    assert (result.status, result.stderr) == (0, "")
    assert cli("evaluators", "list", env={"COLUMNS": "120"}).stdout == result.stdout
    assert (
        " @exact_match             Python  1 when the candidate equals one of the example's" in result.stdout
    )
    assert " @few_rules               sh      how few rules of a @routing candidate are read" in result.stdout
    assert "_metric" not in result.stdout


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(cli: Cli, width: int) -> None:
    text = cli("evaluators", env={"COLUMNS": str(width)}).stdout
    assert max(map(measured, text.splitlines())) <= width
    assert all(f"@{name}" in text for name in shipped.programs())


def test_the_list_as_json(cli: Cli) -> None:
    result = cli("evaluators", "--json")
    assert result.json["schema"] == "optimize-eval.evaluators.v1"
    found = {one["name"]: one for one in result.json["evaluators"]}
    assert set(found) == {f"@{name}" for name in shipped.programs()}
    assert found["@f1"]["also"] == [str(ROOT / "evaluators" / "_metric.py")]
    assert all(one["summary"][-1] in ".?" and one["summary"][0].isalnum() for one in found.values())
    assert cli("evaluators", "list", "--json").stdout == result.stdout


@pytest.mark.parametrize("name", ["f1", "@f1"])
def test_show_prints_the_file_as_it_is(cli: Cli, name: str) -> None:
    result = cli("evaluators", "show", name)
    assert result.stdout == (ROOT / "evaluators" / "f1.py").read_text()
    assert "_metric.py beside it" in result.stderr
    assert cli("evaluators", "show", "routing").stderr == ""
    assert cli("evaluators", "show", f"{name}@variant").stdout == result.stdout


@pytest.mark.parametrize("name", ["f1", "exact_match@strict", "'f1' --target-field target"])
def test_the_command_that_is_printed_runs_in_a_shell(cli: Cli, tmp_path: Path, name: str) -> None:
    result = cli("evaluators", "command", name)
    assert result.stdout.count("\n") == 1
    ran = subprocess.run(
        ["sh", "-c", result.stdout], input=PAYLOAD, capture_output=True, cwd=tmp_path, check=True
    )
    assert b'"score"' in ran.stdout


def test_a_copy_runs_where_it_is_and_two_share_their_module(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert cli("evaluators", "copy", "f1", "mine").stdout == "mine/f1.py\n"
    assert cli("evaluators", "copy", "@bleu_4", "mine/own").stdout == "mine/own\n"
    assert sorted(file.name for file in (tmp_path / "mine").iterdir()) == ["_metric.py", "f1.py", "own"]
    assert not os.access(tmp_path / "mine" / "_metric.py", os.X_OK)
    for program in ("f1.py", "own"):
        ran = subprocess.run([tmp_path / "mine" / program], input=PAYLOAD, capture_output=True, check=True)
        assert b'"score"' in ran.stdout
    (tmp_path / "c.txt").write_text("the cat")
    scored = cli("score", "c.txt", "-e", "mine/f1.py", "--example", '{"target": "a cat"}')
    assert scored.json["score"] == 0.5


def test_what_shares_nothing_is_copied_alone_to_here(cli: Cli, tmp_path: Path) -> None:
    result = cli("evaluators", "copy", "few_rules")
    assert (result.stdout, result.stderr) == ("few_rules.sh\n", "")
    assert [file.name for file in tmp_path.iterdir()] == ["few_rules.sh"]
    assert os.access(tmp_path / "few_rules.sh", os.X_OK)


@pytest.mark.parametrize("there", ["f1.py", "_metric.py"])
def test_a_copy_never_overwrites_and_then_writes_nothing(cli: Cli, tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    result = cli("evaluators", "copy", "f1")
    assert (result.status, result.stdout) == (2, "")
    assert f"'{there}' exists and stays as it is" in result.stderr
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_a_link_to_nowhere_is_not_written_through(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f1.py").symlink_to(tmp_path / "nowhere.py")
    assert cli("evaluators", "copy", "f1").status == 2
    assert not (tmp_path / "nowhere.py").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "exact_mach"], "did you mean @exact_match?"),
        (["show", "_metric"], "name one of @"),
        (["command", "../f1"], "no shipped evaluator is called @../f1"),
        (["copy", "f1", "no/folder/"], "there is no folder 'no/folder'"),
        (["copy", "f1", "no/f1.py"], "there is no folder 'no'"),
        (["copy", "f1", ""], "there is no folder ''"),
        (["copy", "nothing\x1b[2J"], "@nothing\\x1b[2J"),
        (["nonsense"], "No such command 'nonsense'"),
        (["--json", "show", "f1"], "--json is for the list"),
    ],
)
def test_what_cannot_be_done_is_told_with_what_to_do(cli: Cli, arguments: list[str], says: str) -> None:
    result = cli("evaluators", *arguments)
    assert (result.status, result.stdout) == (2, "")
    assert says in result.stderr
    assert "try: " in result.stderr


def test_what_ships_is_meant_when_its_sign_is_forgotten(cli: Cli) -> None:
    done = cli("score", "-", "-e", "exact_match")
    assert done.status == 4
    assert done.json["hint"] == "did you mean @exact_match?"
    assert cli("score", "-", "-e", "no_such_match").json["hint"].startswith("install it")


def test_what_ships_is_started_once_for_all_models(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arithmetic(tmp_path)
    starts = _starts_noted_in(tmp_path, monkeypatch)
    models = ("--model", "toy", "--model", "silent")
    done = cli("bench", "sums.jsonl", *models, "--workers", "1", "--no-preflight", "--out", "r")
    assert (done.status, len(starts())) == (0, 1), starts()


def test_code_of_models_at_a_level_is_run_by_one_program_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.jsonl").write_text('{"io_pairs": [[1, 2]]}\n')
    (tmp_path / "c.txt").write_text("def f(x): return 2 * x")
    starts = _starts_noted_in(tmp_path, monkeypatch)
    options = ("--dataset", "d.jsonl", "--task-model", "a", "--task-model", "b", "--workers", "1")
    done = cli(
        "run", "-e", "@code_exec", "--candidate", "c.txt", *options, "--no-preflight", "--sandbox", "none"
    )
    assert done.status == 0, done.stderr
    assert len([one for one in starts() if one == "none"]) == 1, starts()


def test_a_shipped_program_that_does_not_start_is_no_kept_alive_one_that_broke(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a cat")
    (tmp_path / "d.jsonl").write_text('{"target": "a cat"}\n' * 3)
    done = cli("run", "-e", "@bleu --odd", "--candidate", "a.txt", "--dataset", "d.jsonl", "--no-preflight")
    assert (done.status, "unrecognized arguments: --odd" in done.stderr) == (4, True), done.stderr
    assert "kept-alive" not in done.stdout + done.stderr


def _starts_noted_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Have each Python that starts write down what it runs; gives what was written."""
    starts = folder / "starts"
    note = f"import sys\nopen({str(starts)!r}, 'a').write(sys.orig_argv[-1] + '\\n')\n"
    (folder / "sitecustomize.py").write_text(note)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return lambda: starts.read_text().splitlines()
