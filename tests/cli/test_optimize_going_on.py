"""A search that was ended goes on, and what others scored is taken: nothing is called twice."""

import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from optimize_eval.store.journal import seal
from tests.cli.searches import (
    EVALUATE,
    PROPOSE,
    TRAIN,
    WITH_VAL,
    called,
    joined,
    project,
    searched,
)
from tests.front_door import Result, in_this_process
from tests.paths import PROGRAM


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    return searched(tmp_path_factory.mktemp("optimize"))


@pytest.mark.parametrize("after", [5, 40])
def test_a_killed_search_goes_on_with_the_same_command(
    tmp_path: Path, found: tuple[Path, Result], after: int
) -> None:
    folder = project(tmp_path)
    kill = f"""
import os, signal
if len(open("called").readlines()) == {after} and not os.path.exists("killed"):
    open("killed", "w").close()
    os.kill(os.getppid(), signal.SIGKILL)
"""
    (folder / "evaluate.py").write_text(EVALUATE.replace("    score =", f"    exec({kill!r})\n    score ="))
    command = [str(PROGRAM), *WITH_VAL, "--budget", "200", "--concurrency", "1"]
    killed = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    resumes, shown = shlex.join(["optimize-eval", *command[1:]]), in_this_process(folder)("report", "r")
    assert (shown.status, shown.stdout.splitlines()[-1]) == (0, f" next       to resume: {resumes}")
    assert f"Unfinished search: {after - 1} of at most 200 calls" in joined(shown)
    page = Path(in_this_process(folder)("report", "r", "--format", "html").stdout.strip())
    head = json.loads(re.findall(r'id="head">(.*?)</script>', (folder / page).read_text())[0])
    as_json = in_this_process(folder)("report", "r", "--json").json
    assert head["summary"]["verdict"]["text"] == as_json["verdict"]["text"]
    assert (head["search"]["calls"], head["commands"]["resume"]) == (after - 1, resumes)
    assert [one["name"] for one in head["search"]["candidates"]] == [
        one["name"] for one in as_json["candidates"]
    ]
    listed = in_this_process(folder)("runs", ".", "--long")
    assert re.search(rf" r +unfinished +{after - 1}/200 ", listed.stdout)
    assert listed.stdout.splitlines()[-2:] == ["   to resume:", f"     {resumes}"]

    done = in_this_process(folder)(*WITH_VAL, "--budget", "200", "--json", "--view")
    assert "to be seen at http://127.0.0.1:" in done.stderr

    assert [one["candidate"] for one in done.json["candidates"]] == [
        one["candidate"] for one in found[1].json["candidates"]
    ]
    assert done.json["calls"]["search"] == found[1].json["calls"]["search"]
    assert called(folder).total() <= called(found[0]).total() + 1, "the call in flight is made again"


def test_a_search_that_was_killed_in_its_final_sweep_is_listed_with_what_was_called(tmp_path: Path) -> None:
    folder = project(tmp_path)
    kill = (
        "    if len(open('called').readlines()) == 24:  # more than the budget: it is the final sweep\n"
        "        import fcntl, os, signal; held = open('held', 'w'); fcntl.flock(held, fcntl.LOCK_EX)\n"
        "        os.kill(os.getppid(), signal.SIGKILL); os._exit(0)\n    score ="
    )
    (folder / "evaluate.py").write_text(EVALUATE.replace("    score =", kill))
    command = [str(PROGRAM), *WITH_VAL, "--budget", "20", "--concurrency", "1"]
    killed = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with (folder / "held").open() as held:  # until the evaluator is gone, too
        fcntl.flock(held, fcntl.LOCK_EX)
    report, listed = in_this_process(folder)("report", "r"), in_this_process(folder)("runs", ".", "--long")
    done = re.search(r"(2[23]) of 54 calls done", joined(report))  # the last one may not be written down yet
    assert done, report
    owed = 54 - int(done[1])
    assert re.search(rf" r +unfinished +{done[1]}/54 ", listed.stdout)
    assert f"{owed} calls are missing" in listed.stdout
    assert in_this_process(folder)("runs", ".", "--json").json["runs"][0]["units"] == {
        "total": 54,
        "owed": owed,
    }


@pytest.mark.parametrize("first", [bytes(40), b"{}"], ids=["zeros", "shorter"])
def test_a_damaged_first_line_of_a_search_is_made_again(
    tmp_path: Path, found: tuple[Path, Result], first: bytes
) -> None:
    shutil.copytree(found[0], tmp_path / "p")
    cli, search = in_this_process(tmp_path / "p"), tmp_path / "p" / "r" / "search.jsonl"
    rest = search.read_bytes().partition(b"\n")[2]
    search.write_bytes(first + b"\n" + rest)
    refused, before = cli("report", "r", "--check"), called(tmp_path / "p")
    assert (refused.status, "it makes this line again" in refused.stderr) == (3, True), refused
    again = cli(*WITH_VAL, "--budget", "200", "--json")
    assert again.status == found[1].status, again.stderr
    assert "note: the first line of r/search.jsonl was damaged, and was made again" in again.stderr
    assert again.json["candidates"] == found[1].json["candidates"]
    assert called(tmp_path / "p") == before, "nothing is called again"
    checked = cli("report", "r", "--check")
    assert checked.status == 0, checked


def test_ctrl_c_writes_the_best_so_far_and_the_same_command_goes_on(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "propose.py").write_text(
        PROPOSE.replace(
            "    print(",
            '    if request["candidate"] == "4":\n'
            "        import os, signal, time\n"
            "        while True:\n"
            "            os.kill(os.getppid(), signal.SIGINT)\n"
            "            time.sleep(0.05)\n"
            "    print(",
        )
    )
    command = [str(PROGRAM), *WITH_VAL, "--budget", "200", "-o", "best.txt"]

    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=os.environ)

    assert done.returncode == 130, done.stderr
    made = called(folder).total()
    told = f"interrupted: {made} of at most 200 calls are done; to resume:\n  "
    assert done.stderr.decode().endswith(told + shlex.join(["optimize-eval", *command[1:]]) + "\n")
    assert (folder / "best.txt").read_text() == "4"
    cli = in_this_process(folder)
    shown, listed = cli("report", "r", "--json").json, cli("runs", ".", "--json").json["runs"]
    assert (shown["best"], shown["best_artifact"], shown["calls"]["search"]) == ("p4", "4", made)
    assert "p4 is ahead of seed so far" in shown["verdict"]["text"]
    assert [(one["state"], one["search"]["best"]["name"]) for one in listed] == [("interrupted", "p4")]
    refused = cli("report", "r", "--check")
    assert (refused.status, "is a search without a final sweep" in refused.stderr) == (2, True)
    assert cli("diff", "r", "r").status == 2
    assert cli("runs", "rm", "r", "--yes").status == 0
    assert not (folder / "r").exists()


def test_the_same_command_again_calls_nothing_and_a_larger_budget_goes_on(tmp_path: Path) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)
    first = cli(*WITH_VAL, "--budget", "60", "--json")
    calls = called(folder)

    again = cli(*WITH_VAL, "--budget", "60", "--json")
    assert called(folder) == calls
    more = cli(*WITH_VAL, "--budget", "120", "--json")

    same = ("verdict", "candidates", "best", "curve", "summary")
    assert [first.json[key] for key in same[:4]] == [again.json[key] for key in same[:4]]
    assert len(more.json["candidates"]) > len(first.json["candidates"])
    assert set(called(folder).values()) == {1}


def test_another_seed_is_refused_and_fresh_starts_over(tmp_path: Path) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)
    cli(*WITH_VAL, "--budget", "40")

    other = cli(*WITH_VAL, "--budget", "40", "--seed", "1")
    fresh = cli(*WITH_VAL, "--budget", "40", "--seed", "1", "--fresh")

    assert (other.status, fresh.status) == (2, 0)
    assert "the search in r had another --seed" in other.stderr


def test_starting_over_deletes_nothing_of_somebody_else(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "r").mkdir()
    (folder / "r" / "run.json").write_text('{"mine": true}')

    done = in_this_process(folder)(*WITH_VAL, "--budget", "60", "--fresh")

    assert done.status == 2
    assert (folder / "r" / "run.json").read_text() == '{"mine": true}'


def test_a_search_that_is_continued_and_stopped_keeps_its_result_and_says_so(tmp_path: Path) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)
    first = cli(*WITH_VAL, "--budget", "60", "--json").json

    late = cli(*WITH_VAL, "--budget", "120", "--max-time", "0.001s")
    shown, (listed,) = cli("report", "r"), cli("runs", ".", "--json").json["runs"]

    assert late.status == 4
    assert (
        " of at most 120 calls are done; to resume:" in late.stderr.partition("out of time (--max-time): ")[2]
    )
    assert first["verdict"]["text"] in joined(shown)
    assert "note: the search was continued since, and has no other result yet: the time is" in shown.stderr
    assert "--budget 120 --max-time 0.001s" in shown.stderr
    assert (listed["verdict"], listed["search"]["status"]) == (first["verdict"]["text"], "time")
    absolute = (*WITH_VAL[:5], str(folder / "train.jsonl"), *WITH_VAL[6:-1])
    cli(*absolute, "moves", "--max-time", "0.001s")
    assert cli("report", "moves").stdout.endswith(" next       run its command again to resume\n")
    again = cli(*WITH_VAL, "--budget", "120")
    assert again.status == 0
    assert "continued since" not in cli("report", "r").stderr


@pytest.mark.parametrize("option", ["--reuse", "--cache-from"])
def test_calls_that_are_scored_elsewhere_are_not_made_and_cost_no_budget(tmp_path: Path, option: str) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)
    first = cli(*WITH_VAL, "--budget", "60", "--json").json
    calls = called(folder)

    other = cli(*WITH_VAL[:-1], "other", "--budget", "60", "--repeats", "2", option, "r", "--json")

    assert other.status == 0, other.stderr
    assert calls.total() == sum(first["calls"].values())
    assert (called(folder) - calls).total() == sum(other.json["calls"].values())
    assert other.json["score_summary"]["num_candidates"] > first["score_summary"]["num_candidates"]
    assert "scored calls of r reused" in other.stderr
    again = cli(*WITH_VAL[:-1], "other", "--budget", "60", "--repeats", "2", option, "auto", "--json")
    assert [again.json[key] for key in ("calls", "candidates")] == [
        other.json[key] for key in ("calls", "candidates")
    ]
    assert cli("report", "other", "--check").status == 0


def test_a_run_and_a_stopped_search_are_reused_and_another_range_is_not(tmp_path: Path) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)
    evaluator = WITH_VAL[2:8]
    cli("run", *evaluator, "--candidate", "seed.txt", "--out", "run")
    stopped = cli(*WITH_VAL[:-1], "stopped", "--reuse", "run", "--max-time", "0.001s", "--json")
    made = called(folder).total()

    any_range = cli(
        *WITH_VAL[:-1], "any", "--reuse", "run", "--score-range", "any", "--budget", "31", "--json"
    )
    assert stopped.status == 4
    assert sum(any_range.json["calls"].values()) == called(folder).total() - made
    assert any_range.json["candidates"][0]["calls"] == TRAIN, "scores of another range are others"
    made = called(folder).total()
    unit = cli(*WITH_VAL[:-1], "unit", "--reuse", "run", "--reuse", "stopped", "--budget", "31", "--json")
    assert called(folder).total() - made == sum(unit.json["calls"].values())
    assert unit.json["candidates"][0]["calls"] == 0, "the seed was scored by the run"
    assert cli(*WITH_VAL[:-1], "x", "--reuse", "missing").status == 2
    assert cli(*WITH_VAL[:-1], "x", "--reuse", "run", "--fresh").status == 2


def test_what_a_reused_folder_tried_on_val_counts_though_none_of_it_is_scored_again(tmp_path: Path) -> None:
    cli = in_this_process(project(tmp_path))
    evaluator = WITH_VAL[2:6]
    for name in ("1", "30", "40"):
        (tmp_path / f"{name}.txt").write_text(name)
    two = ("--candidate", "30.txt", "--candidate", "40.txt")
    cli("run", *evaluator, "--candidate", "1.txt", "--persistent", "--out", "x")
    cli("run", *evaluator, "--valset", "val.jsonl", *two, "--persistent", "--out", "x")
    done = cli(*WITH_VAL, "--reuse", "x", "--budget", "30", "--top", "1", "--json")
    assert done.status == 0, done.stderr
    summary = cli("report", "r", "--json").json
    assert (summary["tried"]["versions"], summary["tried"]["k"], summary["tried"]["baselines"]) == (2, 12, 2)
    assert not any("not counted" in one["text"] for one in summary["verdict"]["points"])
    assert cli("report", "r", "--check").status == 0


@pytest.mark.parametrize("name", ["evaluations.jsonl", "search.jsonl"])
def test_a_damaged_search_is_left_out_of_auto_with_a_note(tmp_path: Path, name: str) -> None:
    cli = in_this_process(project(tmp_path))
    assert cli(*WITH_VAL[:-1], "s1", "--budget", "31").status == 0
    lines = (tmp_path / "s1" / name).read_bytes().splitlines(keepends=True)
    (tmp_path / "s1" / name).write_bytes(b"".join([*lines[:2], b"#" + lines[2], *lines[3:]]))

    auto = cli(*WITH_VAL[:-1], "s2", "--budget", "31", "--reuse", "auto")
    assert auto.status == 0, auto.stderr
    assert f"note: s1 is not reused: s1/{name}:3: the line is not as it was written" in auto.stderr
    assert "of s1 reused" not in auto.stderr, "nothing of what is damaged"
    named = cli(*WITH_VAL[:-1], "s3", "--budget", "31", "--reuse", "s1")
    assert (named.status, f"s1/{name}:3: the line is not" in named.stderr) == (3, True)


def test_of_several_scores_of_a_call_a_search_takes_the_newest(tmp_path: Path) -> None:
    cli = in_this_process(project(tmp_path))
    assert cli("run", *WITH_VAL[2:8], "--candidate", "seed.txt", "--out", "r").status == 0
    journal = tmp_path / "r" / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    for record in lines:
        if record.pop("crc") and record.get("split") == "train":
            later = {**record, "score": 1.0, "started_at": "2999-01-01T00:00:00.000+00:00"}
            with journal.open("ab") as file:
                file.write(seal(later))

    done = cli(*WITH_VAL[:-1], "s", "--budget", "31", "--reuse", "r", "--json")
    assert done.status == 0, done.stderr
    assert done.json["candidates"][0]["search_mean"] == 1.0
