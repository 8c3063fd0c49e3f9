"""What a command loads: each its own modules, and nothing that costs before it is needed."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from optimize_eval.cli.command_table import NAMES
from tests.front_door import Cli
from tests.loading import DEAR, OF_MODELS
from tests.paths import PROGRAMS, ROOT

SPY = """
import json, sys
commands, found = json.loads(sys.argv[1]), []
for arguments in commands:
    sys.argv = ["optimize-eval", *arguments]
    from optimize_eval.cli import main
    try: status = main()
    except SystemExit as end: status = end.code
    found.append((status, sorted(sys.modules)))
with open("loaded.json", "w") as file: json.dump(found, file)
"""
GOOD = f"{PROGRAMS}/good.sh"
RUN = ["run", "-e", GOOD, "--candidate", "c.txt", "--out", "r", "--quiet"]
BENCH = ["bench", f"{ROOT}/datasets/tasks/arithmetic.jsonl", "--model", "toy", "--out", "b", "--quiet"]
COMMANDS = {  # command → what is done before, and its arguments
    "score": ([], ["score", "c.txt", "-e", GOOD]),
    "run": ([], RUN),
    "bench": ([], BENCH),
    "optimize": (
        [],
        ["optimize", "c.txt", "-e", GOOD, "--proposer", GOOD, "--dry-run"],
    ),
    "rescore": (RUN, ["rescore", "r", "-e", f"again={GOOD} again", "--quiet"]),
    "judge": (RUN, ["judge", "label", "--help"]),
    "report": (RUN, ["report", "r"]),
    "diff": (RUN, ["diff", "r", "r"]),
    "runs": (RUN, ["runs", "."]),
    "view": (RUN, ["view", "r", "--port", "99999"]),
    "verify": (BENCH, ["verify", "b/leaderboard.json"]),
    "preflight": ([], ["preflight", "-e", GOOD, "--candidate", "c.txt"]),
    "serve": ([], ["serve", "-e", GOOD, "--port", "99999"]),
    "validate": ([], ["validate", f"{ROOT}/datasets/tasks.jsonl", f"{ROOT}/datasets/greetings.jsonl"]),
    "schema": ([], ["schema", "answer"]),
    "evaluators": ([], ["evaluators", "list"]),
    "new": ([], ["new", "evaluator", "bash"]),
    "import": ([], ["import", "--help"]),  # to look at what it wrote is dear
    "demo": ([], ["demo", "shown"]),
}
SPARED = {  # command → modules of ours that are none of its business
    "score": (
        *OF_MODELS,
        "hashlib",
        "optimize_eval.findings",
        "optimize_eval.programs.http_client",
        "optimize_eval.store",
        "optimize_eval.tasks.",
        "optimize_eval.reports.terminal.summary",
    ),
    "run": OF_MODELS,
    "runs": (*OF_MODELS, "optimize_eval.findings", "optimize_eval.evaluators.kinds"),
    "report": (
        *OF_MODELS,
        "optimize_eval.evaluators.command_kind",
        "optimize_eval.programs.command",
        "optimize_eval.config.sweep_files",
    ),
    "validate": (*OF_MODELS, "optimize_eval.tasks.yaml"),
    "schema": ("optimize_eval.run", "optimize_eval.base.evaluator", "optimize_eval.findings"),
}

MOST_MODULES = {"run": 120, "score": 60}  # of the package
OTHERS = [command for command in COMMANDS if command not in SPARED]
SPARED_BY_HELP = {
    "run": tuple(
        f"optimize_eval.{room}" for room in ("findings", "run.sweeps", "run.plan", "run.runner", "store")
    )
}


def loaded(folder: Path, *commands: Sequence[str]) -> list[set[str]]:
    """Run commands one after the other in a process of their own, and list what each ended with loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SPY, json.dumps(commands)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "bug" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "loaded.json").read_bytes())
    expected = [2 if arguments[-1] == "99999" else None for arguments in commands]
    assert [status or None for status, _ in found] == expected, done.stderr
    return [set(modules) for _, modules in found]


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_table_has_every_command() -> None:
    assert list(COMMANDS) == list(NAMES)


@pytest.mark.parametrize("commands", [*([command] for command in SPARED), OTHERS], ids=" ".join)
def test_a_command_loads_nothing_dear(cli: Cli, tmp_path: Path, commands: Sequence[str]) -> None:
    """In one process, what none of several commands loads is loaded by no one of them."""
    (tmp_path / "c.txt").write_text("hello")
    for before in {tuple(COMMANDS[command][0]) for command in commands} - {()}:
        assert cli(*before).status == 0
    each = loaded(tmp_path, *(COMMANDS[command][1] for command in commands))
    for command, found in zip(commands, each, strict=True):
        assert f"optimize_eval.cli.commands.{command + '_' * (command in {'import', 'judge'})}" in found
        assert packages(found) & DEAR == ({"jinja2"} if command == "demo" else set()), (
            command
        )  # for its prompts
        assert not [name for name in found if name.startswith(SPARED.get(command, "nothing"))]
        ours = [name for name in found if name.partition(".")[0] == "optimize_eval"]
        assert len(ours) <= MOST_MODULES.get(command, len(ours)), command


def test_its_help_loads_less(tmp_path: Path) -> None:
    """The first one is alone; what none of them loads is loaded by no one of the others."""
    commands = sorted(COMMANDS, key=lambda command: command not in SPARED_BY_HELP)
    assert len(SPARED_BY_HELP) == 1
    each = loaded(tmp_path, *([command, "--help"] for command in commands))
    for command, found in zip(commands, each, strict=True):
        assert not packages(found) & {*DEAR, "ctypes"}, command
        assert not [name for name in found if name.startswith(SPARED_BY_HELP.get(command, "nothing"))]
        assert not [name for name in found if name.startswith(OF_MODELS)], command


def test_the_list_of_commands_loads_no_command(tmp_path: Path) -> None:
    (found,) = loaded(tmp_path, ["--help"])
    assert not packages(found) & {*DEAR, "ctypes", "orjson"}
    assert not found & {f"optimize_eval.cli.commands.{name}" for name in NAMES}
    assert "optimize_eval.base.evaluator" not in found


def test_a_start_looks_for_no_garbage_and_an_end_for_none_of_what_was_loaded(tmp_path: Path) -> None:
    code = "import atexit, gc, sys; from optimize_eval.cli import main; sys.argv[0] = 'optimize-eval'; "
    code += "rounds = []; gc.callbacks.append(lambda phase, _info: rounds.append(phase)); "
    code += "atexit.register(lambda: print(rounds, gc.get_freeze_count() > 10_000)); main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "evaluators", "list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[] True"


def test_an_evaluator_behind_a_url_loads_the_client_and_nothing_else_that_is_dear(tmp_path: Path) -> None:
    code = "import optimize_eval, sys, json; optimize_eval.http_evaluator('http://127.0.0.1:9').close(); "
    code += "print(json.dumps(sorted(sys.modules)))"
    found = set(json.loads(subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path)))
    assert packages(found) & (DEAR - {"asyncio"}) == {"pyreqwest"}


def test_importing_the_package_imports_nothing_of_it() -> None:
    code = "import sys, optimize_eval; print([m for m in sys.modules if m.startswith('optimize_eval.')])"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"[]\n"


def test_a_dry_run_loads_nothing_that_calls_or_summarises(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(name)
    (tmp_path / "d.jsonl").write_text('{"input": "x"}\n' * 9)
    wanted = ["--candidate", "a.txt", "--candidate", "b.txt", "--dataset", "d.jsonl", "--dry-run"]
    (found,) = loaded(tmp_path, ["run", "-e", GOOD, *wanted])
    needless = (
        "findings.summary_parts",
        "programs.command",
        "programs.process",
        "data.tables",
        "cli.session_end",
    )
    assert not {f"optimize_eval.{name}" for name in needless} & found
    assert not {"csv", "fractions", "random", "statistics"} & found
