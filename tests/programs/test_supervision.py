"""Each way of ending what a program started, alone: in a library, where nothing adopts what is orphaned."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from optimize_eval import EvaluationError, command_evaluator
from optimize_eval.programs import leftovers, one_shot
from optimize_eval.programs.leftovers import CALL_VARIABLE
from tests.paths import PROGRAM, PROGRAMS, ROOT
from tests.processes import processes_with
from tests.tools import need


def kind_of(program: str, *, timeout: float = 0.4) -> str:
    with command_evaluator(program, timeout=timeout) as evaluator, pytest.raises(EvaluationError) as caught:
        evaluator("x")
    return str(caught.value.kind)


@need("setsid")
@pytest.mark.parametrize(
    "program",
    ["grandchild.sh", "setsid_grandchild.sh", "setsid_without_environment.sh", "ignores_sigterm.sh"],
)
def test_a_timeout_ends_the_group_the_tagged_and_the_descendants(program: str) -> None:
    assert kind_of(f"{PROGRAMS}/{program}") == "timeout"
    # that nothing is left is checked after each test


def test_sigterm_comes_first_and_half_a_second_is_given(tmp_path: Path) -> None:
    cleaned = tmp_path / "cleaned"
    cleans = tmp_path / "cleans.sh"  # a shell is ready at once, however busy the machine is
    cleans.write_text(f"trap 'sleep 0.2; : > {cleaned}; exit' TERM\nsleep 600 &\nwait\n")
    assert kind_of(f"sh {cleans}", timeout=0.5) == "timeout"
    assert cleaned.exists()
    cleaned.unlink()
    assert kind_of(f"sh -c 'sh {cleans}; true'", timeout=0.5) == "timeout"
    assert cleaned.exists(), "the grace is the group's, not its leader's alone"


def test_after_a_normal_end_the_group_is_ended_before_anything_else_is_closed() -> None:
    line = 'sleep 600 >&- 2>&- & echo "{\\"score\\": 1, \\"child\\": $!}"'
    with command_evaluator(["sh", "-c", line]) as evaluator:
        assert has_ended(int(evaluator("x")[1]["child"]))


def has_ended(pid: int) -> bool:
    """Wait for the end of somebody's process, for some seconds at most."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def test_an_interrupt_ends_the_program_of_a_library_user_too(tmp_path: Path) -> None:
    up = tmp_path / "up"
    os.mkfifo(up)
    code = (
        "from optimize_eval import command_evaluator\n"
        f"command_evaluator(['{PROGRAMS}/tells_when_up.sh', '{up}'])('x')"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, cwd=ROOT) as running:
        assert up.read_text() == "up\n"
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=30)
    assert b"KeyboardInterrupt" in stderr


def test_a_host_that_ignores_its_children_is_told_why_a_program_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "none.sh").write_text("echo")
    (tmp_path / "none.sh").chmod(0o755)  # it has no line #!
    code = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from optimize_eval import EvaluationError, command_evaluator\n"
        f"try: command_evaluator(['{tmp_path}/none.sh'])('x')\n"
        "except EvaluationError as error: print(error.kind, error.message)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.startswith("start_failed "), done.stdout
    assert "No child" not in done.stdout


def test_tags_of_nested_runs_start_with_the_outer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CALL_VARIABLE.decode(), "outer.1")
    with command_evaluator(
        ["sh", "-c", f'echo "{{\\"score\\": 1, \\"tag\\": \\"${CALL_VARIABLE.decode()}\\"}}"']
    ) as evaluator:
        assert str(evaluator("x")[1]["tag"]).startswith("outer.1.")


def test_of_stderr_the_last_64_kib_are_kept_and_2_kib_shown(tmp_path: Path) -> None:
    with (
        command_evaluator([str(PROGRAMS / "stderr_50_mb_then_fails.sh")]) as evaluator,
        pytest.raises(EvaluationError) as caught,
    ):
        evaluator("x")
    assert len(caught.value.detail) == one_shot.STDERR_KEPT
    assert caught.value.detail.endswith("the last words\n")
    (tmp_path / "c.txt").touch()
    evaluator_text = f"{PROGRAMS}/stderr_50_mb_then_fails.sh"
    command = [str(PROGRAM), "score", f"{tmp_path}/c.txt", "-e", evaluator_text]
    done = subprocess.run(command, capture_output=True, check=False)
    assert len(done.stderr) < 4096
    assert b"the last words" in done.stderr


def test_the_end_of_stderr_is_read_even_from_a_pipe_made_larger(tmp_path: Path) -> None:
    code = "import fcntl, sys; fcntl.fcntl(2, 1031, 1 << 20); sys.exit('x' * 900_000 + 'LAST')"
    (tmp_path / "large.py").write_text(code)
    with (
        command_evaluator([sys.executable, tmp_path / "large.py"]) as evaluator,
        pytest.raises(EvaluationError) as caught,
    ):
        evaluator("x")
    assert caught.value.detail.rstrip().endswith("LAST")


@need("setsid")
def test_the_command_line_ends_what_left_its_session_and_cleared_its_environment(tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    command = [
        str(PROGRAM),
        "score",
        f"{tmp_path}/c.txt",
        "-e",
        f"{PROGRAMS}/background_without_environment.sh",
    ]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    # that nothing is left is checked after each test


def test_stderr_is_read_to_its_end_although_a_background_child_holds_it() -> None:
    line = "sleep 600 >&- & head -c 60000 /dev/zero | tr '\\0' x >&2; echo LAST >&2; exec >&-; exit 3"
    with command_evaluator(["sh", "-c", line]) as evaluator:
        with pytest.raises(EvaluationError) as caught:
            evaluator("x")
    assert caught.value.detail.endswith("LAST\n")


@need("sleep")
def test_sweeps_that_are_put_together_end_all_that_carries_a_tag_at_their_end() -> None:
    sleeping = {
        tag: subprocess.Popen(["sleep", "600"], env={**os.environ, CALL_VARIABLE.decode(): f"{tag}.1"})
        for tag in ("one-tag", "another-tag", "a-spared-tag")
    }
    with leftovers.at_once():
        leftovers.sweep("one-tag")
        leftovers.sweep("another-tag")
        assert [process.poll() for process in sleeping.values()] == [None, None, None]
    spared = sleeping.pop("a-spared-tag")
    assert all(process.poll() is not None for process in sleeping.values())
    assert spared.poll() is None
    spared.kill()
    spared.wait()


def test_a_sweep_of_several_tags_looks_once_and_not_at_who_is_older() -> None:
    code = """if True:
        import os, sys
        seen = []
        sys.addaudithook(lambda event, args: seen.append(args[0]) if event in ("os.listdir", "open") else 0)
        from optimize_eval.programs import leftovers
        with leftovers.at_once():
            leftovers.sweep("one")
            leftovers.sweep("two")
        print(seen.count("/proc"), f"/proc/{os.getppid()}/environ" in seen)
    """
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1 False\n"


def test_what_was_there_before_is_not_ours_to_end(tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    line = f"sleep 600 >&- 2>&- & echo $!; exec {PROGRAM} score {tmp_path}/c.txt -e {PROGRAMS}/good.sh"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True, text=True)
    pid = int(done.stdout.split()[0])
    os.kill(pid, signal.SIGKILL)  # fails where it had been ended
    assert has_ended(pid)


def test_a_lost_exit_status_is_a_failure_not_a_success() -> None:
    code = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from optimize_eval import EvaluationError, command_evaluator\n"
        f"try: command_evaluator(['{PROGRAMS}/exit_3_after_answer.sh'])('x')\n"
        "except EvaluationError as error: print(error.kind, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("internal its exit status was lost")


def test_the_command_line_takes_its_children_back_from_a_parent_that_ignored_them(tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    line = f"trap '' CHLD; exec {PROGRAM} score {tmp_path}/c.txt -e {PROGRAMS}/exit_3_after_answer.sh"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
    assert done.returncode == 4
    assert b'"exit_code"' in done.stdout


def test_an_inherited_ignoring_of_sighup_is_kept(tmp_path: Path) -> None:
    up, go_on = tmp_path / "up", tmp_path / "go-on"
    for fifo in (up, go_on):
        os.mkfifo(fifo)
    (tmp_path / "c.txt").touch()
    (tmp_path / "waits.sh").write_text(f'echo up > {up}; read -r _ < {go_on}; echo "{{\\"score\\": 1}}"\n')
    line = f"trap '' HUP; exec {PROGRAM} score {tmp_path}/c.txt -e 'sh {tmp_path}/waits.sh'"
    with subprocess.Popen(["bash", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert up.read_text() == "up\n"
        running.send_signal(signal.SIGHUP)
        go_on.write_text("on\n")
        stdout, _ = running.communicate(timeout=30)
    assert (running.returncode, b'"scored"' in stdout) == (0, True)


def test_evaluators_in_other_processes_do_not_end_each_others_calls(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(
        "import json, sys, time\n"
        "time.sleep(float(json.load(sys.stdin)['candidate']))\n"
        "print(json.dumps({'score': 1}))\n"
    )
    (tmp_path / "two.py").write_text(
        "import sys\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\n"
        "from optimize_eval import EvaluationError, command_evaluator\n"
        "def ask(evaluator, candidate):\n"
        "    try: return evaluator(candidate)[0]\n"
        "    except EvaluationError as error: return str(error.kind)\n"
        "if __name__ == '__main__':\n"
        f"    evaluator = command_evaluator([sys.executable, {str(tmp_path / 'waits.py')!r}], timeout=3)\n"
        "    with ProcessPoolExecutor(2, mp_context=get_context('spawn')) as others:\n"
        "        late, good = others.submit(ask, evaluator, '60'), others.submit(ask, evaluator, '1.5')\n"
        "        print(late.result(), good.result())\n"
    )
    assert subprocess.check_output([sys.executable, tmp_path / "two.py"], text=True) == "timeout 1.0\n"


def test_a_fifo_in_the_place_of_a_program_is_told_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "program", 0o755)
    with command_evaluator("./program", cwd=tmp_path) as evaluator:
        with pytest.raises(EvaluationError) as caught:
            evaluator("x")
    assert caught.value.kind == "start_failed"


@pytest.mark.parametrize(
    "start", ["", pytest.param("setsid ", marks=need("setsid"))], ids=["its group", "a session of its own"]
)
def test_an_endless_program_ends_also_after_kill_9_of_the_command(tmp_path: Path, start: str) -> None:
    up = tmp_path / "up"
    os.mkfifo(up)
    (tmp_path / "c.txt").touch()
    endless = f"{start}sh -c 'echo $0 $$ > {up}; while :; do :; done' $$; :"
    (tmp_path / "endless.sh").write_text(endless)
    line = f"exec {PROGRAM} score {tmp_path}/c.txt -e 'sh {tmp_path}/endless.sh'"
    with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        handles = [os.pidfd_open(int(pid)) for pid in up.read_text().split()]
        running.kill()
    try:
        assert all(select.select([handle], [], [], 20)[0] for handle in handles)
    finally:
        for handle in handles:
            os.close(handle)


def test_nobody_waits_for_the_end_of_a_command_that_ended_by_itself(tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    line = 'echo "{\\"score\\": 1, \\"tag\\": \\"$OPTIMIZE_EVAL_CALL\\"}"'
    argv = [str(PROGRAM), "score", f"{tmp_path}/c.txt", "-e", f"sh -c '{line}'"]
    done = subprocess.run(argv, capture_output=True, check=True, text=True)
    tag, *_ = json.loads(done.stdout)["side_info"]["tag"].split(".")
    assert processes_with(f"TAG={tag}".encode()) == []
