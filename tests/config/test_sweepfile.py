"""Sweep files through the front door: they stand for options, flags win, all problems are told at once."""

import json
from pathlib import Path

import pytest

from tests.front_door import Cli, Result, in_this_process

JUDGE = '#!/bin/sh\ncat > /dev/null\necho "{\\"score\\": ${SCORE:-0.5}}"\n'
SWEEP = """\
[run]
dataset = "data/train.jsonl"
candidates = ["*.txt", "more.jsonl"]
baseline = "b"
repeats = 2
task_models = ["small", "large"]

[[evaluator]]
name = "judge"
command = "./judge.sh"

[[evaluator]]
name = "strict"
command = ["sh", "./judge.sh"]
timeout = 9
env = {SCORE = "${STRICT}"}
score_range = "any"
weight = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a project in a folder that is not the current one."""
    project = tmp_path / "project"
    (project / "data").mkdir(parents=True)
    (project / "judge.sh").write_text(JUDGE)
    (project / "judge.sh").chmod(0o755)
    (project / "a.txt").write_text("first")
    (project / "b.txt").write_text("second")
    (project / "more.jsonl").write_text('{"id": "c", "candidate": "third"}\n')
    (project / "data" / "train.jsonl").write_text('{"input": 1}\n{"input": 2}\n{"input": 3}\n')
    (project / "compare.toml").write_text(SWEEP)
    return project


def run(cli: Cli, *arguments: str, strict: str = "7") -> Result:
    return cli("run", "project/compare.toml", *arguments, env={"STRICT": strict})


def rows(done: Result) -> dict[tuple[str, str], float]:
    return {
        (row["evaluator"], row["candidate"]): row["splits"]["train"]["mean"]
        for row in done.json["summary"]["rows"]
    }


def test_a_sweep_file_says_it_all(cli: Cli, folder: Path) -> None:
    done = run(cli, "--json")
    assert done.status == 0, done.stderr
    assert rows(done) == {
        (judge, one): score for judge, score in (("judge", 0.5), ("strict", 7.0)) for one in "abc"
    }
    summary = done.json["summary"]
    assert summary["baseline"] == "b"
    assert summary["units"]["total"] == 2 * 3 * 2 * 3 * 2
    assert {row["task_model"] for row in summary["rows"]} == {"small", "large"}
    assert done.json["run"].startswith("runs/compare-")
    assert folder.exists()


def test_the_file_of_a_folder_is_used_where_a_command_names_neither_it_nor_an_evaluator(
    folder: Path,
) -> None:
    usual = folder / "optimize-eval.toml"
    (folder / "compare.toml").rename(usual)
    cli, said = in_this_process(folder), "note: the sweep file is optimize-eval.toml in this folder\n"
    done = cli("run", "--json", "--candidate", "b.txt", env={"STRICT": "7"})
    assert (done.status, said in done.stderr) == (0, True), done.stderr
    assert rows(done) == {("judge", "b"): 0.5, ("strict", "b"): 7.0}
    assert done.json["run"].startswith("runs/optimize-eval-")
    checked = cli("preflight", env={"STRICT": "7"})
    assert (checked.status, said in checked.stderr) == (0, True), checked.stderr
    named = cli("run", "-e", "./judge.sh", "--candidate", "a.txt", "--dry-run")
    assert (named.status, said in named.stderr) == (0, False)
    usual.write_text(usual.read_text() + "[optimize]\nbudget = 0\n")
    assert "optimize-eval.toml:20: budget" in cli("optimize", "a.txt").stderr
    assert said not in cli("optimize", "--help").stderr


def test_what_an_evaluator_gets_from_the_environment_is_not_on_disk(cli: Cli, folder: Path) -> None:
    done = run(cli, "--json", strict="0.12345678")
    assert done.status == 0, done.stderr
    manifest = (folder.parent / done.json["run"] / "run.json").read_text()
    assert "0.12345678" not in manifest


def test_the_environment_as_it_is_written_is_part_of_what_an_evaluator_is(cli: Cli, folder: Path) -> None:
    before = run(cli, "--json", "--out=out").status
    text = (folder / "compare.toml").read_text()
    (folder / "compare.toml").write_text(text.replace("${STRICT}", "3"))
    after = run(cli, "--out=out")
    assert (before, after.status) == (0, 2)
    assert "evaluator strict" in after.stderr


def test_a_variable_that_is_not_set_is_told_before_anything_is_asked(cli: Cli, folder: Path) -> None:
    done = cli("run", "project/compare.toml")
    assert done.status == 2
    assert "the variable SCORE of strict needs the environment variable STRICT" in done.stderr
    assert folder.exists()


def test_flags_win_over_the_file(cli: Cli, folder: Path) -> None:
    (folder.parent / "mine.txt").write_text("mine")
    done = run(
        cli, "--json", "--candidate=mine.txt", "--baseline=mine", "--limit=2", "--repeats=1", "--task-model=x"
    )
    assert done.status == 0, done.stderr
    assert {candidate for _, candidate in rows(done)} == {"mine"}
    assert done.json["summary"]["units"]["total"] == 2 * 2


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--candidate=project/a.txt", "--candidate=project/b.txt"], ["a", "b"]),
        (["--candidates=project/other.jsonl"], ["b"]),
        (["--candidate-field=b"], ["b"]),
    ],
)
def test_a_flag_for_candidates_replaces_all_of_the_file(
    cli: Cli, folder: Path, flags: list[str], told: list[str]
) -> None:
    (folder / "other.jsonl").write_text('{"id": "b", "candidate": "other"}\n')
    (folder / "data" / "train.jsonl").write_text('{"b": "text"}\n')
    done = run(cli, *flags, "--json")
    assert done.status == 0, done.stderr
    assert list(dict.fromkeys(row["candidate"] for row in done.json["summary"]["rows"])) == told


def test_e_replaces_all_evaluators(cli: Cli, folder: Path) -> None:
    done = run(cli, "--json", "-e", "own=project/judge.sh")
    assert done.status == 0, done.stderr
    assert {evaluator for evaluator, _ in rows(done)} == {"own"}
    assert folder.exists()


def test_a_flag_for_evaluators_wins_over_what_each_of_them_has(cli: Cli, folder: Path) -> None:
    done = run(cli, "--json", "--score-range=unit", "--no-preflight")
    assert done.status == 4
    assert done.json["summary"]["failures"][0]["kind"] == "score_out_of_range"
    (folder / "judge.sh").write_text("#!/bin/sh\nsleep 3\n")
    late = run(
        cli,
        *("--json", "--timeout=0.2", "--limit=1", "--repeats=1"),
        *("--task-model=x", "--no-preflight", "--out=late"),
    )
    assert {failure["kind"] for failure in late.json["summary"]["failures"]} == {"timeout"}


def test_paths_of_the_file_are_as_seen_from_it_and_flags_as_seen_from_here(cli: Cli, folder: Path) -> None:
    (folder.parent / "here.jsonl").write_text('{"input": 1}\n')
    done = run(cli, "--json", "--dataset=here.jsonl", "--cwd=project")
    assert done.status == 0, done.stderr
    assert done.json["summary"]["rows"][0]["splits"]["train"]["n"] == 1
    assert folder.exists()


def test_preflight_takes_a_sweep_file(cli: Cli, folder: Path) -> None:
    done = cli("preflight", "project/compare.toml", "--json", env={"STRICT": "1"})
    assert done.status == 0, done.stdout
    assert [one["name"] for one in done.json["evaluators"]] == ["judge", "strict"]
    assert done.json["evaluators"][0]["estimate"]["calls"] == 3 * 3 * 2 * 2, "repeats and models count"
    sweep = folder / "compare.toml"
    sweep.write_text(SWEEP.replace("repeats = 2", "repeats = 2\nlimit = 1\nconcurrency = 3"))
    less = cli("preflight", "project/compare.toml", "--task-model=m", "--json", env={"STRICT": "1"})
    estimate = less.json["evaluators"][0]["estimate"]
    assert (estimate["calls"], estimate["slots"]) == (3 * 1 * 2, 3)


def test_all_problems_are_told_at_once_each_at_its_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(
        """\
[run]
datset = "train.jsonl"
limit = 0
seed = "x"

[[evaluator]]
command = "./judge.sh"
use = "@exact_match"

[[evaluator]]
use = "@exact_mach"

[[evaluator]]
name = "2nd"
url = "http://127.0.0.1:1/"
timout = 3
weight = 0

[evaluator.env]
LIMIT = 3

[gates]
fail_under = {judge = "much"}

[outputs]
"""
    )
    done = cli("run", "bad.toml")
    assert done.status == 2
    told = [line.removeprefix("bad.toml:") for line in done.stderr.splitlines()[:-1]]
    assert [line.split(":")[0] for line in told] == [
        "2",
        "3",
        "4",
        "6",
        "11",
        "14",
        "16",
        "17",
        "19",
        "23",
        "25",
    ]
    assert "did you mean 'dataset'?" in told[0]
    assert "a whole number from 1" in told[1]
    assert "command and use" in told[3]
    assert "@exact_match" in told[4]
    assert "did you mean 'timeout'?" in told[6]
    assert done.stderr.endswith("error: 11 problems found. Nothing was run.\n")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[run\n", "bad.toml:1:5: not TOML"),
        ("x = 1\ny = [", "bad.toml: not TOML"),
        ("[[run]]\nseed = 1\n", "bad.toml:1: write it as a table: [run]"),
        ("evaluator = 3\n", "bad.toml:1: write each evaluator as a table of its own: [[evaluator]]"),
        (
            '[[evaluator]]\nname = "x"\n',
            "bad.toml:1: an evaluator has one of command, use, url, judge, task, function: it has none",
        ),
        (
            '[[evaluator]]\njudge = "openai/x"\n',
            "bad.toml:2: the judge openai/x has no objective",
        ),
        ("[run]\nmax_failures = true\n", "bad.toml:2: max_failures: write a count"),
        ('[run]\non_failure = "panic"\n', "bad.toml:2: on_failure: write one of: exclude, abort"),
        ('[[evaluator]]\nurl = "ftp://x"\n', "bad.toml:2: url: write a URL, http://… or https://…"),
        ("[gates]\nmax_gap = inf\n", "bad.toml:2: max_gap: write a finite number"),
        ('dataset = "x"\n', "bad.toml:1: unknown key 'dataset' in a sweep file: write it under [run]"),
    ],
)
def test_what_a_sweep_file_cannot_say(cli: Cli, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    done = cli("run", "bad.toml")
    assert done.status == 2
    assert done.stderr.startswith(told), done.stderr


def test_hostile_text_in_a_sweep_file_is_shown_inert(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('[run]\n"\\u001b[2J" = 1\n')
    done = cli("run", "bad.toml")
    assert done.status == 2
    assert "\x1b" not in done.stderr


def test_bytes_that_are_no_text_and_files_that_are_not_there(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"[run]\nbaseline = '\xff'\n")
    assert "bad.toml: not UTF-8: byte 0xFF at offset 18" in cli("run", "bad.toml").stderr
    assert "compre.toml" in cli("run", "compre.toml").stderr


def test_what_is_no_sweep_file_is_refused_with_what_may_have_been_meant(cli: Cli) -> None:
    done = cli("run", "-e", "./judge.sh", "--candidate", "a.txt", "b.txt")
    assert done.status == 2
    assert "'b.txt' is not a sweep file (.toml)" in done.stderr
    assert "name a candidate with --candidate" in done.stderr
    assert "quote what has blanks or stars" in done.stderr
    of_task = cli("run", "task.yaml")
    assert of_task.status == 2
    assert "'task.yaml' is not a sweep file (.toml)" in of_task.stderr
    assert "`optimize-eval bench FILE --model toy` runs a task" in of_task.stderr


@pytest.mark.parametrize("words", [("--model", "gone.toml"), ("--model", "toy", "--prices", "gone.toml")])
def test_a_file_of_models_or_prices_that_is_not_there_is_named_once(
    cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    task = '{"id": "a", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}'
    (tmp_path / "t.jsonl").write_text(task)
    done = cli("bench", "t.jsonl", *words)
    assert done.status == 2
    assert done.stderr.startswith("gone.toml: no such file")


def test_without_an_evaluator_there_is_nothing_to_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    assert "no evaluator is named in empty.toml" in cli("run", "empty.toml").stderr
    done = cli("run", "--candidate", "a.txt")
    assert done.status == 2
    assert json.dumps("no evaluator is named")[1:-1] in done.stderr


def test_paths_count_from_the_file_and_its_first_candidate_is_the_baseline(cli: Cli, folder: Path) -> None:
    text = SWEEP.replace('"*.txt", "more.jsonl"', '"more.jsonl", "*.txt"').replace(
        'baseline = "b"', 'out = "o/r"'
    )
    (folder / "compare.toml").write_text(text)
    done = run(cli, "--json")
    assert done.status == 0, done.stderr
    assert (done.json["run"], done.json["summary"]["baseline"]) == ("project/o/r", "c")
    assert (folder / "o" / "r" / "run.json").exists()
    assert list(dict.fromkeys(row["candidate"] for row in done.json["summary"]["rows"])) == ["c", "a", "b"]


def test_validate_checks_a_sweep_file_and_every_file_it_names(cli: Cli, folder: Path) -> None:
    done = cli("validate", "project/compare.toml")
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines() == [
        "project/compare.toml: ok, 2 evaluators",
        "project/data/train.jsonl: ok, 3 records",
        "project/*.txt: ok, 2 candidates",
        "project/more.jsonl: ok, 1 candidate",
    ]
    told = cli("validate", "project/compare.toml", "--json").json["files"]
    assert [(one["kind"], one["valid"]) for one in told] == [
        ("sweep", 2),
        ("dataset", 3),
        ("candidates", 2),
        ("candidates", 1),
    ]
    assert folder.exists()


def test_validate_tells_the_problems_of_all_named_files_at_once(cli: Cli, folder: Path) -> None:
    (folder / "data" / "train.jsonl").write_text('{"input": 1}\nnope\n')
    (folder / "bad.txt").write_bytes(b"\xff")
    (folder / "compare.toml").write_text(
        SWEEP.replace('baseline = "b"', 'baseline = "z"\ncluster_by = "doc"')
        .replace('"more.jsonl"', '"more.jsonl", "q*.md"')
        .replace('command = "./judge.sh"', 'command = "./juge.sh"')
        .replace('["sh", "./judge.sh"]', '"python3 strict.py"')
        .replace("weight", "wieght")
    )
    done = cli("validate", "project/compare.toml", "project/more.jsonl")
    assert done.status == 2
    told = done.stdout.splitlines()
    assert [line.split(": ")[0] for line in told] == [
        "project/compare.toml:4",
        "project/compare.toml:5",
        "project/compare.toml:11",
        "project/compare.toml:15",
        "project/compare.toml:19",
        "project/data/train.jsonl:2:1",
        "project/bad.txt",
        "project/more.jsonl",
        "project/q*.md",
        "project/more.jsonl",
    ]
    assert "no candidate is called 'z'" in told[0]
    assert "did you mean ./judge.sh?" in told[2]
    assert "there is no file strict.py" in told[3]
    assert "did you mean 'weight'?" in told[4]
    assert "no file matches" in told[8]


def test_validate_takes_a_file_for_what_it_is_told_to_be(cli: Cli, folder: Path) -> None:
    (folder / "compare.toml").rename(folder / "compare.txt")
    assert cli("validate", "project/compare.txt", "--format", "sweep").status == 0
    done = cli("validate", "project/compare.txt")
    assert done.status == 2
    assert "project/compare.txt:1:2: " in done.stdout


@pytest.mark.parametrize(
    ("gate", "rest", "told"),
    [
        ("fail_under = {e = 80}", "", "s.toml:2: fail_under: --fail-under e=80.0 can never be met"),
        ("fail_under = {'e@a' = -1}", "", "s.toml:2: fail_under: --fail-under e@a=-1.0 can never be missed"),
        ("max_gap = -1", "", "s.toml:2: max_gap: --max-gap -1 can never be met"),
        ("max_gap = 5", "", "s.toml:2: max_gap: --max-gap 5 can never be missed"),
        ("fail_under = {e = 80}", 'score_range = "any"', ""),
        ("fail_under = {e = 80}\n[run]\nscore_range = 'any'", "", ""),
        ("fail_under = {e = 0.8}\nmax_gap = 0.1", "", ""),
    ],
)
def test_validate_refuses_gates_that_can_never_be_met_or_missed(
    cli: Cli, tmp_path: Path, gate: str, rest: str, told: str
) -> None:
    evaluator = f'[[evaluator]]\nname = "e"\nuse = "@exact_match"\n{rest}\n'
    (tmp_path / "s.toml").write_text(f"[gates]\n{gate}\n{evaluator}")
    done = cli("validate", "s.toml")
    assert done.status == (2 if told else 0), done.stdout
    assert told in done.stdout
