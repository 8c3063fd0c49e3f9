"""What goes wrong with prompts and models, and what a user is told to do about it."""

import shlex
from pathlib import Path

import pytest

from optimize_eval import UsageError, sweep
from tests.cli.benches import model
from tests.cli.prompted import COUNTED, RIGHT, calls, command, prompts, two_prompts
from tests.front_door import Cli, Result
from tests.tools import write_program


def skips_one_letter(folder: Path, one: str, more: str) -> Path:
    """Write an evaluator that says the one of a reply of one letter, and else the other."""
    reads = 'IFS= read -r line; reply=${line#*\'"candidate":"\'}'
    says = f"""case ${{reply%%\\"*}} in ''|?) echo '{one}' ;; *) echo '{more}' ;; esac"""
    return write_program(folder / "skip.sh", ["#!/bin/sh", reads, says])


def test_groups_of_failures_and_skips_name_the_model(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "w", f"{{'error': 'no twos'}} if '2 plus' in asked['prompt'] else {RIGHT}")
    skips_one_letter(tmp_path, '{"skip": "short"}', '{"score": 1}')
    both = command("-e", "s=./skip.sh", models=("m=cmd:./m", "w=cmd:./w"))
    told = cli(*both, "--details")
    assert "model_error  s with w · plain, polite" in told.stdout
    assert "20 ×  s with m · plain, polite" in told.stdout


def test_extract_that_is_new_to_a_run_is_named_as_what_differs(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    assert cli(*command("-e", "@f1")).status == 0
    refused = cli(*command("-e", "@f1", "--extract", "last-number"))
    assert refused.status == 2
    assert "evaluator f1 was @f1 without --extract last-number" in refused.stderr


def test_a_model_that_fails_is_the_one_at_fault(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    typo = command("-e", "@f1", "-e", "@contains", models=("broken=cmd:python3 modle.py",))
    told = cli(*typo)
    assert told.status == 4
    assert told.stderr.count("error: model broken failed on every call (6), model_error: ") == 1
    assert "stopped before the other " in told.stderr
    assert "error: f1" not in told.stderr


@pytest.mark.parametrize(
    ("model_written", "evaluator"),
    [
        ("cmd:./modle.py", "@exact_match"),
        ("m=cmd:./modle.py", "@f1"),
        ("cmd:./model.py", "e=exact_match --target-field target"),
    ],
)
def test_a_mistyped_model_or_shipped_evaluator_is_mended_in_the_line_that_goes_on(
    cli: Cli, tmp_path: Path, model_written: str, evaluator: str
) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "model.py", RIGHT)
    told = cli(*command("-e", evaluator, models=(model_written,)))
    assert told.status == 4
    *_, say, line = told.stderr.splitlines()
    assert say.endswith("; to go on, run:"), told.stderr
    done = cli(*shlex.split(line)[1:])
    assert done.status == 0, done.stderr


def test_an_abort_on_a_models_failure_names_the_model_to_replace(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "m", f"{{'error': 'no fives'}} if '5 plus' in asked['prompt'] else {RIGHT}")
    abort = command("--on-failure", "abort", "--concurrency", "1")
    told = cli(*abort)
    assert told.status == 4
    assert "or, where the fix changes model m, which has scores already:" in told.stderr
    assert "--replace model:m" in told.stderr
    assert "--replace exact_match" not in told.stderr
    model(tmp_path / "m", RIGHT)
    assert cli(*abort).status == 2
    assert cli(*abort, "--replace", "model:m").status == 0


def test_a_rescore_again_after_a_fix_replaces_what_had_only_skipped_and_failed(
    cli: Cli, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    assert cli(*command()).status == 0
    skip = skips_one_letter(tmp_path, '{"skip": "no"}', "")
    rescore = ("rescore", "r", "-e", "skip=./skip.sh")
    broken = cli(*rescore)
    assert broken.status == 4
    assert "--out" not in broken.stdout
    assert "after fixing it, run:\n  optimize-eval rescore r -e skip=./skip.sh\n" in broken.stderr
    assert "with --out" not in cli("report", "r").stdout
    write_program(skip, ["#!/bin/sh", "echo '{\"score\": 1}'"])
    fixed = cli(*rescore)
    assert fixed.status == 0, fixed.stderr
    assert "note: skip has changed and had scored nothing" in fixed.stderr
    shown = cli("report", "r", "--format", "json").json
    assert {row["evaluator"] for row in shown["rows"]} == {"exact_match", "skip"}
    assert shown["failures"] == []
    assert cli("report", "r", "--check").status == 0
    write_program(skip, ["#!/bin/sh", "echo '{\"score\": 0}'"])
    other = cli("rescore", "r", "-e", "./skip.sh")
    assert "note: the run has scores by another skip; this one is called skip-2" in other.stderr


def test_validate_says_of_prompts_and_models_what_run_would_refuse(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)

    def validate(keys: str) -> Result:
        evaluator = '[[evaluator]]\nuse = "@f1"\n'
        (tmp_path / "s.toml").write_text(f'[run]\ndataset = "train.jsonl"\n{keys}\n{evaluator}')
        return cli("validate", "s.toml")

    named = 'prompts = ["prompts/*.md"]\n'
    fine = validate(f'{named}models = ["m=cmd:./m", "toy"]\nbaseline = "polite"')
    assert (fine.status, fine.stdout.splitlines()[-1]) == (0, "prompts/*.md: ok, 2 prompts")
    wrong = {
        'models = ["nope"]': "unknown model 'nope'",
        'models = ["cmd:python3 modle.py"]': "modle.py",
        'models = ["toy"]\ntask_models = ["x"]': "models names the task models",
        'models = ["toy"]\nextract = "leter"': "'leter' is not a rule",
        'models = ["toy"]\nbaseline = "nobody"': "no candidate is called 'nobody'",
        "": "no model is named that replies to the prompts",
    }
    for keys, told in wrong.items():
        result = validate(named + keys)
        assert (result.status, told in result.stdout) == (2, True), (keys, result.stdout)
    prompts(tmp_path, typo="{{quesiton}}")
    typo = validate(f'{named}models = ["toy"]')
    assert typo.status == 2
    assert "prompts/typo.md:1: there is no field 'quesiton' in any example" in typo.stdout
    assert "lost.md: no such file" in validate('prompts = ["lost.md"]\nmodels = ["toy"]').stdout


def test_show_tells_what_is_recorded_also_by_an_evaluator_and_a_model_that_have_changed(
    cli: Cli, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    (tmp_path / "e.py").write_text("print('{\"score\": 1}')")
    run = command("-e", "e=python3 e.py", "--limit", "2")
    assert cli(*run).status == 0
    before = cli(*run, "--show", "train:1")
    assert "train-0  train:1" in before.stdout
    assert "val" not in before.stdout
    (tmp_path / "e.py").write_text("print('{\"score\": 0}')")
    model(tmp_path / "m", "'other'")
    shown = cli(*run, "--show", "train:1")
    assert (shown.status, shown.stdout) == (0, before.stdout)
    assert "note: evaluator e has changed: e.py; what is shown was recorded before that" in shown.stderr
    assert "note: model m has changed: m" in shown.stderr


def test_what_is_named_twice_is_noted_or_counted_once(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    twice = command("-e", "@f1", "-e", "@f1", "--prompt", "./prompts/plain.md", "--limit", "1", "--json")
    told = cli(*twice)
    assert "note: f1-2 is the same evaluator as f1: each of them is called" in told.stderr
    assert {row["candidate"] for row in told.json["summary"]["rows"]} == {"plain", "polite"}


def test_a_call_from_python_is_told_in_its_own_words_and_takes_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_prompts(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        sweep(["@f1"], "c.txt", prompts="prompts/*.md", models="toy", dataset="train.jsonl")
    assert refused.value.message == "prompts names the candidates"
    assert "--" not in f"{refused.value.message}{refused.value.hint}"
    messages = [{"role": "system", "content": "Add."}, {"role": "user", "content": "{{question}}"}]
    run = sweep(
        ["@exact_match"], prompts={"v1": messages}, models="m=cmd:./m", dataset="train.jsonl", out="r"
    )
    assert [record.score for record in run.records] == [1.0] * 8
    wrong = [{"role": "users", "content": "x"}]
    with pytest.raises(UsageError, match="the role 'users' is not one of system"):
        sweep(["@f1"], prompts={"v1": wrong}, models="toy", dataset="train.jsonl")


@pytest.mark.parametrize("first", [bytes(50), b"{}"], ids=["zeros", "shorter"])
def test_a_damaged_first_line_of_the_replies_is_made_again(cli: Cli, tmp_path: Path, first: bytes) -> None:
    two_prompts(tmp_path)
    assert cli(*command(), env=COUNTED).status == 0
    outputs = tmp_path / "r" / "outputs.jsonl"
    rest = outputs.read_bytes().partition(b"\n")[2]
    outputs.write_bytes(first + b"\n" + rest)
    refused = cli("report", "r", "--format", "jsonl")
    assert "r/outputs.jsonl:1: the line is not as it was written" in refused.stderr
    assert "run the command of this run again: it makes this line again" in refused.stderr
    made = calls(tmp_path)
    again = cli(*command("-e", "@f1"), env=COUNTED)
    assert again.status == 0, again.stderr
    assert "note: the first line of r/outputs.jsonl was damaged, and was made again" in again.stderr
    assert (calls(tmp_path), outputs.read_bytes().endswith(rest)) == (made, True), "no model is called"
    assert cli("report", "r", "--check").status == 0
