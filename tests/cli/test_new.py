"""`new`: what it writes works at once, and it overwrites nothing."""

from pathlib import Path

import pytest

from tests.front_door import Cli

REFUSED = {  # arguments → what is said, what to try
    "unknown": (("evaluator", "mine", "--lang", "pyton"), "no starter in 'pyton'", "did you mean python?"),
    "unlike any": (
        ("evaluator", "mine", "--lang", "cobol"),
        "no starter in 'cobol'",
        "name one of python, bash",
    ),
    "a suffix": (("evaluator", "mine.py"), "'mine.py' cannot be a name", "without a folder or a suffix"),
    "a folder": (("sweep", "../mine"), "'../mine' cannot be a name", "without a folder or a suffix"),
    "an option": (("dataset", "--", "-x"), "'-x' cannot be a name", "give a letter"),
    "hostile": (("dataset", "a\x1b[31mb"), "cannot be a name", "give a letter"),
    "hides a module": (("evaluator", "json"), "json.py would hide Python's own module", "my_json"),
    "no Go": (("evaluator", "my_test", "--lang", "go"), "leaves my_test.go out", "end it otherwise"),
}


@pytest.mark.parametrize("case", REFUSED, ids=REFUSED)
def test_what_cannot_be_is_refused_with_what_to_do(case: str, cli: Cli, tmp_path: Path) -> None:
    arguments, said, hint = REFUSED[case]
    done = cli("new", *arguments)
    assert (done.status, done.stdout) == (2, "")
    assert said in done.stderr
    assert hint in done.stderr
    assert "\x1b" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "there"),
    [
        (("evaluator", "mine"), "mine.py"),
        (("evaluator", "mine", "--lang", "c"), "mine"),
        (("evaluator", "mine", "--lang", "java"), "mine.classes"),
        (("sweep", "mine"), "mine.toml"),
        (("dataset", "mine"), "mine.jsonl"),
        (("task", "mine"), "mine"),
    ],
)
def test_nothing_is_overwritten(arguments: tuple[str, ...], there: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / there).write_text("precious")
    done = cli("new", *arguments)
    assert (done.status, done.stdout) == (2, "")
    assert f"{there} is there already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"


def test_a_link_that_leads_nowhere_is_not_followed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").symlink_to(tmp_path / "elsewhere")
    assert cli("new", "evaluator", "mine").status == 2
    assert not (tmp_path / "elsewhere").exists()


def test_examples_that_are_there_are_kept(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"target": "own"}\n')
    done = cli("new", "evaluator", "mine", "--lang", "javascript")
    assert done.status == 0
    assert "mine.jsonl is there already" in done.stderr
    assert (tmp_path / "mine.jsonl").read_text() == '{"target": "own"}\n'
    assert (tmp_path / "mine.js").exists()


def test_a_missing_runtime_is_told_and_the_file_still_written(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "evaluator", "mine", "--lang", "ruby", env={"PATH": "/nowhere"})
    assert done.status == 0
    assert "ruby cannot be found on PATH" in done.stderr
    assert "apt-get install ruby" in done.stderr
    assert (tmp_path / "mine.rb").exists()


def test_the_line_is_one_line_however_narrow_the_terminal_is(cli: Cli) -> None:
    name = "an_evaluator_with_a_name_that_is_long_enough_to_be_wrapped"
    done = cli("new", "evaluator", name, "--lang", "java", env={"COLUMNS": "40"})
    assert done.stdout == (
        f"javac -d {name}.classes {name}.java && optimize-eval preflight"
        f" -e '{name}=java -cp {name}.classes Evaluator' --dataset {name}.jsonl"
        " --candidate-field after --good target\n"
    )


def test_a_new_sweep_validates_and_runs(cli: Cli) -> None:
    new = cli("new", "sweep", "nightly")
    assert new.stdout == "optimize-eval validate nightly.toml && optimize-eval run nightly.toml\n"
    assert "nightly.toml: ok, 1 evaluator" in cli("validate", "nightly.toml").stdout
    run = cli("run", "nightly.toml", "--json")
    assert run.status == 0
    means = {row["candidate"]: row["splits"]["train"]["mean"] for row in run.json["summary"]["rows"]}
    assert means == {"before": pytest.approx(1 / 6), "after": pytest.approx(5 / 6)}
    assert "Too few pairs differ to be sure: 4 better, 0 worse" in run.json["verdict"]["text"]
    assert run.json["summary"]["largest_gain"] == pytest.approx(0.883, abs=5e-4), "no score is above 1"


def test_the_first_line_of_a_sweep_or_task_names_the_schema_beside_it(cli: Cli, tmp_path: Path) -> None:
    cli("new", "sweep", "nightly")
    cli("new", "task", "sums")
    named = {"nightly.toml": ("#:schema ./sweep.schema.json", "sweep.schema.json")}
    named["sums/sums.yaml"] = ("# yaml-language-server: $schema=task.schema.json", "sums/task.schema.json")
    for file, (first, schema) in named.items():
        assert (tmp_path / file).read_text().splitlines()[0] == first
        assert (tmp_path / schema).read_text() == cli("schema", Path(schema).name.partition(".")[0]).stdout
    (tmp_path / "sweep.schema.json").write_text("mine")
    assert cli("new", "sweep", "weekly").status == 0
    assert (tmp_path / "sweep.schema.json").read_text() == "mine", "nothing is ever overwritten"


def test_what_a_new_sweep_has_in_comments_is_valid_too(cli: Cli, tmp_path: Path) -> None:
    cli("new", "evaluator", "nightly")
    cli("new", "sweep", "nightly")
    text = (tmp_path / "nightly.toml").read_text()
    opened = "\n".join(
        line.removeprefix("# ")
        if line.startswith(("# [", "# command", "# timeout", "# repeats", "# fail"))
        else line
        for line in text.splitlines()
    )
    (tmp_path / "opened.toml").write_text(opened)
    done = cli("validate", "opened.toml")
    assert "opened.toml: ok, 2 evaluators" in done.stdout, done.stdout


def test_a_new_dataset_validates(cli: Cli) -> None:
    assert cli("new", "dataset", "words").stdout == "optimize-eval validate words.jsonl\n"
    assert "words.jsonl: ok, 6 records" in cli("validate", "words.jsonl").stdout


def test_a_task_is_a_folder_that_can_be_used_at_once(cli: Cli) -> None:
    assert cli(*cli("new", "task", "yes").stdout.split(" && ")[0].split()[1:]).status == 0
    done = cli("new", "task", "sums-2")
    assert (done.status, done.stderr) == (
        0,
        "wrote sums-2/sums-2.yaml, sums-2/sums-2.jsonl and sums-2/task.schema.json\n",
    )
    check, run = done.stdout.strip().split(" && ")
    assert run == "optimize-eval bench sums-2/sums-2.yaml --model toy"
    checked = cli(*check.split()[1:], "sums-2/sums-2.jsonl")
    assert checked.status == 0
    assert checked.stdout == "sums-2/sums-2.yaml: ok, 1 task\nsums-2/sums-2.jsonl: ok, 4 records\n"
