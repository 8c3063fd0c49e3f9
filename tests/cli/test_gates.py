"""Gates through the front door: exit 1 and one line for each that was missed; what is unknown is missed."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.judged import JUDGE, JUDGED, OF_CANDIDATE, OF_EXAMPLE
from tests.front_door import Cli, Result

NEW_ON_TRAIN = (*JUDGED, "--candidate=new.txt", "--dataset=train.jsonl")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two candidates, whose scores the examples hold: on train better than on val."""
    (tmp_path / "judge.py").write_text(OF_EXAMPLE)
    for name in ("old", "new"):
        (tmp_path / f"{name}.txt").write_text(name)
    for file, scores in (("train", [0.8, 0.9, 1.0, 0.9]), ("val", [0.6, 0.7, 0.8, 0.7])):
        write(tmp_path / f"{file}.jsonl", [(score, score - 0.2) for score in scores])
    return tmp_path


def write(path: Path, scores: list[tuple[float | None, float | None]]) -> None:
    lines = [
        json.dumps({"scores": {"new": new, "old": old}, "n": n, "of": path.stem})
        for n, (new, old) in enumerate(scores)
    ]
    path.write_text("\n".join(lines) + "\n")


def run(cli: Cli, *options: str) -> Result:
    return cli(
        *(*JUDGED, "--candidate=old.txt", "--candidate=new.txt"),
        *("--dataset=train.jsonl", "--valset=val.jsonl", "--workers=1", "--out=out", *options),
    )


@pytest.mark.usefixtures("project")
def test_a_mean_that_is_reached_is_met_and_one_that_is_not_is_missed(cli: Cli) -> None:
    met = run(cli, "--fail-under", "judge@new=0.7")
    assert met.status == 0, met.stderr
    assert "gate met: judge on new, val: the mean 0.700 (0.559 to 0.811) is at least 0.7" in met.stderr
    missed = run(cli, "--fail-under", "judge=0.7")
    assert missed.status == 1
    assert missed.stderr.splitlines()[-1].startswith("gate missed: judge on old, val: the mean 0.500 (")
    assert "is below 0.7" in missed.stderr
    assert "new" not in missed.stderr


@pytest.mark.usefixtures("project")
def test_the_gap_between_train_and_val_is_a_gate(cli: Cli) -> None:
    done = run(cli, "--max-gap=0.1", "--json")
    assert done.status == 1
    assert [line for line in done.stderr.splitlines() if "gate missed" in line] == [
        "gate missed: judge on old: train minus val +0.200 (+0.059 to +0.341) is above 0.1",
        "gate missed: judge on new: train minus val +0.200 (+0.059 to +0.341) is above 0.1",
    ]
    assert [gate["met"] for gate in done.json["gates"]] == [False, False]
    assert run(cli, "--max-gap=0.21").status == 0


@pytest.mark.usefixtures("project")
def test_a_gap_of_nothing_is_a_gate_that_a_later_report_knows(cli: Cli) -> None:
    assert run(cli, "--max-gap=0").status == 1
    assert [gate["met"] for gate in cli("report", "out", "--json").json["gates"]] == [False, False]


def test_at_failures_the_lower_bound_counts_and_not_the_mean(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [(1.0, 0.5), (None, 0.5), (1.0, 0.5), (1.0, 0.5)])
    done = run(cli, "--fail-under=judge@new=0.8")
    assert done.status == 1
    assert "the lower bound 0.750 (1 of 4 calls failed) is below 0.8" in done.stderr
    assert run(cli, "--fail-under=judge@new=0.75").status == 0


def test_where_failures_have_no_lower_bound_the_gate_is_missed(cli: Cli, project: Path) -> None:
    write(project / "val.jsonl", [(1.0, 0.5), (None, 0.5), (1.0, 0.5), (1.0, 0.5)])
    done = run(cli, "--fail-under=judge@new=-100", "--score-range=any")
    assert done.status == 1
    assert "the lower bound (1 of 4 calls failed) cannot be known" in done.stderr


@pytest.mark.usefixtures("project")
def test_a_run_that_stopped_has_its_own_exit_code(cli: Cli) -> None:
    done = run(cli, "--fail-under=judge=0.1", "-e", "broken=false")
    assert done.status == 4


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--fail-under=jugde=0.8"], "the run has no evaluator 'jugde'"),
        (["--fail-under=judge@newer=0.8"], "the run has no evaluator 'judge@newer'"),
        (["--fail-under=judge"], "--fail-under needs EVALUATOR=NUMBER, not"),
        (["--fail-under=judge=nan"], "--fail-under needs EVALUATOR=NUMBER, not"),
        (["--max-gap=x"], "--max-gap"),
        (["--max-gap=nan"], "--max-gap needs a number, not nan"),
        (["--max-gap=inf"], "--max-gap needs a number, not inf"),
        (["--fail-under=judge=80"], "--fail-under judge=80 can never be met: the scores are from 0 to 1"),
        (["--fail-under=judge@new=-1"], "--fail-under judge@new=-1 can never be missed"),
        (["--max-gap=-1"], "--max-gap -1 can never be met"),
        (["--max-gap=5"], "--max-gap 5 can never be missed"),
    ],
)
def test_gates_that_fit_no_run_are_refused_before_anything_is_asked(
    cli: Cli, tmp_path: Path, options: list[str], told: str
) -> None:
    done = run(cli, *options)
    assert done.status == 2
    assert told in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("project")
def test_a_gap_needs_both_splits(cli: Cli) -> None:
    done = cli("run", "-e", "true", "--candidate=old.txt", "--dataset=train.jsonl", "--max-gap=1")
    assert done.status == 2
    assert "the run has not both" in done.stderr


def test_a_sweep_file_has_gates(cli: Cli, project: Path) -> None:
    (project / "sweep.toml").write_text(
        '[run]\ndataset = "train.jsonl"\nvalset = "val.jsonl"\ncandidates = ["*.txt"]\n'
        '[[evaluator]]\nname = "judge"\ncommand = "python3 -S judge.py"\n'
        '[gates]\nfail_under = {"judge@new" = 0.69}\nmax_gap = 0.1\n'
    )
    done = cli("run", "sweep.toml")
    assert done.status == 1
    assert done.stderr.count("gate missed") == 2
    over = cli("run", "sweep.toml", "--max-gap=0.3", "--fail-under=judge=0.5")
    assert (over.status, "gates: 4 of 4 met" in over.stderr) == (0, True), over.stderr


def test_a_sweep_file_names_the_run_that_it_is_held_against_as_seen_from_there(
    cli: Cli, project: Path
) -> None:
    (project / "in").mkdir()
    (project / "judge.py").write_text(OF_CANDIDATE)
    (project / "new.txt").write_text(json.dumps(GOOD))
    write(project / "train.jsonl", [(0.0, 0.0)] * len(GOOD))
    sweep = project / "in" / "sweep.toml"
    sweep.write_text(
        '[run]\ndataset = "../train.jsonl"\ncandidates = ["../new.txt"]\n'
        '[[evaluator]]\nname = "judge"\ncommand = "python3 -S ../judge.py"\n'
    )
    assert cli("run", "in/sweep.toml", "--out=before").status == 0
    sweep.write_text(sweep.read_text() + '[gates]\nno_regression_against = "../before"\n')
    (project / "new.txt").write_text(json.dumps(WORSE))
    done = cli("run", "in/sweep.toml", "--out=after")
    assert done.status == 1, done.stderr
    assert "gate missed: against before: new is worse" in done.stderr


def before_and_after(cli: Cli, project: Path, before: list[float | None], after: list[float | None]) -> None:
    """Make a run in `before`, and then change what the candidate `new` gets, for another one in `after`."""
    for split in ("train", "val"):
        write(project / f"{split}.jsonl", [(0.0, 0.0)] * len(before))
    (project / "judge.py").write_text(OF_CANDIDATE)
    for folder, scores in (("before", before), ("after", after)):
        (project / "new.txt").write_text(json.dumps(scores))
        made = cli(
            *NEW_ON_TRAIN,
            *("--valset=val.jsonl", "--workers=1", "--no-preflight", "--quiet", f"--out={folder}"),
        )
        assert made.status == 0, made.stderr


GOOD: list[float | None] = [0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8]
WORSE: list[float | None] = [0.5, 0.3, 0.4, 0.2, 0.5, 0.2, 0.4, 0.3, 0.5, 0.2, 0.4, 0.3]
FAILING: list[float | None] = [None, None, None, None, None, None, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8]


@pytest.mark.parametrize(
    "command",
    [
        ["report", "after", "--no-regression-against=before"],
        ["diff", "before", "after", "--no-regression-against=before"],
    ],
)
@pytest.mark.parametrize(
    ("after", "status", "told"),
    [
        (WORSE, 1, "gate missed: against before: new is worse on val"),
        (FAILING, 1, "gate missed: against before: new is worse on val if failures count as 0"),
        (GOOD, 0, "gate met: against before: new scores the same on val"),
    ],
)
def test_a_regression_is_missed_and_failures_are_no_way_round_it(
    cli: Cli, project: Path, command: list[str], after: list[float | None], status: int, told: str
) -> None:
    before_and_after(cli, project, GOOD, after)
    done = cli(*command)
    assert done.status == status, done.stderr
    assert told in done.stderr


def test_of_too_few_examples_no_loss_is_excused(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, [0.9, 0.8, 0.9], [0.9, 0.8, 0.1])
    done = cli("report", "after", "--no-regression-against=before")
    assert done.status == 1
    assert "Too few examples to say whether new changed on val" in done.stderr
    (project / "new.txt").write_text("[0.9, 0.8,  0.9]")
    again = (*NEW_ON_TRAIN, "--valset=val.jsonl", "--quiet")
    assert cli(*again, "--out=spaced").status == 0
    spaced = cli("report", "spaced", "--no-regression-against=before")
    assert spaced.status == 1
    assert "3 unchanged; 3 units cannot decide this, which takes at least 5" in spaced.stderr


def test_the_same_bytes_with_the_same_scores_are_no_regression_however_few(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, [0.9, 0.8, 0.9], [0.9, 0.8, 0.9])
    again = (*NEW_ON_TRAIN, "--valset=val.jsonl", "--out=after", "--no-regression-against=before")
    for options in ((), ("--margin=0.05",)):
        done = cli(*again, *options)
        assert done.status == 0, done.stderr
        assert (
            "new scores the same on val (judge) in both runs: 3 unchanged, of the same bytes" in done.stderr
        )
    (project / "new.txt").write_text("[0.9, 0.8,  0.9]")
    refused = cli(*again)
    assert refused.status == 2
    assert "cannot be decided on 3 val examples: it takes at least 5" in refused.stderr
    other = cli(*again, "--margin=0.05")
    assert other.status == 1
    assert "it may be worse by more than 0.050 (+0.000, 90 % CI" in other.stderr
    assert other.stderr.endswith("; deciding it takes about 63 examples like these\n")


def test_the_same_bytes_with_other_scores_are_held_to_the_gate(cli: Cli, project: Path) -> None:
    (project / "judge.py").write_text(
        OF_EXAMPLE.replace("score = ", "import os; score = -int(os.environ['LOSS']) / 9 + ")
    )
    write(project / "train.jsonl", [(0.9, 0.0), (0.8, 0.0)] * 6)
    judge = (*NEW_ON_TRAIN, "--quiet")
    assert cli(*judge, "--out=before", env={"LOSS": "0"}).status == 0
    done = cli(*judge, "--out=after", "--no-regression-against=before", "--margin=0.05", env={"LOSS": "1"})
    assert done.status == 1
    assert "more examples like these would not decide it" in done.stderr


@pytest.mark.parametrize("names", [["old"], ["old", "kept"]])
def test_a_candidate_that_is_gone_or_has_another_name_misses_the_gate(
    cli: Cli, project: Path, names: list[str]
) -> None:
    write(project / "train.jsonl", [(0.8, 0.8)] * 8)
    (project / "kept.txt").write_text("new")
    (project / "renamed.txt").write_text("old")
    named = [f"--candidate={name}.txt" for name in names]
    rest = ("--dataset=train.jsonl", "--workers=1", "--quiet")
    assert cli(*JUDGED, *named, *rest, "--out=before").status == 0
    named[0] = "--candidate=renamed.txt"
    done = cli(*JUDGED, *named, *rest, "--out=after", "--no-regression-against=before")
    assert done.status == 1, done.stderr
    missed = [line for line in done.stderr.splitlines() if line.startswith("gate missed")]
    assert missed == ["gate missed: against before: candidate old was called there and not here"]


def test_of_one_cluster_no_loss_is_excused_however_many_examples_it_has(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, GOOD, WORSE)
    for folder in ("before", "after"):
        manifest = json.loads((project / folder / "run.json").read_text())
        for split in manifest["selection"]["splits"]:
            split["clusters"] = ["one"] * len(split["lines"])
        manifest["selection"]["cluster_by"] = "doc"
        (project / folder / "run.json").write_text(json.dumps(manifest))
    done = cli("report", "after", "--no-regression-against=before")
    assert done.status == 1
    assert "gate missed: against before: Too few examples to say whether new changed on val" in done.stderr


def test_leaving_out_the_split_that_decided_is_no_way_round_it(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, GOOD, GOOD)
    assert cli(*NEW_ON_TRAIN, "--no-preflight", "--quiet", "--out=less").status == 0
    done = cli("report", "less", "--no-regression-against=before")
    assert done.status == 1
    assert "gate missed: against before: split val was called there and not here" in done.stderr
    assert cli("report", "before", "--no-regression-against=less").status == 0


def test_a_run_can_be_held_against_an_earlier_one_at_once(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, GOOD, WORSE)
    run_again = [
        *NEW_ON_TRAIN,
        *("--valset=val.jsonl", "--out=after", "--json"),
    ]
    done = cli(*run_again, "--no-regression-against=before")
    assert done.status == 1
    assert [gate["met"] for gate in done.json["gates"]] == [False]
    other = cli(*run_again[:-2], "--limit=3", "--out=short", "--no-regression-against=before")
    assert other.status == 2
    assert "were not run on the same inputs" in other.stderr
    assert not (project / "short").exists()


def test_an_unfinished_run_meets_no_gate(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, GOOD, GOOD)
    journal = (project / "after" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (project / "after" / "journal.jsonl").write_bytes(b"".join(journal[:-4]))
    done = cli("report", "after", "--fail-under=judge=0.1")
    assert done.status == 1
    assert "gate missed: the run is not finished: 3 of 24 calls are missing" in done.stderr
    held = cli("report", "before", "--no-regression-against=after")
    assert held.status == 1
    assert "after is not finished: 3 calls missing" in held.stderr


def test_a_later_report_for_machines_shows_the_gates_that_the_run_had(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, GOOD, WORSE)
    run_again = [
        *NEW_ON_TRAIN,
        *("--valset=val.jsonl", "--out=after", "--fail-under=judge=0.5", "--no-regression-against=before"),
    ]
    assert cli(*run_again).status == 1
    junit = cli("report", "after", "--format=junit")
    assert (junit.status, junit.stdout.count('type="gate"')) == (0, 2)
    assert "2 of 2 missed" in cli("report", "after", "--format=md").stdout
    assert cli("report", "after").stderr == ""
    shutil.rmtree(project / "before")
    gone = cli("report", "after", "--json")
    assert [gate["met"] for gate in gone.json["gates"]] == [False]
    assert "cannot be judged any more: there is no run in 'before'" in gone.json["gates"][0]["text"]


def test_a_gate_can_be_about_an_evaluator_that_was_added(cli: Cli, project: Path) -> None:
    before_and_after(cli, project, GOOD, WORSE)
    (project / "new.txt").write_text(json.dumps(GOOD))
    assert cli("rescore", "before", "-e", "second=python3 -S judge.py -").status == 0
    done = cli("report", "before", "--fail-under=second=0.99")
    assert done.status == 1
    assert "gate missed: second on new, val: the mean 0.850" in done.stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("bound", ["late=0.1", "late@new=0.1"])
def test_an_added_evaluator_that_is_left_out_meets_no_gate(cli: Cli, project: Path, bound: str) -> None:
    assert run(cli, "--quiet").status == 0
    (project / "late.py").write_text(
        "import json, sys\n"
        "if json.load(sys.stdin)['example']['n'] > 1: sys.exit(3)\n"
        "print(json.dumps({'score': 1}))\n"
    )
    late = cli("rescore", "out", "-e", "late=python3 late.py", "--on-failure=abort", "--concurrency=1")
    assert late.status == 4, late.stderr
    done = cli("report", "out", f"--fail-under={bound}")
    assert done.status == 1
    assert "gate missed: late" in done.stderr
    assert "its mean cannot be known, so it may be below 0.1" in done.stderr


def test_what_sums_leave_misses_no_gate(cli: Cli, project: Path) -> None:
    write(project / "train.jsonl", [(0.8, 0.01)] * 29)
    write(project / "val.jsonl", [(0.7, 0.01)] * 29)  # 0.8 - 0.7 is above 0.1, the mean of 0.01s below 0.01
    done = run(cli, "--max-gap=0.1", "--fail-under=judge@old=0.01")
    assert done.status == 0, done.stderr


def test_a_missed_gate_is_told_with_the_digits_that_show_it(cli: Cli, project: Path) -> None:
    write(project / "train.jsonl", [(0.8, 0.8), (0.90002, 0.8)])
    write(project / "val.jsonl", [(0.7999, 0.79999999), (0.7999, 0.79999999)])
    done = run(cli, "--fail-under=judge=0.8", "--max-gap=0.0501")
    assert done.status == 1
    assert "judge on new, val: the mean 0.7999 (" in done.stderr
    assert "judge on old, val: the mean 0.79999999 (" in done.stderr
    assert "judge on new: train minus val +0.05011 (" in done.stderr
    exact = run(cli, "--fail-under=judge@old=0.8000001")
    assert "is below 0.8000001" in exact.stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-e", "other=python3 -S judge.py", "--candidate=new.txt"], "no evaluator in common"),
        (["-e", JUDGE, "--candidate=a.txt", "--candidate=b.txt"], "no candidate in common"),
    ],
)
def test_a_run_with_nothing_in_common_is_refused_before_it_is_asked(
    cli: Cli, project: Path, options: list[str], told: str
) -> None:
    assert run(cli, "--quiet").status == 0
    for name in ("a", "b"):
        (project / f"{name}.txt").write_text("new")
    data = ("--dataset=train.jsonl", "--valset=val.jsonl", "--out=later")
    done = cli("run", *options, *data, "--no-regression-against=out")
    assert done.status == 2
    assert told in done.stderr
    assert not (project / "later").exists()


@pytest.mark.usefixtures("project")
def test_what_was_measured_before_and_is_not_now_is_missed(cli: Cli, project: Path) -> None:
    write(project / "train.jsonl", [(0.9, 0.7), (0.8, 0.6)] * 4)
    assert run(cli, "-e", "safe=python3 -S judge.py", "--quiet").status == 0
    assert cli("rescore", "out", "-e", "late=env X=1 python3 -S judge.py", "--quiet").status == 0
    again = (*JUDGED, "--candidate=old.txt", "--dataset=train.jsonl", "--out=later")
    done = cli(*again, "--no-regression-against=out")
    assert done.status == 1
    assert [line for line in done.stderr.splitlines() if "gate missed" in line] == [
        "gate missed: against out: evaluator safe was called there and not here",
        "gate missed: against out: candidate new was called there and not here",
        "gate missed: against out: split val was called there and not here",
    ]


def test_a_name_with_line_breaks_makes_no_gate_of_its_own(cli: Cli, project: Path) -> None:
    (project / "new\ngates: 1 of 1 met.txt").write_text("new")
    made = cli(
        *(*JUDGED, "--candidate=new*.txt", "--dataset=train.jsonl", "--quiet"),
        *("--out=out", "--fail-under=judge=0.95"),
    )
    assert made.status == 1
    assert len(made.stderr.splitlines()) == 2, made.stderr
    assert all(line.startswith("gate missed: ") for line in made.stderr.splitlines())


@pytest.mark.usefixtures("project")
def test_a_checked_report_for_machines_has_its_gates(cli: Cli) -> None:
    assert run(cli, "--quiet").status == 0
    done = cli("report", "out", "--check", "--json", "--fail-under=judge@new=0.99")
    assert done.status == 1
    assert (done.json["agrees"], [gate["met"] for gate in done.json["gates"]]) == (True, [False])


def test_nothing_can_be_held_against_a_run_whose_evaluator_changed_meanwhile(cli: Cli, project: Path) -> None:
    judge = project / "judge.py"
    edits = "import os\nif os.environ.get('EDIT'): open('judge.py', 'a').write('#')\n"
    judge.write_text(text := edits + OF_EXAMPLE)
    write(project / "train.jsonl", [(0.9, 0.7), (0.8, 0.6)] * 4)
    assert cli(*NEW_ON_TRAIN, "--out=before", env={"EDIT": "1"}).status == 3
    judge.write_text(text)
    done = cli(*NEW_ON_TRAIN, "--out=after", "--no-regression-against=before")
    assert done.status == 1, done.stderr
    assert "gate missed: judge changed while being called in before" in done.stderr


@pytest.mark.parametrize(
    ("bound", "missed"),
    [
        ("judge@new@b", ["judge on new with b, val"]),
        ("judge@b", ["judge on old with b, val", "judge on new with b, val"]),
        ("judge@new", ["judge on new with a, val", "judge on new with b, val"]),
    ],
)
def test_a_bound_can_be_for_one_model_of_a_run(
    cli: Cli, project: Path, bound: str, missed: list[str]
) -> None:
    (project / "judge.py").write_text(OF_EXAMPLE)
    done = run(cli, "--task-model=a", "--task-model=b", f"--fail-under={bound}=0.9")
    assert done.status == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("gate missed: ")]
    assert [line.removeprefix("gate missed: ").partition(":")[0] for line in lines] == missed


@pytest.mark.usefixtures("project")
def test_a_bound_for_a_model_that_is_not_there_names_those_that_are(cli: Cli) -> None:
    done = run(cli, "--task-model=a", "--task-model=b", "--fail-under=judge@new@c=0.9")
    assert done.status == 2
    assert "its evaluators are judge; its candidates old, new; its models a, b" in done.stderr
