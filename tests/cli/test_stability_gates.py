"""Gates about repeated calls, through the front door: pass@k, pass^k, and each example's own rate."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from optimize_eval.audit.__main__ import differences
from optimize_eval.audit.journaled import read
from optimize_eval.audit.summary import expected
from tests.cli import defined
from tests.cluster.folders import FolderFleet
from tests.front_door import Cli, Result
from tests.tools import need, need_module

pytestmark = need("perl")

# What the n-th call about an example gives is the n-th letter of its `says`: 1, 0, f for a failure, s for a
# skip, h for a half. How many there were is the size of a file, whichever process counts.
_PROGRAM = r"""#!/usr/bin/perl
$| = 1;
while (<STDIN>) {
  my ($n, $says) = (/"n": ?(\d+)/, /"says": ?"(\w+)"/);
  my $id = /("_id": ?"[^"]*")/ ? ",$1" : "";
  open my $calls, ">>", "calls.$n"; my $at = -s $calls; print $calls "x"; close $calls;
  my $one = substr $says, $at % length $says, 1;
  my %said = (f => '"error":"cannot"', s => '"skip":"not today"', h => '"score":0.5');
  print "{" . ($said{$one} // "\"score\":$one") . ",\"_capabilities\":{\"persistent\":true}$id}\n";
}
"""
GOOD = "1"
LUCKLESS = "1111111000" + "1" * 40  # 7 of 10, and then all of the fresh ones
SICK = "1111100000" + "10" * 20


class Project:
    """A folder with a program, a candidate and examples that say what becomes of calls about them."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.cli, self.folder = cli, folder
        (folder / "ev").write_text(_PROGRAM)
        (folder / "ev").chmod(0o755)
        (folder / "c.txt").write_text("c")

    def write(self, *says: str) -> None:
        lines = [json.dumps({"n": n, "says": said}) for n, said in enumerate(says, 1)]
        (self.folder / "d.jsonl").write_text("\n".join(lines) + "\n")

    def run(self, *options: str, repeats: int = 10, name: str = "ev") -> Result:
        what = ("-e", f"{name}=./ev", "--candidate=c.txt", "--dataset=d.jsonl", f"--repeats={repeats}")
        how = ("--persistent", "--workers=1", "--retries=0", "--no-preflight", "--out=out", "--quiet")
        return self.cli("run", *what, *how, *options)

    def calls(self, n: int) -> int:
        return (self.folder / f"calls.{n}").stat().st_size

    @property
    def records(self) -> list[dict[str, object]]:
        lines = (self.folder / "out" / "journal.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if "outcome" in record]


@pytest.fixture
def project(cli: Cli, tmp_path: Path) -> Project:
    return Project(cli, tmp_path)


def test_pass_rates_count_failed_calls_as_not_passed_and_skipped_ones_as_none(project: Project) -> None:
    project.write(GOOD, "1111111110", "11111111f1", "s111111111")
    of_five = (1 + 2 * math.comb(9, 5) / math.comb(10, 5) + 1) / 4
    missed = project.run("--fail-under=ev.pass^5@c=0.8", "--fail-under=ev.pass@2=9/10", "--json")
    assert missed.status == 1
    assert [gate["met"] for gate in missed.json["gates"]] == [False, True]
    assert f"ev on c, train: pass^5 {of_five:.3f} (" in missed.json["gates"][0]["text"]
    assert "4 examples) is below 0.8" in missed.stderr
    stability = missed.json["summary"]["stability"]
    assert stability[0]["value"]["mean"] == pytest.approx(of_five)
    assert project.cli("report", "out", "--fail-under=ev.pass^5=0.7").status == 0
    assert project.cli("report", "out", "--check").status == 0


def test_a_sick_example_gets_fresh_calls_and_is_named(project: Project) -> None:
    project.write(*[GOOD] * 5, SICK, LUCKLESS)
    done = project.run("--fail-under=ev.each=0.8", "--json")
    assert done.status == 1
    assert "note: 2 examples pass less often than is demanded of each: 40 fresh calls" in done.stderr
    told = "ev on c, train: 1 example of 7 below 0.8: train 6 passes 5 of 10 calls, then 20 of 40 fresh ones"
    assert done.stderr.splitlines()[-1] == f"gate missed: {told}"
    sick, luckless = done.json["gates"][0]["examples"]
    assert (sick["name"], sick["met"]) == ("each ev on c, train 6", False)
    assert (luckless["name"], luckless["met"]) == ("each ev on c, train 7", True)
    assert [project.calls(n) for n in (1, 6, 7)] == [10, 50, 50]
    root = ET.fromstring(project.cli("report", "out", "--format=junit").stdout)  # noqa: S314  our own
    cases = {case.get("name"): case.find("failure") is not None for case in root.iter("testcase")}
    assert (cases["each ev on c, train 6"], cases["each ev on c, train 7"]) == (True, False)


def test_fresh_calls_enter_no_mean_and_no_record_and_are_made_once(project: Project) -> None:
    project.write(*[GOOD] * 4, LUCKLESS)
    done = project.run("--fail-under=ev.each=8/10", "--json")
    assert (done.status, project.calls(5)) == (0, 50)
    assert (
        "gate met: ev on c, train: no example of 5 is clearly below 0.8: train 5 passes 7 of" in done.stderr
    )
    assert done.json["summary"]["rows"][0]["splits"]["train"]["mean"] == pytest.approx(4.7 / 5)
    assert len(project.cli("report", "out", "--format=jsonl").stdout.splitlines()) == 50
    again = project.run("--fail-under=ev.each=0.8")
    assert (again.status, project.calls(5)) == (0, 50)
    assert project.cli("report", "out", "--check").status == 0
    more = project.run("--fail-under=ev.each=0.8", repeats=12)  # the fresh ones are none of these
    assert (more.status, project.calls(5)) == (
        0,
        52 + 8,
    )  # 48 fresh calls belong to 12, of which 40 are there


@need_module("ray")
def test_fresh_calls_are_made_on_nodes_where_the_others_are(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "optimize_eval.run.ray_engine.RayFleet",
        lambda *_: FolderFleet(dict.fromkeys(("one", "other"), project.folder)),
    )
    project.write(GOOD, "0")
    done = project.run("--fail-under=ev.each=0.8", "--engine=ray", "--address=here:1", repeats=5)
    assert (done.status, project.calls(1), project.calls(2)) == (1, 5, 45), done.stderr
    assert "train 2 passes 0 of 5 calls, then 0 of 40 fresh ones" in done.stderr
    assert project.cli("report", "out", "--check").status == 0


def test_fresh_calls_that_were_broken_off_are_resumed(project: Project) -> None:
    project.write(*[GOOD] * 2, SICK)
    assert project.run("--fail-under=ev.each=0.8").status == 1
    journal = project.folder / "out" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-11]))  # the session's end, and ten of them
    report = project.cli("report", "out")
    assert report.status == 0
    by_count = project.cli("report", "out", "--fail-under=ev.each=0.8")
    assert "then 15 of 30 fresh ones, too few to decide (counted" in by_count.stderr
    before = project.calls(3)
    assert project.run("--fail-under=ev.each=0.8").status == 1
    assert project.calls(3) == before + 10
    assert sum("confirm" in record for record in project.records) == 40


def test_without_fresh_calls_the_count_decides_and_says_what_it_is_worth(project: Project) -> None:
    project.write(*[GOOD] * 9, LUCKLESS)
    assert project.run().status == 0
    done = project.cli("report", "out", "--fail-under=ev.each=0.8")
    assert done.status == 1
    chance = 1 - sum(math.comb(10, n) * 0.99**n * 0.01 ** (10 - n) for n in (8, 9, 10))
    share = f"{100 * (1 - (1 - chance) ** 10):.1f} %"
    assert (
        f"(counted without fresh calls: a healthy suite of 10 at 99 % fails this gate in {share} of runs)"
        in done.stderr
    )
    assert project.cli("report", "out", "--fail-under=ev.each=0.7").status == 0
    assert project.cli("diff", "out", "out", "--fail-under=ev.each=0.8").status == 1


def test_of_fresh_calls_failures_do_not_pass_and_are_not_made_again(project: Project) -> None:
    project.write(*[GOOD] * 2, "1111100000" + "f" * 40)
    for _ in range(2):
        done = project.run("--fail-under=ev.each=0.8", "--max-failures=3")
        assert (done.status, project.calls(3)) == (1, 50)
        assert "train 3 passes 5 of 10 calls, then 0 of 40 fresh ones" in done.stderr


def test_an_evaluator_that_is_replaced_has_no_fresh_calls_yet(project: Project) -> None:
    project.write(GOOD, SICK)
    assert project.run("--fail-under=ev.each=0.8").status == 1
    (project.folder / "ev").write_text(_PROGRAM + "# another\n")
    again = project.run("--fail-under=ev.each=0.8", "--replace=ev")
    assert again.status == 1
    assert project.calls(2) == 100
    assert sum("confirm" in record for record in project.records) == 80
    assert project.cli("report", "out", "--check").status == 0


def test_a_check_finds_every_number_that_is_not_as_the_journal_gives_it(project: Project) -> None:
    project.write(GOOD, SICK)
    assert project.run("--fail-under=ev.each=0.8", "--fail-under=ev.pass^3=0.1").status == 1
    path = project.folder / "out" / "summary.json"
    summary = json.loads(path.read_text())
    derived, wrong = expected(read(project.folder / "out"))["stability"], []
    for keys in leaves(summary["stability"]):
        changed = json.loads(json.dumps(summary["stability"]))
        holder = reduce(getitem, keys[:-1], changed)
        holder[keys[-1]] = another(holder[keys[-1]])
        wrong.append([*differences(changed, derived, Counter())])
    assert len(wrong) > 20
    assert all(wrong)
    summary["stability"][0]["suspects"][0]["below"] = False
    path.write_text(json.dumps(summary))
    done = project.cli("report", "out", "--check")
    assert done.status == 1
    assert "stability[0].suspects[0].below is false, the journal gives true" in done.stdout


def leaves(value: Any) -> Iterator[tuple[Any, ...]]:
    """List the ways to all that is neither a list nor an object."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        yield from ((key, *rest) for key, inner in pairs for rest in leaves(inner))
    else:
        yield ()


def another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"not {value}"


@pytest.mark.parametrize(
    ("bound", "repeats", "told"),
    [
        ("ev.pass^5=0.8", 4, "is about at least 5 calls of an example, and there are 4"),
        ("ev.pass@2=0.8", 1, "is about at least 2 calls of an example, and there is 1"),
        ("ev.each=0.8", 4, "is about at least 5 calls of an example"),
        ("ev.each=11/10", 10, "can never be met"),
        ("ev.each=often", 10, "needs a share of calls, not 'often'"),
        ("ev.each@d=0.8", 10, "the run has no evaluator 'ev.each@d'"),
        ("ev@c.each=0.8", 10, "try: write --fail-under ev.each@c=0.8"),
        ("ev.pass^0=0.8", 10, "the run has no evaluator 'ev.pass^0'"),
    ],
)
def test_what_cannot_be_held_is_refused_before_any_call(
    project: Project, bound: str, repeats: int, told: str
) -> None:
    project.write(GOOD)
    done = project.run(f"--fail-under={bound}", repeats=repeats)
    assert (done.status, told in done.stderr) == (2, True), done.stderr
    assert not (project.folder / "out").exists()


def test_graded_scores_have_no_pass_rate(project: Project) -> None:
    project.write("h", GOOD)
    done = project.run("--fail-under=ev.each=0.1", "--fail-under=ev.pass@2=0.1", repeats=5)
    assert done.status == 1
    assert done.stderr.count("gate not judged: ev on c, train: ") == 2
    why = "(its scores are not 0 and 1: --fail-under ev=0.1 is about their mean), so it may be below 0.1"
    assert done.stderr.count(why) == 2


def test_an_evaluator_of_exactly_that_name_wins_and_that_is_told(project: Project) -> None:
    project.write(GOOD)
    done = project.run("--fail-under=ev.each=0.5", name="ev.each", repeats=1)
    assert done.status == 0
    assert "the mean 1.000" in done.stderr
    assert "(the mean of what is called ev.each)" in done.stderr


def test_a_sweep_file_demands_it_and_a_plan_says_what_it_may_take(project: Project) -> None:
    project.write(GOOD, SICK)
    (project.folder / "s.toml").write_text(
        '[run]\ndataset = "d.jsonl"\ncandidates = ["c.txt"]\nrepeats = 10\n'
        '[[evaluator]]\nname = "ev"\ncommand = "./ev"\npersistent = true\nworkers = 1\n'
        '[gates]\nfail_under = {"ev.pass^5" = 0.4, "ev.each" = 0.8}\n'
    )
    assert project.cli("validate", "s.toml").status == 0
    plan = project.cli("run", "s.toml", "--dry-run", "--json").json
    assert plan["fresh_calls_at_most"] == 80
    assert "at most 80" in project.cli("run", "s.toml", "--dry-run").stdout
    done = project.cli("run", "s.toml", "--quiet")
    assert (done.status, done.stderr.count("gate missed")) == (1, 1)
    bad = (project.folder / "s.toml").read_text().replace("0.8}", "80}")
    (project.folder / "s.toml").write_text(bad)
    assert "can never be met" in project.cli("validate", "s.toml").stdout


_MODEL = """#!/bin/sh
cat >/dev/null
printf x >>calls
n=$(wc -c <calls)
[ $((n % 2)) = 0 ] && echo '{"text": "1"}' || echo '{"text": "2"}'
"""


def test_a_bench_holds_a_model_to_it(project: Project, cli: Cli) -> None:
    (project.folder / "m").write_text(_MODEL)
    (project.folder / "m").chmod(0o755)
    task = {"id": "a", "prompt": "Say 1", "targets": ["1"], "metric": "exact_match"}
    (project.folder / "t.jsonl").write_text(json.dumps(task))
    bench = ("bench", "t.jsonl", "--model=m=cmd:./m", "--concurrency=1", "--repeats=6", "--out=b", "--quiet")
    gates = ("--fail-under=m.each@t=0.8", "--fail-under=m.pass@2=0.7", "--fail-under=t.pass^2=0.7")
    done = cli(*bench, *gates)
    assert done.status == 1, done.stderr
    missed = [line for line in done.stderr.splitlines() if line.startswith("gate missed")]
    few = "t.jsonl 1 passes 3 of 6 calls, then 20 of 40 fresh ones"
    assert missed == [
        f"gate missed: m on t: 1 example of 1 below 0.8: {few}",
        "gate missed: m on t: pass^2 0.200 (1 example) is below 0.7",
    ]
    assert (project.folder / "calls").stat().st_size == 46
    checked = cli("report", "b", "--check")
    assert checked.status == 0, checked.stdout
    assert cli("diff", "b", "b", "--fail-under=m.pass@2=0.9").status == 1
    assert "m.each@x" in cli(*bench, "--fail-under=m.each@x=0.8").stderr
    own = cli(
        *(*bench, "-e", "mine=@exact_match"),
        *("--fail-under=m.mine.each@t=0.8", "--fail-under=m.mine.pass^2=0.7"),
    )
    each, pairs = (line for line in own.stderr.splitlines() if line.startswith("gate missed"))
    counted = "mine on m, t.jsonl: 1 example of 1 below 0.8: t.jsonl 1 passes 3 of 6 calls (counted without"
    assert each.startswith(f"gate missed: {counted}")
    assert pairs == "gate missed: m.mine, overall: pass^2 0.200 (1 task) is below 0.7"
    assert (project.folder / "calls").stat().st_size == 46, "no model is called for it"
    assert cli("report", "b", "--check").status == 0


def test_flaky_examples_are_listed_from_call_to_call_and_from_run_to_run(project: Project) -> None:
    project.write(GOOD, LUCKLESS, "01", "0")
    assert project.run("--fail-under=ev.each=0.1").status == 1
    (project.folder / "out").rename(project.folder / "before")
    assert project.run(repeats=1).status == 0
    listed = project.cli("report", "out", "--flaky", "--json").json
    assert (listed["examples"], listed["runs"]) == (4, ["before"])
    assert [(one["line"], one["passed"], one["calls"]) for one in listed["flaky"]] == [(3, 5, 11), (2, 8, 11)]
    assert listed["flaky"][1]["runs"] == [
        {"run": "out", "passed": 1, "calls": 1},
        {"run": "before", "passed": 7, "calls": 10},
    ]
    said = project.cli("report", "before", "--flaky").stdout.splitlines()
    assert said[0].strip() == "2 of 4 examples flaky, in before and 1 run beside it"
    assert "ev on c, train 2: passes 7 of 10, 1 of 1 in out" in [line.strip() for line in said]


@pytest.mark.parametrize("option", ["--check", "--fail-under=ev=0.1", "--format=junit", "--all", "--id=1"])
def test_a_list_of_flaky_examples_stands_alone(project: Project, option: str) -> None:
    project.write(GOOD)
    assert project.run(repeats=1).status == 0
    done = project.cli("report", "out", "--flaky", option)
    assert (done.status, "--flaky" in done.stderr) == (2, True)


def test_fresh_calls_and_graded_scores_have_their_own_words_among_flaky_examples(project: Project) -> None:
    project.write(GOOD, SICK)
    assert project.run("--fail-under=ev.each=0.8").status == 1
    assert "train 2: passes 5 of 10, 20 of 40 fresh ones" in project.cli("report", "out", "--flaky").stdout
    project.write("h", "h")
    assert project.run("--fresh").status == 0
    said = " ".join(project.cli("report", "out", "--flaky").stdout.split())
    assert said == (
        "0 of 0 examples flaky, in out ev has scores other than 0 and 1, which neither pass nor fail"
    )


def test_scorers_of_tasks_in_yaml_and_prompts_are_held_to_it_with_replies_of_their_own(
    project: Project, cli: Cli
) -> None:
    defined.task(project.folder)
    defined.samples(project.folder, 1)
    (project.folder / "m").write_text(_MODEL)
    (project.folder / "m").chmod(0o755)
    done = cli(
        *("bench", "sums.yaml", "--model=m=cmd:./m", "--concurrency=1", "--repeats=6", "--out=b", "--quiet"),
        *("--fail-under=sums.right.each@m=0.8", "--fail-under=sums.pass@2=0.7"),
    )
    few = "sums 1 passes 3 of 6 calls, then 20 of 40 fresh ones"
    assert done.stderr.splitlines()[-1] == (
        f"gate missed: sums.right on m, sums: 1 example of 1 below 0.8: {few}"
    ), done.stderr
    assert (project.folder / "calls").stat().st_size == 46  # both scorers score the same replies
    assert cli("report", "b", "--check").status == 0
