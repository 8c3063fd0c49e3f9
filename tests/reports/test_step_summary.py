"""`report --step-summary`, and the action in docs that uses it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from optimize_eval.findings.summary_shape import FailureGroup
from optimize_eval.reports.junit import lines
from tests.findings.made import on_val
from tests.front_door import Cli, Result, in_this_process
from tests.page.made import make_run
from tests.paths import ROOT

ACTION = ROOT / "docs" / "action.yml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("step")
    return make_run(folder, train=60, val=10, candidates=["baseline", "v2-fewshot", "v4-verbose"])


def step(run: Path, summary: Path, *options: str) -> Result:
    env = {"GITHUB_STEP_SUMMARY": str(summary), "CI": "true"}
    return in_this_process(run.parent)("report", run.name, "--step-summary", *options, env=env)


def test_the_report_is_appended_and_each_group_of_failures_annotated(run: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = step(run, summary)
    assert done.status == 0, done.stderr
    markdown = in_this_process(run.parent)("report", run.name, "--format", "md", env={"CI": "true"}).stdout
    assert summary.read_text() == f"before\n{markdown}\n"
    told = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert len(told) == 2
    assert told[0].startswith("::warning title=judge%3A 3 calls failed (reported)::v4-verbose: ")
    assert any("(score_type)::v2-fewshot: " in line for line in told)


def test_a_missed_gate_is_an_error(run: Path, tmp_path: Path) -> None:
    done = step(run, tmp_path / "summary.md", "--fail-under", "judge=0.99")
    assert done.status == 1
    assert "::error title=gate missed::judge on " in done.stderr
    assert "✕" in (tmp_path / "summary.md").read_text()


def test_a_board_is_a_summary_too(cli: Cli, tmp_path: Path) -> None:
    """With its gates, and an annotation for each group of failed calls of a model."""
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (tmp_path / "sums.jsonl").write_text(task)
    models = ("--model", "toy", "--model", "broken=cmd:false")
    assert cli("bench", "sums.jsonl", *models, "--out", "r", "--quiet").status == 4
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "CI": "true"}
    done = cli("report", "r", "--step-summary", "--fail-under", "toy=1.0", env=env)
    markdown = cli("report", "r", "--format", "md", "--fail-under", "toy=1.0", env={"CI": "true"}).stdout
    assert (tmp_path / "summary.md").read_text() == f"{markdown}\n"
    told = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert [line.partition("::")[2].partition("::")[0] for line in told] == [
        "error title=gate missed",
        "warning title=broken%3A 1 call failed (exit_code)",
    ]


def test_it_stands_beside_other_formats(run: Path, tmp_path: Path) -> None:
    done = step(run, tmp_path / "summary.md", "--format", "html", "-o", str(tmp_path / "page.html"))
    assert (done.status, done.stdout.strip()) == (0, str(tmp_path / "page.html"))
    assert (tmp_path / "summary.md").exists()


def test_without_github_it_is_refused(run: Path) -> None:
    done = in_this_process(run.parent)("report", run.name, "--step-summary", env={"GITHUB_STEP_SUMMARY": ""})
    assert (done.status, done.stdout) == (2, "")
    assert "needs $GITHUB_STEP_SUMMARY" in done.stderr


def test_no_text_of_an_evaluator_is_a_command() -> None:
    failures = FailureGroup(
        candidate="c",
        evaluator="e,v:il\n::error::x",
        task_model=None,
        split="val",
        kind="reported",
        count=2,
        first_message="100 %\r\n::add-mask::secret\x1b[2J",
        lines=(1,),
        first_side_info="",
    )
    summary = replace(on_val(c=[1.0, 0.5]).findings(), failures=(failures,))
    (line,) = lines(summary, [])
    assert "\n" not in line
    assert "\r" not in line
    assert "\x1b" not in line
    assert line.startswith("::warning title=e%2Cv%3Ail%0A%3A%3Aerror%3A%3Ax%3A 2 calls failed (reported)::")
    assert line.endswith("c: 100 %25\\x0d%0A::add-mask::secret\\x1b[2J")


def test_the_action_is_one_and_its_commands_exist() -> None:
    text = ACTION.read_text(encoding="utf-8")
    keys = re.findall(r"^(\w+):", text, re.MULTILINE)
    assert keys == ["name", "description", "inputs", "runs"]
    assert "using: composite" in text
    steps = text.partition("  steps:\n")[2].split("    - ")[1:]
    assert steps
    assert all(("shell: bash" in one and "run: " in one) or one.startswith("uses: ") for one in steps)
    inputs = re.findall(r"^  (\w+):$", text.partition("inputs:\n")[2].partition("\nruns:")[0], re.MULTILINE)
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(inputs)
    commands = re.findall(r"run: .*\$\{\{ inputs", text)
    assert not commands  # an input in a script is code of whoever wrote it: it goes through env
    called = re.findall(r"optimize-eval (\w+) ([^\n<]*)", text.partition("steps:")[2])
    assert called
    for command, options in called:
        cli = in_this_process(ROOT)
        known = cli(command, "--help-all").stdout or cli(command, "--help").stdout
        assert all(option in known for option in re.findall(r"--[\w-]+", options))
