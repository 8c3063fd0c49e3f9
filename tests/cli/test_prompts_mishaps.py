"""What goes wrong with prompts and models, and what a user is told to do about it."""

from pathlib import Path

from tests.cli.benches import model
from tests.cli.prompted import RIGHT, command, two_prompts
from tests.front_door import Cli


def test_groups_of_failures_and_skips_name_the_model(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "w", f"{{'error': 'no twos'}} if '2 plus' in asked['prompt'] else {RIGHT}")
    (tmp_path / "skip.py").write_text(
        "import json\nasked = json.loads(input())\n"
        "print(json.dumps({'skip': 'short'} if len(asked['candidate']) < 2 else {'score': 1}))\n"
    )
    both = command("-e", "s=python3 skip.py", models=("m=cmd:./m", "w=cmd:./w"))
    told = cli(*both)
    assert "model_error  s with w · plain, polite" in told.stdout
    assert "5 ×  s with m · plain" in told.stdout or "10 ×  s with m · plain, polite" in told.stdout


def test_extract_that_is_new_to_a_run_is_named_as_what_differs(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    assert cli(*command("-e", "@f1")).status == 0
    refused = cli(*command("-e", "@f1", "--extract", "last-number"))
    assert refused.status == 2
    assert "evaluator f1 was @f1 without --extract last-number" in refused.stderr
