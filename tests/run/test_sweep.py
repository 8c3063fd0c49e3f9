"""`sweep(…)`: what `run` does, called from a program, in any thread; failures are in the Run."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest

from optimize_eval import DataError, Progress, Run, UsageError, load_run, sweep
from tests.front_door import Cli
from tests.loading import DEAR, OF_MODELS
from tests.paths import PROGRAMS
from tests.run.projects import COUNTS, Project, await_that, project, scored, summary, undisturbed
from tests.tools import need, write_program

BOTH = ("a.txt", "b.txt")
HOSTILE = "<img src=x onerror=alert(1)> \x1b[2J"


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNT", str(made.counted))
    return made


def swept(**options: Any) -> Run:
    return sweep(COUNTS, **{"candidates": BOTH, "dataset": "d.jsonl", "out": "r", **options})


def without_times(manifest: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(manifest.read_bytes())
    return {key: value for key, value in document.items() if key not in {"created_at", "ended_at"}}


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "plain": ([], {}),
    "a part, repeated": (
        ["--limit", "9", "--sample", "4", "--seed", "3", "--repeats", "2"],
        {"limit": 9, "sample": 4, "seed": 3, "repeats": 2},
    ),
    "splits, groups and clusters": (
        [
            "--valset",
            "d.jsonl",
            "--leaks",
            "keep",
            "--group-by",
            "id",
            "--cluster-by",
            "id",
            "--baseline",
            "b",
        ],
        {"valset": Path("d.jsonl"), "leaks": "keep", "group_by": ["id"], "cluster_by": "id", "baseline": "b"},
    ),
    "models, any range, a margin": (
        ["--task-model", "m", "--task-model", "n", "--score-range", "any", "--margin", "counts=0.5"],
        {"task_models": ["m", "n"], "score_range": "any", "margin": {"counts": 0.5}},
    ),
    "how to call": (
        [
            *("--concurrency", "2", "--timeout", "20", "--no-persistent"),
            *("--max-failures", "5%", "--retries", "1"),
        ],
        {"concurrency": 2, "timeout": 50, "persistent": False, "max_failures": "5%", "retries": 1},
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_it_writes_the_bytes_that_the_command_writes(cli: Cli, made: Project, name: str) -> None:
    words, options = OPTIONS[name]
    assert cli(*made.command, "--out", "by_command/r", *words, env=made.env()).status == 0
    calls = made.asked()
    made.forget()
    run = swept(out="by_call/r", **options)
    assert (run.status, run.exit_code) == ("done", 0)
    assert all("--leaks keep" in note for note in run.notes)
    assert made.asked() == calls
    assert summary(Path("by_call/r")) == summary(Path("by_command/r"))
    by_command = without_times(Path("by_command/r/run.json"))
    assert by_command.pop("command").startswith("optimize-eval run "), "a call has none to print"
    assert without_times(Path("by_call/r/run.json")) == by_command
    assert run.summary.document == load_run("by_call/r").summary.document


def test_without_a_folder_it_takes_the_commands_and_says_which(cli: Cli, made: Project) -> None:
    run = swept(out=None)
    assert run.folder.parent == Path("runs")
    made.forget()
    done = cli(*made.command, "--quiet", env=made.env())
    assert done.stdout.splitlines()[-1] == str(run.folder)
    assert not made.asked(), "each goes on with what the other has"


def test_a_run_has_its_numbers_and_its_records() -> None:
    run = swept()
    assert run.summary.units.scored == len(run.records) == 24
    assert {record.outcome for record in run.records} == {"scored"}
    assert repr(run) == "<run 'r': 24 of 24 calls done>"
    assert (load_run("r").status, load_run("r").exit_code, load_run("r").notes) == ("done", 0, ())
    assert isinstance(load_run("r"), Run)


def test_candidates_are_files_lists_globs_or_texts_by_their_names(made: Project) -> None:
    Path("more.jsonl").write_text('{"id": "c", "candidate": "ccccc"}\n')
    run = sweep([COUNTS], [Path("a.txt"), {"typed": "ttt", "a": "aa"}, "more.jsonl", "[b].txt"], out="r")
    assert [row.candidate for row in run.summary.rows] == ["a.txt", "typed", "a", "c", "b"]
    assert made.asked() == Counter(f"{text}:" for text in ("a", "ttt", "aa", "ccccc", "bbb"))
    assert [row.candidate for row in sweep(COUNTS, {"one": "1"}, out="s").summary.rows] == ["one"]


def test_evaluators_are_texts_or_tables_of_a_sweep_file() -> None:
    table = {"name": "e", "command": ["./counts.sh"], "timeout": 5, "env": {"HANGS": "none"}}
    run = sweep([table, COUNTS, "./counts.sh", "./counts.sh"], "a.txt", dataset="d.jsonl")
    assert [row.evaluator for row in run.summary.rows] == ["e", "counts", "counts-2", "counts-3"]


def test_recorded_outputs_are_candidates() -> None:
    Path("o.jsonl").write_text('{"id": 1, "old": "x", "new": "yyy"}\n')
    run = sweep("@exact_match", candidate_fields=["old", "new"], dataset="o.jsonl", no_preflight=True)
    assert [row.candidate for row in run.summary.rows] == ["old", "new"]


def state() -> tuple[Any, ...]:
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD]
    return [*map(signal.getsignal, numbers)], threading.active_count(), sys.argv, Path.cwd()


def test_it_prints_nothing_and_changes_nothing_of_the_process(capfd: pytest.CaptureFixture[str]) -> None:
    Path("d.jsonl").write_text('{"id": 1}\n{"id": 1}\n')
    before = state()
    run = swept(cwd=".")
    assert state() == before
    assert capfd.readouterr() == ("", "")
    assert run.notes == ("note: d.jsonl: 1 of 2 records is a copy of another: line 2 equals line 1",)


@need("setsid")
def test_nothing_is_left_of_what_an_evaluator_left_behind() -> None:
    evaluator = {"command": [str(PROGRAMS / "background_in_own_session.sh")]}
    assert (
        sweep(evaluator, {"a": "x"}, out="r").status == "done"
    )  # what is left is looked for after each test


def test_it_loads_what_a_run_needs_and_nothing_of_the_command_line() -> None:
    code = f"import json, sys, optimize_eval; optimize_eval.sweep({str(PROGRAMS / 'good.sh')!r}, 'a.txt')"
    code += "; print(json.dumps(sorted(sys.modules)))"
    found = set(json.loads(subprocess.check_output([sys.executable, "-c", code])))
    assert not {name.partition(".")[0] for name in found} & {*DEAR, "typer"}
    assert not [name for name in found if name.startswith(("optimize_eval.cli", *OF_MODELS))]


def test_it_runs_in_threads_at_the_same_time(made: Project) -> None:
    runs: dict[str, Run] = {}
    threads = [
        threading.Thread(target=lambda out: runs.update({out: swept(out=out)}), args=(out,))
        for out in ("r", "s")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.asked().total() == 48
    assert summary(Path("r")) == summary(Path("s")) == undisturbed()
    assert runs["r"].summary.verdict == runs["s"].summary.verdict


def test_it_runs_within_a_running_event_loop_as_in_a_notebook() -> None:
    import asyncio

    async def cell() -> Run:
        return swept()

    assert asyncio.run(cell()).status == "done"


def test_progress_is_shown_in_the_callers_thread_up_to_the_end(
    made: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Sequence[Progress]] = []
    threads: set[int] = set()

    def show(progress: Sequence[Progress]) -> None:
        shown.append(progress)
        threads.add(threading.get_ident())
        Path(f"{made.counted}.go").touch()  # what waits goes on once it was shown

    monkeypatch.setenv("WAITS", "bbb:12")
    swept(progress=show)
    assert len(shown) > 1
    assert shown[0][0].done < 24, "each is a copy of how it was"
    (last,) = shown[-1]
    assert (last.name, last.done, last.total, last.failed) == ("counts", 24, 24, 0)
    assert threads == {threading.get_ident()}


def test_what_progress_raises_ends_the_session_and_goes_on() -> None:
    def show(_: Sequence[Progress]) -> None:
        raise LookupError("no such widget")

    with pytest.raises(LookupError, match="no such widget"):
        swept(progress=show)
    assert threading.active_count() == state()[1]
    assert swept().status == "done"
    assert summary(Path("r")) == undisturbed()


FAILING: dict[str, tuple[dict[str, str], dict[str, Any], str, int, str]] = {
    "some": ({"FAILS": "a:3"}, {}, "done", 0, ""),
    "too many": (
        {"FAILS": "a:[34]"},
        {"max_failures": 1, "concurrency": 1},
        "too_many_failures",
        4,
        "stopped: 2 calls failed (--max-failures); 4 of 24 calls are done; after fixing it, run:\n  {again}",
    ),
    "all": (
        {"FAILS": "*"},
        {"out": None},
        "too_many_failures",
        4,
        "error: counts failed on every call (3), exit_code: exit status 3: out of luck",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_failures_never_raise(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    traits, options, status, exit_code, note = FAILING[name]
    for key, value in traits.items():
        monkeypatch.setenv(key, value)
    run = swept(**options)
    assert (run.status, run.exit_code) == (status, exit_code)
    again = "the same call again"
    assert note.format(again=again) in run.notes if note else not run.notes
    on_disk = load_run(run.folder)
    assert (on_disk.status, on_disk.exit_code) == (status, exit_code)


@pytest.mark.parametrize("least", [0.1, 0.9])
def test_gates_are_judged_as_the_commands_are(cli: Cli, made: Project, least: float) -> None:
    options = ["--leaks", "keep", "--fail-under", f"counts@a={least}", "--max-gap", "1"]
    done = cli(*made.command, "--valset", "d.jsonl", "--out", "r", *options, "--json", env=made.env())
    run = swept(valset="d.jsonl", leaks="keep", fail_under={"counts@a": least}, max_gap=1)
    assert run.exit_code == done.status == (least > 0.5)
    told = [{"name": gate.name, "met": gate.is_met, "text": gate.text} for gate in run.gates]
    assert told == done.json["gates"]
    missed = [note for note in run.notes if note.startswith("gate missed: counts on a, val")]
    assert len(missed) == run.exit_code
    assert (load_run("r").gates, load_run("r").exit_code) == (run.gates, run.exit_code)


def test_a_program_that_is_not_there_is_a_failure_with_its_reason() -> None:
    run = sweep("./missing.sh", BOTH, dataset="d.jsonl", out="r")
    assert (run.status, run.exit_code) == ("too_many_failures", 4)
    assert any("no program" in note or "not_found" in note for note in run.notes)


def test_what_changes_while_it_is_called_is_told() -> None:
    write_program(
        Path("changes.sh"),
        ["#!/bin/sh", "cat > /dev/null", "echo '# more' >> changes.sh", "echo '{\"score\": 1}'"],
    )
    run = sweep("./changes.sh", "a.txt", out="r")
    assert (run.status, run.exit_code) == ("done", 3)
    assert run.summary.changed == ("changes",)
    assert run.notes[-1].startswith("error: changes changed while being called; leave its files as they are")


WRONG: dict[str, tuple[Callable[[], Run], str]] = {
    "no evaluator": (lambda: sweep([], BOTH), "no evaluator is named"),
    "an empty evaluator": (lambda: sweep("", BOTH), "names nothing to run"),
    "no text": (lambda: sweep([3], BOTH), "evaluator 1 is not a text, a table or a function: 3"),  # type: ignore[list-item]
    "no list of evaluators": (lambda: sweep(3, BOTH), "3 is neither one evaluator nor a list of them"),  # type: ignore[arg-type]
    "no list of candidates": (lambda: sweep(COUNTS, None), "None is neither one candidate nor a list"),  # type: ignore[arg-type]
    "candidates in bytes": (lambda: sweep(COUNTS, b"a"), "b'a' is neither one candidate nor"),  # type: ignore[arg-type]
    "an unknown key": (
        lambda: sweep([{"comand": "x"}], BOTH),
        r"unknown key 'comand' in \[evaluator\]: did you mean 'command'",
    ),
    "no candidate": (lambda: sweep(COUNTS), "there is no candidate\n.*--candidate"),
    "no file": (lambda: sweep(COUNTS, "missing.txt"), "missing.txt"),
    "no glob": (lambda: sweep(COUNTS, "*.nothing"), "no file matches"),
    "stdin": (lambda: sweep(COUNTS, "-"), "'-' is not a candidate"),
    "bytes": (lambda: sweep(COUNTS, {"a": b"x"}), "candidate 'a' is not a text of UTF-8"),
    "a lone surrogate": (lambda: sweep(COUNTS, {"\ud800": "x"}), "is not a text of UTF-8"),
    "no name": (lambda: sweep(COUNTS, {"": "x"}), "a name of 0 letters"),
    "no number": (lambda: swept(repeats=0), "repeats: write a whole number from 1"),
    "no bound": (lambda: swept(fail_under={"nobody": 0.5}), "nobody"),
    "no gap": (lambda: swept(max_gap="wide"), "max_gap: write a number"),
    "no earlier run": (lambda: swept(no_regression_against="missing"), "there is no run in 'missing'"),
    "no truth": (lambda: swept(fresh="yes"), "fresh: write true or false"),
    "no list": (lambda: swept(group_by="id"), "group_by: write a list of texts"),
    "no path": (lambda: swept(dataset=3), "dataset: write a path"),
    "no way": (lambda: swept(on_failure="ignore"), "on_failure: write one of: exclude, abort"),
    "too many slots": (lambda: swept(concurrency=5000), "--concurrency 5000 is too many"),
    "no time": (lambda: swept(timeout=-1), "timeout: write seconds above 0"),
    "no baseline": (lambda: swept(baseline="z"), "the baseline 'z' is not among the candidates"),
    "no judge": (lambda: swept(objective="be kind"), "--objective is for judges, and none is named"),
    "headers": (lambda: swept(headers={"Authorization": 3}), "headers: write headers with texts"),
    "no group": (lambda: swept(group_by=["nowhere"]), "no example has a text or number at 'nowhere'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_raises_with_the_commands_words(name: str) -> None:
    call, words = WRONG[name]
    with pytest.raises(UsageError, match=words):
        call()


def test_an_evaluator_that_has_scored_and_changed_is_refused_unless_it_is_replaced(made: Project) -> None:
    swept()
    made.forget()
    with Path("counts.sh").open("a") as program:
        program.write("# changed\n")
    with pytest.raises(UsageError, match="--replace counts"):
        swept()
    assert swept(replace=["counts"]).status == "done"
    assert made.asked().total() == 24


def test_bad_data_raises_with_every_line_and_calls_nothing(cli: Cli, made: Project) -> None:
    Path("d.jsonl").write_text('{"id": 1}\n[]\n{"id": NaN}\n')
    with pytest.raises(DataError) as caught:
        swept()
    assert str(caught.value) == cli(*made.command, "--out", "r").stderr.rpartition("\nerror:")[0]
    assert not made.asked()
    assert not Path("r").exists()


def test_a_run_that_another_thread_works_on_is_refused(
    made: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    def show(_: Sequence[Progress]) -> None:
        if not refused:
            with pytest.raises(UsageError, match=f"is in use by process {os.getpid()}") as caught:
                swept()
            refused.append(caught.value.message)
            Path(f"{made.counted}.go").touch()

    monkeypatch.setenv("WAITS", "a:[0-9]*")
    assert swept(progress=show).status == "done"
    assert refused


def test_a_notebook_shows_tables_and_notes_with_nothing_foreign_in_force() -> None:
    write_program(Path("says.sh"), ["#!/bin/sh", "cat > /dev/null", f"echo '{HOSTILE}' >&2", "exit 3"])
    run = sweep([COUNTS, "./says.sh"], {HOSTILE: "x", "plain": "y"}, out="r")
    page = fromstring(f"<div>{run._repr_html_()}</div>")  # noqa: S314  our own
    assert not page.findall(".//img")
    rows = {row.findtext("td") for row in page.findall("table/tr")[1:]}
    inert = HOSTILE.replace("\x1b", "\\x1b")
    assert {inert, "plain"} == rows
    assert inert.strip() in (page.findtext("pre") or "")
    assert repr(run) == "<run 'r': 4 of 4 calls done>"


SCRIPT = """
import pathlib, signal, threading, optimize_eval

def interrupt(*_):
    pathlib.Path("interrupted").touch()
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
try:
    optimize_eval.sweep("counts=./counts.sh", "[ab].txt", dataset="d.jsonl", out="r", concurrency=2)
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
    raise
"""


@contextmanager
def started(made: Project, **traits: str) -> Iterator["subprocess.Popen[str]"]:
    env = {**os.environ, **made.env(**traits)}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=made.folder, env=env, stdout=-1, stderr=-1, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_ctrl_c_once_lets_the_calls_in_flight_end_and_the_same_call_goes_on(made: Project) -> None:
    with started(made, WAITS="a:[5-9]") as process:
        await_that(lambda: {"a:5", "a:6"} <= made.asked().keys())
        process.send_signal(signal.SIGINT)
        await_that(Path("interrupted").exists)
        Path(f"{made.counted}.go").touch()
        out, err = process.communicate(timeout=30)
    assert out.endswith("interrupted 1\n"), "no thread of ours is left"
    assert err.endswith("KeyboardInterrupt\n")
    assert process.returncode != 0
    known, calls = scored(Path("r")), made.asked()
    assert {"a:5", "a:6"} <= known == calls.keys(), "what was called is known"
    assert load_run("r").status == "interrupted"
    assert swept().status == "done"
    assert summary(Path("r")) == undisturbed()
    assert made.asked().total() == 24


@need("setsid")
def test_ctrl_c_twice_ends_at_once_whatever_still_runs(made: Project) -> None:
    with started(made, HANGS="a:[56]") as process:
        await_that(lambda: {"a:5", "a:6"} <= made.asked().keys())
        process.send_signal(signal.SIGINT)
        await_that(Path("interrupted").exists)
        Path("interrupted").unlink()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert Path("interrupted").exists(), "it came while the first one was waited for"
    assert out.endswith("interrupted 1\n")
    assert err.endswith("KeyboardInterrupt\n")
    known = scored(Path("r"))
    assert not known & {"a:5", "a:6"}
    assert all(record.outcome == "scored" for record in load_run("r").records), "what broke off is no failure"
    made.forget()
    assert swept().status == "done"
    assert not known & made.asked().keys()
    assert summary(Path("r")) == undisturbed()
