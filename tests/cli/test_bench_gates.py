"""Gates on leaderboards: exit 1 and one line for each that was missed, on bench, report and diff."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.findings.wording import MINUS
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, board_in, model
from tests.front_door import Cli, in_this_process

BENCH = ["bench", "sums.jsonl", "more.jsonl", "--model", "silent", "--model"]


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benches of one model, which is right before and often wrong after."""
    folder = tmp_path_factory.mktemp("benches")
    cli = in_this_process(folder)
    arithmetic(folder)
    arithmetic(folder, size=15, name="more.jsonl")
    for out, answer in (("before", RIGHT), ("after", OFTEN_WRONG)):
        assert cli(*BENCH, f"m={model(folder / out[0], answer)}", "--out", out).status == 0
    return folder


@pytest.fixture
def here(benches: Path) -> Cli:
    return in_this_process(benches)


def missed(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("gate missed: ")]


@pytest.mark.parametrize(
    ("gate", "status", "told"),
    [
        ("m=0.6", 0, "gate met: m, overall: the mean 0.667 ("),
        ("m=0.7", 1, "gate missed: m, overall: the mean 0.667 ("),
        ("m@sums=0.6", 0, "gate met: m on sums: the mean 0.667 ("),
        ("m@more=0.9", 1, "gate missed: m on more: the mean 0.667 ("),
        ("silent=0.1", 1, "gate missed: silent, overall: the mean 0.000 ("),
    ],
)
@pytest.mark.parametrize("command", [["report", "after"], ["diff", "before", "after"]], ids=" ".join)
def test_a_score_that_is_not_reached_is_a_missed_gate(
    here: Cli, command: list[str], gate: str, status: int, told: str
) -> None:
    done = here(*command, "--fail-under", gate)
    assert (done.status, told in done.stderr) == (status, True), done.stderr
    assert len(missed(done.stderr)) == status
    as_json = here(*command, "--fail-under", gate, "--json")
    assert [one["met"] for one in as_json.json["gates"]] == [not status]


def test_a_task_is_a_gate_for_every_model(here: Cli) -> None:
    done = here("report", "after", "--fail-under", "sums=0.6", "--json")
    assert done.status == 1
    assert [(one["name"], one["met"]) for one in done.json["gates"]] == [
        ("fail-under m on sums", True),
        ("fail-under silent on sums", False),
    ]
    assert missed(done.stderr)[0].startswith("gate missed: silent on sums: the mean 0.000 (")
    assert here("bench", "sums.jsonl", "--model", "m=toy", "--fail-under", "sum=0.6").status == 2


def test_a_model_with_the_name_of_a_task_is_meant(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    bench = ("bench", "sums.jsonl", "--model", "sums=silent", "--model", model(tmp_path / "m", RIGHT))
    done = cli(*bench, "--fail-under", "sums=0.5", "--out", "r")
    assert (done.status, missed(done.stderr)[0].split(":")[1]) == (1, " sums, overall"), done.stderr


def test_bench_itself_has_gates_and_a_later_report_knows_them(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    gates = ["--fail-under", "often=0.6", "--fail-under", "often@sums=0.9", "--fail-under", "silent=0"]
    bench = ["bench", "sums.jsonl", "--model", model(tmp_path / "often", OFTEN_WRONG), "--model", "silent"]
    done = cli(*bench, *gates, "--out", "run", "--json")
    assert done.status == 1
    assert [one["met"] for one in done.json["gates"]] == [True, False, True]
    assert len(missed(done.stderr)) == 1
    assert missed(done.stderr)[0].startswith("gate missed: often on sums: the mean 0.667 (")
    assert "gates" not in board_in(tmp_path / "run")
    told = cli("report", "run", "--json")
    assert (told.status, told.json["gates"]) == (0, done.json["gates"])  # shown; judged where they are given


@pytest.mark.parametrize("against", ["before", "before/leaderboard.json", "before/run.json"])
def test_a_model_that_got_worse_is_a_missed_gate(here: Cli, against: str) -> None:
    for command in (["report", "after"], ["diff", "before", "after"]):
        done = here(*command, "--no-regression-against", against)
        assert done.status == 1, done.stderr
        (line,) = missed(done.stderr)
        assert line.startswith(f"gate missed: against {against}: m is worse: {MINUS}0.333 (95 % CI"), line
    better = here("report", "before", "--no-regression-against", "after")
    assert (better.status, "gates: 2 of 2 met" in better.stderr) == (0, True), better.stderr


def test_bench_is_held_against_an_earlier_one(here: Cli) -> None:
    again = [*BENCH, "m=cmd:./a", "--no-regression-against"]
    done = here(*again, "before", "--out", "again")
    assert (done.status, len(missed(done.stderr))) == (1, 1), done.stderr
    assert here(*again, "after", "--out", "again").status == 0


def test_a_failure_is_a_lower_score_and_a_regression(here: Cli, benches: Path) -> None:
    failing = f"{{'error': 'no'}} if int(asked['prompt'].split()[0]) > 1 else {RIGHT}"
    bench = [*BENCH, f"m={model(benches / 'f', failing)}", "--out", "failing", "--no-preflight"]
    done = here(*bench, "--fail-under=m=0.5", "--fail-under=m@sums=0.5", "--no-regression-against=before")
    assert done.status == 4, done.stderr
    assert "error: model m failed on 23 of 27 calls, more than half; the last one, reported: " in done.stderr
    scores = {one["adapter"]: one["overall_score"] for one in board_in(benches / "failing")["models"]}
    assert scores == {"m": 1.0, "silent": 0.0}
    low = "gate missed: m, overall: the lower bound 0.150 (23 of 27 calls failed) is below 0.5"
    of_task = "gate missed: m on sums: the lower bound 0.167 (10 of 12 calls failed) is below 0.5"
    assert missed(done.stderr)[:2] == [low, of_task]
    assert "against before: m" in missed(done.stderr)[2]


def test_a_model_or_a_task_that_is_gone_is_a_missed_gate(here: Cli) -> None:
    alone = ["bench", "sums.jsonl", "more.jsonl", "--model", "m=cmd:./b", "--out", "alone"]
    done = here(*alone, "--no-regression-against", "before")
    assert "gate missed: against before: model silent is on that board and not on this one" in done.stderr
    one = ["bench", "sums.jsonl", "--model", "m=cmd:./b", "--out", "one", "--no-regression-against", "before"]
    assert "task more is on that board and not on this one" in here(*one).stderr


def test_boards_without_examples_are_held_against_each_other_by_their_means(
    here: Cli, benches: Path, tmp_path: Path
) -> None:
    def edited(name: str, **changed: Any) -> str:
        board = board_in(benches / "before")
        board["models"] = [{**model, **changed} for model in board["models"] if model["adapter"] == "m"]
        path = tmp_path / f"{name}.json"
        path.write_bytes(orjson.dumps(board))
        return str(path)

    before = edited("before")
    for name, status, changed in (
        ("same", 0, {}),
        ("worse", 1, {"overall_score": 0.2, "se": 0.05}),
        ("open", 1, {"overall_score": 0.9, "se": None}),
        ("higher", 0, {"overall_score": 1.0, "se": None}),
        ("fails", 1, {"failed": 20, "lower_bound": 0.2}),
        ("none", 1, {"overall_score": None}),
    ):
        after = edited(name, **changed)
        done = here("diff", before, after, "--no-regression-against", before)
        assert (done.status, len(missed(done.stderr))) == (status, status), (name, done.stderr)


@pytest.mark.parametrize(
    ("gates", "told"),
    [
        (["--fail-under", "x=0.5"], "the bench has no model 'x', nor MODEL@TASK"),
        (["--fail-under", "m@x=0.5"], "; its tasks sums, more"),
        (["--fail-under", "m=80"], "--fail-under m=80 can never be met: the scores are from 0 to 1"),
        (["--fail-under", "m"], "write --fail-under MODEL=0.8, or MODEL@TASK=0.8"),
        (["--no-regression-against", "nothing"], "there is no leaderboard nothing"),
        (["--no-regression-against", "other"], "the two boards do not measure the same"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_gates_that_do_not_fit_are_refused_before_anything_is_called(
    here: Cli, benches: Path, gates: list[str], told: str
) -> None:
    board = orjson.dumps({**board_in(benches / "before"), "models": [_elsewhere(benches)]})
    (benches / "other").mkdir(exist_ok=True)
    (benches / "other" / "leaderboard.json").write_bytes(board)
    bench = [*BENCH, "m=cmd:./a", "--out", "never"]
    for command in (bench, ["report", "after"], ["diff", "before", "after"]):
        done = here(*command, *gates)
        assert (done.status, told in done.stderr) == (2, True), done.stderr
    assert not (benches / "never").exists()


def _elsewhere(benches: Path) -> dict[str, Any]:
    first = board_in(benches / "before")["models"][0]
    return {**first, "tasks": [{**task, "sha256": "0" * 64} for task in first["tasks"]]}


def test_a_bench_has_no_gap_and_an_unfinished_one_meets_no_gate(here: Cli, cli: Cli, tmp_path: Path) -> None:
    for command in (["report", "after"], ["diff", "before", "after"]):
        assert "a bench has neither" in here(*command, "--max-gap", "0.1").stderr
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--model", "cmd:./nothing", "--out", "run", "--max-failures", "2"]
    stopped = cli(*bench, "--concurrency", "1", "--fail-under", "nothing=0", "--no-preflight", "--json")
    assert (stopped.status, stopped.json["gates"][0]["met"]) == (4, False)
    done = cli("report", "run", "--fail-under", "nothing=0")
    assert (done.status, "the bench is not finished: " in done.stderr) == (1, True), done.stderr


def test_a_gate_that_so_few_tasks_cannot_decide_is_refused_before_the_calls(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=4)
    bench = ["bench", "sums.jsonl", "--model", model(tmp_path / "m", RIGHT)]
    assert cli(*bench, "--out", "before").status == 0
    done = cli(*bench, "--out", "after", "--no-regression-against", "before")
    assert (done.status, done.stdout) == (2, "")
    assert "cannot be decided on 4 examples: it takes at least 5; nothing was called" in done.stderr
    assert not (tmp_path / "after").exists()
    report = cli("report", "before", "--no-regression-against", "before")
    assert report.status == 1
    assert "; 4 units cannot decide this, which takes at least 5" in missed(report.stderr)[0]


def test_a_run_and_a_bench_are_not_compared_and_each_is_called_what_it_is(here: Cli, benches: Path) -> None:
    (benches / "c.txt").write_text("yes")
    assert here("run", "-e", "@length_limit --max 9", "--candidate", "c.txt", "--out", "run").status == 0
    for command in (
        ["diff", "before", "run"],
        ["diff", "run", "before"],
        ["verify", "run"],
        ["report", "before", "--no-regression-against", "run"],
    ):
        done = here(*command)
        assert (done.status, done.stderr.splitlines()[0]) == (2, "error: run is a run, not a bench"), command
    done = here("report", "run", "--no-regression-against", "before")
    assert (done.status, done.stderr.splitlines()[0]) == (2, "error: before is a bench, not a run")
