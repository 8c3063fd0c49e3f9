"""The command line itself: help, versions, misuse, habits of other tools, what a shell offers after Tab."""

import subprocess
import sys
from pathlib import Path

import pytest

from optimize_eval.base.shipped import VERSION
from optimize_eval.cli.command_table import NAMES
from tests.cli.made_runs import make
from tests.front_door import Cli
from tests.tools import starts_in_any_locale


@pytest.mark.parametrize("command", [[], *([name] for name in NAMES)])
def test_help_has_one_line_for_each_option_and_ends_with_examples(cli: Cli, command: list[str]) -> None:
    result = cli(*command, "--help", env={"COLUMNS": "80"})
    assert result.status == 0
    assert "Examples:\n" in result.stdout
    sections = [part for part in result.stdout.partition("Examples:\n")[0].split("\n\n") if "\n  -" in part]
    options = [line for section in sections for line in section.splitlines()[1:]]
    ours = [line for line in options if "completion" not in line and "customize" not in line]
    assert ours
    more = [line for line in ours if not line.lstrip().startswith("-")]
    assert len(more) <= 1, "more than one option's help goes over two lines"
    prose = result.stdout.rpartition("Examples:\n")[2].partition("\n\n")[2]
    assert max(map(len, prose.splitlines()), default=0) <= 80, "what is said below the examples is wider"
    assert cli(*command, "-h", env={"COLUMNS": "80"}) == result


@pytest.mark.parametrize("command", ["run", "bench", "optimize", "preflight", "report"])
def test_help_shows_eight_options_and_help_all_every_one(cli: Cli, command: str) -> None:
    usual, every = (cli(command, flag, env={"COLUMNS": "80"}) for flag in ("--help", "--help-all"))
    assert (usual.status, every.status) == (0, 0)
    first, whole = (
        [
            line.split()[0]
            for line in done.stdout.partition("Examples:")[0].splitlines()
            if line.startswith("  -")
        ]
        for done in (usual, every)
    )
    assert len(first) == 8 + 2
    assert len(whole) > 3 * 8
    assert "Examples:\n" in every.stdout


def test_the_list_of_commands_names_each_that_is_tested_here(cli: Cli) -> None:
    parts = cli("--help").stdout.partition("\nExamples:\n")[0].split("\n\n")
    groups = [
        part.splitlines() for part in parts if part.startswith(("Compare:", "Look:", "Check:", "Write "))
    ]
    assert len(groups) == 4
    assert sorted(line.split()[0] for _, *lines in groups for line in lines) == sorted(NAMES)


def test_without_arguments_the_help_is_shown_and_nothing_was_done(cli: Cli) -> None:
    result = cli()
    assert result.status == 2
    assert "Usage: optimize-eval" in result.stderr
    assert "error:" not in result.stderr


def test_the_version(cli: Cli) -> None:
    result = cli("--version")
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.startswith("optimize-eval 0.")


MISUSE = {
    "a misspelt command": (["scoer"], "score"),
    "a misspelt option": (["score", "x", "--evaluatr", "y"], "--evaluator"),
    "no evaluator": (["score", "c.txt"], "--evaluator"),
    "two evaluators": (["score", "c.txt", "-e", "true", "-e", "false"], "score calls one evaluator, and 2"),
    "no such candidate": (["score", "d.txt", "-e", "true"], "did you mean c.txt?"),
    "a text for a candidate": (["score", "hello there", "-e", "true"], "write - for the file"),
    "an unknown metric": (["score", "c.txt", "-e", "@exact_mach"], "did you mean @exact_match?"),
    "a timeout of nothing": (["score", "c.txt", "-e", "true", "--timeout", "0"], "above 0"),
    "a timeout in words": (["score", "c.txt", "-e", "true", "--timeout", "soon"], "--timeout"),
    "an unknown score range": (["score", "c.txt", "-e", "true", "--score-range", "percent"], "unit"),
    "an example of neither form": (["score", "c.txt", "-e", "true", "--example", "x"], "FILE:LINE"),
    "an example that is broken": (["score", "c.txt", "-e", "true", "--example", "{"], "--example:1:2: "),
    "an example that is an array": (["score", "c.txt", "-e", "true", "--example", "[1]"], "FILE:LINE"),
    "no such line": (["score", "c.txt", "-e", "true", "--example", "c.txt:99"], "no record on this line"),
    "an unknown schema": (["schema", "anser"], "answer"),
    "no such dataset": (
        ["run", "-e", "true", "--candidate", "c.txt", "--dataset", "nowhere/train.jsonl"],
        "no such file, nor a folder nowhere",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), MISUSE.values(), ids=MISUSE.keys())
def test_misuse_exits_2_with_advice_and_prints_no_result(
    cli: Cli, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "c.txt").write_text("hello\n")
    result = cli(*arguments)
    assert result.status == 2
    assert said in result.stderr
    assert "error: " in result.stderr
    assert "Traceback" not in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"ab\xff", "byte 0xFF at offset 2"), (b"x\xed\xa0\x80", "byte 0xED at offset 1, a lone surrogate")],
)
def test_a_candidate_that_is_not_text_is_refused_with_the_offset(
    cli: Cli, tmp_path: Path, data: bytes, said: str
) -> None:
    (tmp_path / "c.txt").write_bytes(data)
    for result in (cli("score", "c.txt", "-e", "true"), cli("score", "-", "-e", "true", stdin=data)):
        assert result.status == 2
        assert said in result.stderr


def test_a_task_model_that_is_no_text_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    result = cli("score", "c.txt", "-e", "true", "--task-model", "a\udcffb")
    assert (result.status, "lone surrogate" in result.stderr) == (2, True)


def test_validate_says_which_files_are_usable_and_what_is_wrong(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n{"a": NaN}\n' + "oops\n" * 30)
    result = cli("validate", "good.jsonl", "bad.jsonl")
    lines = result.stdout.splitlines()
    assert result.status == 2
    assert lines[0] == "good.jsonl: ok, 2 records"
    assert lines[1] == "bad.jsonl:2:7: NaN is not a JSON number"
    assert lines[20] == "bad.jsonl:21:1: expecting value"
    assert lines[21] == "bad.jsonl: and 11 more problems; --json lists all"
    assert "1 of 2 files cannot be used" in result.stderr
    assert "bad.jsonl:2:7" in result.stderr
    assert cli("validate", "good.jsonl").status == 0


def test_validate_for_machines(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"a": 1}\n[]\n{"a" 1}\n')
    result = cli("validate", "d.jsonl", "--json")
    assert result.status == 2
    (file,) = result.json["files"]
    assert (file["path"], file["kind"], file["valid"], file["ids"]) == ("d.jsonl", "dataset", 1, [])
    assert [(e["line_number"], e["task_id"], e["rule"], e["field"]) for e in file["errors"]] == [
        (2, "?", "bad_type", "_root"),
        (3, "?", "bad_json", "_line"),
    ]


@pytest.mark.parametrize("document", ["payload", "answer"])
def test_the_schemas_are_printed_and_are_schemas(cli: Cli, document: str) -> None:
    import jsonschema

    result = cli("schema", document)
    assert result.status == 0
    jsonschema.Draft202012Validator.check_schema(result.json)


def test_completion_knows_the_commands(cli: Cli) -> None:
    env = {"_OPTIMIZE_EVAL_COMPLETE": "complete_bash", "COMP_WORDS": "optimize-eval s", "COMP_CWORD": "1"}
    assert cli(env=env).stdout.split() == ["score", "serve", "schema"]


@starts_in_any_locale
def test_json_is_utf8_whatever_the_terminal_says(program: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"targets": ["Zoë"]}\n', encoding="utf-8")
    result = program(
        *("score", "-", "-e", "@exact_match", "--example", "d.jsonl:1"),
        stdin="zoë".encode(),
        env={
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONIOENCODING": "ascii:strict",
        },
    )
    assert result.json["score"] == 1


def test_a_bug_is_one_line_that_tells_how_to_see_more(tmp_path: Path) -> None:
    (tmp_path / "orjson.py").write_text(
        "JSONDecodeError = ValueError\ndef dumps(*_): raise RuntimeError('boom')\n"
    )
    (tmp_path / "c.txt").touch()
    code = "from optimize_eval.cli import main; main()"
    command = [sys.executable, "-c", code, "score", str(tmp_path / "c.txt"), "-e", "true"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "error: this is a bug in optimize-eval: RuntimeError: boom"
    assert "OPTIMIZE_EVAL_TRACEBACK=1" in done.stderr


@pytest.mark.parametrize(
    ("command", "whose"), [("run", "models"), ("bench", "models"), ("optimize", "judges")]
)
def test_help_says_what_a_base_url_is_for(cli: Cli, command: str, whose: str) -> None:
    assert f"Base URL of all {whose}; of one: MODEL@URL." in cli(command, "--help-all").stdout


def offered(cli: Cli, words: str) -> list[str]:
    typed = words.split(" ")
    asked = {
        "_OPTIMIZE_EVAL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    return cli(env=asked).stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("run -e @exact_", ["@exact_match"]),
        ("preflight -e tas", ["task:"]),
        ("evaluators show json_v", ["json_valid"]),
        ("evaluators show @json_v", ["@json_valid"]),
        ("bench --model open", ["openai/", "openrouter/"]),
        ("optimize --judge-model anth", ["anthropic/"]),
    ],
)
def test_names_that_ship_are_offered(cli: Cli, words: str, names: list[str]) -> None:
    assert offered(cli, f"optimize-eval {words}") == names


@pytest.mark.parametrize(
    "words",
    ["report", "view", "diff", "diff runs/b", "rescore", "runs note", "runs rm", "verify", "run --reuse"],
)
def test_runs_are_offered_where_one_is_asked_for(cli: Cli, tmp_path: Path, words: str) -> None:
    (tmp_path / "runs" / "notes").mkdir(parents=True)
    for name in "ab":
        make(tmp_path / "runs" / name)
    assert offered(cli, f"optimize-eval {words} ru") == ["runs/a", "runs/b"]
    assert offered(cli, f"optimize-eval {words} runs/b") == ["runs/b"]


SWEEP = (
    '[run]\ncandidates = ["a.txt"]\n[[evaluator]]\nname = "{name}"\ncommand = "echo \'{{\\"score\\": 1}}\'"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").touch()
    (tmp_path / "mine.toml").write_text(SWEEP.format(name="mine"))
    return tmp_path


def test_the_package_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "optimize_eval", "-V"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"optimize-eval {VERSION}\n", "")


def test_short_options_are_the_long_ones(cli: Cli, folder: Path) -> None:
    assert cli("-V").stdout == cli("--version").stdout == f"optimize-eval {VERSION}\n"
    long = cli("run", "mine.toml", "--concurrency", "2", "--quiet", "--out", "r")
    short = cli("run", "-c", "mine.toml", "-j", "2", "-q", "--out", "r")
    assert (long.status, short.status) == (0, 0), short.stderr
    assert short.stdout == long.stdout == "a scores 1.000 on mine\nr\n"
    assert cli("run", "-c", "mine.toml", "-j", "0").stderr.startswith(
        "error: --concurrency 0 is out of range"
    )
    assert folder.is_dir()


def test_the_sweep_file_names_the_folder_however_it_is_given(cli: Cli, folder: Path) -> None:
    by_argument = cli("run", "mine.toml", "-q").stdout
    assert "runs/mine-" in by_argument
    assert cli("run", "--sweep", "mine.toml", "-q").stdout == by_argument
    assert cli("preflight", "-c", "mine.toml").stdout.endswith(" Ready to run.\n")
    assert folder.is_dir()


def test_the_file_of_the_folder_is_not_read_beside_another_and_two_are_refused(
    cli: Cli, folder: Path
) -> None:
    (folder / "optimize-eval.toml").write_text(SWEEP.format(name="usual"))
    named = cli("run", "-c", "mine.toml", "-q", "--out", "r")
    assert (named.stdout, "optimize-eval.toml" in named.stderr) == ("a scores 1.000 on mine\nr\n", False)
    for words in (("mine.toml", "-c", "mine.toml"), ("-c", "mine.toml", "mine.toml")):
        twice = cli("run", *words)
        assert (twice.status, twice.stdout) == (2, "")
        assert twice.stderr.startswith("error: two sweep files are named, the second is mine.toml\n")


WORDS = {
    ("init",): "`optimize-eval new` ",
    ("eval", "x"): "`optimize-eval run` ",
    ("list",): "`optimize-eval runs` ",
    ("help",): "optimize-eval --help\n",
    ("help", "run"): "optimize-eval run --help\n",
    ("help", "me"): "optimize-eval --help\n",
    ("test",): "`optimize-eval preflight` ",
    ("compare", "a", "b"): "`optimize-eval run` compares candidates, `optimize-eval diff A B` two runs",
    ("valdate",): "did you mean optimize-eval validate?",
    ("frobnicate",): "the commands are score, run, bench, ",
}


@pytest.mark.parametrize(("words", "ours"), WORDS.items(), ids=map(" ".join, WORDS))
def test_a_command_of_another_tool_is_answered_with_ours(cli: Cli, words: tuple[str, ...], ours: str) -> None:
    told = cli(*words)
    assert (told.status, told.stdout) == (2, "")
    assert told.stderr.startswith(f"error: there is no command {words[0]!r}\n  try: {ours}")
