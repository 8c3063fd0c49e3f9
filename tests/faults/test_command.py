"""Misbehaving programs through the front door: each failure has its kind, and a newcomer can act on it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.front_door import Cli, Result
from tests.paths import PROGRAM, PROGRAMS
from tests.tools import cases


@pytest.fixture
def score(cli: Cli, tmp_path: Path) -> Cli:
    """Score an empty candidate with `-e EVALUATOR`."""
    (tmp_path / "candidate.txt").touch()

    def run(evaluator: str, *options: str, env: dict[str, str] | None = None) -> Result:
        return cli("score", "candidate.txt", "-e", evaluator, *options, env=env)

    return run


FAILURES = {  # program and options, kind, what its message or hint says
    "missing": ("./nowhere.sh", "not_found", "no program ./nowhere.sh in "),
    "missing on PATH": ("no-such-program", "not_found", "no program no-such-program on PATH"),
    "misspelt": (f"{PROGRAMS}/god.sh", "not_found", "did you mean"),
    "misspelt on PATH": ("pyton3 x.py", "not_found", "did you mean 'python3 x.py'?"),
    "an assignment before the command": ("LANG=C ./e", "not_found", "no program C on PATH"),
    "not executable": (f"{PROGRAMS}/not_executable.py", "start_failed", "chmod +x "),
    "a device": ("/dev/null", "start_failed", "name the file of a program"),
    "no first line": (f"{PROGRAMS}/no_first_line.py", "start_failed", "#!/usr/bin/env python3"),
    "empty file": (f"{PROGRAMS}/empty_file", "start_failed", "is empty"),
    "no such interpreter": (
        f"{PROGRAMS}/bad_interpreter.py",
        "start_failed",
        "/opt/no/such/python3 does not",
    ),
    "carriage returns": (f"{PROGRAMS}/carriage_returns.sh", "start_failed", "sed -i 's/\\r$//'"),
    "a folder": (str(PROGRAMS), "start_failed", "is a folder"),
    "a valid answer, but status 3": (
        f"{PROGRAMS}/exit_3_after_answer.sh",
        "exit_code",
        "exit 0 after answering",
    ),
    "an exception": (f"{PROGRAMS}/raises.py", "exit_code", "exit status 1: KeyError: 'dims'"),
    "needs an example": (f"{PROGRAMS}/needs_example.py", "exit_code", "--example FILE:LINE"),
    "calls a missing program": (f"{PROGRAMS}/calls_missing.sh", "exit_code", "not on PATH"),
    "an interpreter without its script": (
        "python3 nowhere.py",
        "exit_code",
        "there is no file nowhere.py in ",
    ),
    "an interpreter with a misspelt script": (f"python3 {PROGRAMS}/god.py", "exit_code", "/god.py"),
    "meant for a shell": ("echo '{}' | jq .", "invalid_json", "is not JSON"),
    "a pipe to a program that fails": ("cat /no/file | jq .", "exit_code", "bash -c 'cat /no/file | jq .'"),
    "SIGKILL": (f"{PROGRAMS}/kills_itself.sh", "killed", "ended by SIGKILL"),
    "SIGSEGV": (f"{PROGRAMS}/segfaults.sh", "killed", "ended by SIGSEGV"),
    "says nothing": (f"{PROGRAMS}/silent.sh", "no_output", "stdout is empty"),
    "logs to stdout": (f"{PROGRAMS}/logs_to_stdout.sh", "invalid_json", "log to stderr instead"),
    "endless stdout": (f"{PROGRAMS}/endless_stdout.sh", "output_too_large", "8 MiB"),
    "200 MB of stdout": (f"{PROGRAMS}/stdout_200_mb.sh", "output_too_large", "8 MiB"),
    "fails after 50 MB of stderr": (f"{PROGRAMS}/stderr_50_mb_then_fails.sh", "exit_code", "the last words"),
}


def test_what_an_evaluator_says_itself_is_followed_by_no_advice_of_ours(score: Cli) -> None:
    done = score("""sh -c 'echo "{\\"error\\": \\"no key\\"}"'""")
    assert (done.status, done.json["kind"], done.json["message"]) == (4, "reported", "no key")
    assert "try:" not in done.stderr


@pytest.mark.parametrize(("evaluator", "kind", "said"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_is_told_by_kind_and_with_a_way_out(
    score: Cli, evaluator: str, kind: str, said: str
) -> None:
    result = score(evaluator)
    assert result.status == 4
    assert result.json["outcome"] == "failed"
    assert result.json["kind"] == kind
    assert said in result.json["message"] + " " + result.json["hint"]
    assert result.json["message"] in result.stderr
    assert result.json["hint"]


ANSWERS = {  # what the program prints, kind; test_protocol has the whole list
    "a byte that is not UTF-8": (b'{"score": 1, "x": "\xff"}', "invalid_utf8"),
    "an error of its own": (b'{"error": "no key"}', "reported"),
    "200,000 brackets": (b"[" * 200_000, "invalid_json"),
}


@pytest.mark.parametrize(("answer", "kind"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_bad_answer_is_a_failure(score: Cli, tmp_path: Path, answer: bytes, kind: str) -> None:
    (tmp_path / "answer").write_bytes(answer)
    result = score(f"{PROGRAMS}/say.sh {tmp_path}/answer")
    assert (result.status, result.json["kind"]) == (4, kind)


FINE = [
    "good.sh",
    "stderr_not_utf8.sh",
    "stderr_50_mb.sh",
    "never_reads.sh",
    "closes_stdin.sh",
    "answers_before_reading.sh",
    "background_holds_stdout.sh",
    "background_in_own_session.sh",
    "background_floods_stderr.sh",
]


@pytest.mark.parametrize("program", cases({name: (name,) for name in FINE}))
def test_odd_but_fine(score: Cli, program: str) -> None:
    result = score(f"{PROGRAMS}/{program}")
    assert (result.status, result.stderr) == (0, "")
    assert result.json["score"] == 0.5


def test_a_background_child_that_holds_stdout_costs_half_a_second_not_the_deadline(score: Cli) -> None:
    assert score(f"{PROGRAMS}/background_holds_stdout.sh").json["seconds"] < 5


LATE = [
    "sleeps.sh",
    "ignores_sigterm.sh",
    "grandchild.sh",
    "setsid_grandchild.sh",
    "setsid_without_environment.sh",
    "closes_stdout_and_hangs.sh",
]


@pytest.mark.parametrize("program", cases({name: (name,) for name in LATE}))
def test_late_programs_are_ended_with_all_they_started(score: Cli, program: str) -> None:
    result = score(f"{PROGRAMS}/{program}", "--timeout", "0.3")
    assert result.status == 4
    assert result.json["kind"] == "timeout"
    assert "no answer within 0.3 s" in result.stderr


def test_what_a_late_program_said_is_kept(score: Cli) -> None:
    assert score(f"{PROGRAMS}/sleeps.sh", "--timeout", "1").json["stderr"] == "about to sleep\n"


def test_a_missing_folder_is_told_apart_from_a_missing_program(score: Cli) -> None:
    result = score("./good.sh", "--cwd", "/no/such/folder")
    assert result.json["kind"] == "start_failed"
    assert "/no/such/folder does not exist" in result.json["message"]


def test_relative_paths_count_from_cwd(score: Cli) -> None:
    assert score("./good.sh", "--cwd", str(PROGRAMS)).status == 0
    assert score("./programs/good.sh", "--cwd", str(PROGRAMS.parent)).status == 0


CANDIDATES = {
    "empty": b"",
    "5 MB": b"x" * 5_000_000,
    "NUL": b"a\0b",
    "quotes and line ends": b"\"'\\\r\n\n",
    "emoji": "🙂".encode(),
    "right to left": "\u202eabc\u05d0".encode(),
}


@pytest.mark.parametrize("candidate", CANDIDATES.values(), ids=CANDIDATES.keys())
def test_every_text_arrives_whole(cli: Cli, candidate: bytes) -> None:
    result = cli("score", "-", "-e", f"{PROGRAMS}/counts_bytes.py", stdin=candidate)
    text = candidate.decode()
    assert result.json["side_info"] == {"characters": len(text), "head": text[:20]}


@pytest.mark.parametrize("program", ["never_reads.sh", "closes_stdin.sh", "answers_before_reading.sh"])
def test_five_megabytes_that_nobody_reads_block_nothing(cli: Cli, program: str) -> None:
    assert cli("score", "-", "-e", f"{PROGRAMS}/{program}", stdin=b"x" * 5_000_000).status == 0


PEAK = (
    "import atexit, pathlib, sys\n"
    "from optimize_eval.cli import main\n"
    "def tell(): print(pathlib.Path('/proc/self/status').read_text(), file=sys.stderr)\n"
    "atexit.register(tell)\n"
    "main()\n"
)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the tool /proc")
@pytest.mark.parametrize("program", ["endless_stdout.sh", "stdout_200_mb.sh", "stderr_50_mb.sh"])
def test_memory_stays_flat_under_floods(tmp_path: Path, program: str) -> None:
    (tmp_path / "candidate.txt").touch()
    command = [
        *(sys.executable, "-c", PEAK, "score", f"{tmp_path}/candidate.txt"),
        *("-e", f"{PROGRAMS}/{program}"),
    ]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    (peak,) = (line.split()[1] for line in done.stderr.splitlines() if line.startswith("VmHWM:"))
    assert int(peak) * 1024 < 100_000_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_evaluator_too(tmp_path: Path, number: signal.Signals) -> None:
    up = tmp_path / "up"
    os.mkfifo(up)
    (tmp_path / "candidate.txt").touch()
    command = [str(PROGRAM), "score", f"{tmp_path}/candidate.txt", "-e", f"{PROGRAMS}/tells_when_up.sh {up}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert up.read_text() == "up\n"
        running.send_signal(number)
        stdout, stderr = running.communicate(timeout=20)
    assert running.returncode == 130
    assert (stdout, stderr) == (b"", b"interrupted\n")


def test_what_an_evaluator_says_cannot_steer_the_terminal(score: Cli) -> None:
    for arguments, status in (("", 0), (" fail", 4)):
        result = score(f"{PROGRAMS}/hostile_text.py{arguments}", env={"CI": "true"})
        assert result.status == status
        shown = result.stdout + result.stderr
        assert not set(shown) & {"\x1b", "\x07", "\u202e", "\x9b"}
        assert "::error" not in result.stderr
        assert "##[" not in result.stderr
        said = result.json["stderr"] if status else result.json["side_info"]["note"]
        assert "\x1b[2J" in said


def test_the_payload_and_the_task_model_arrive(cli: Cli, tmp_path: Path) -> None:
    line = '{"id": 123456789012345678901234567890,  "z": 1.0, "a": 1E2}'
    (tmp_path / "data.jsonl").write_text('{"a":1}\n' + line + "\n")
    echo = ("score", "-", "-e", f"{PROGRAMS}/echoes_payload.py")
    result = cli(*echo, "--example", "data.jsonl:2", "--task-model", "openai/gpt-4o-mini", stdin=b"hi\n")
    assert result.json["side_info"] == {
        "line": '{"_protocol_version":2,"candidate":"hi\\n","example":'
        f'{line},"task_model":"openai/gpt-4o-mini"}}\n',
        "variable": "openai/gpt-4o-mini",
    }
    assert cli(*echo).json["side_info"]["variable"] is None


def test_a_folder_is_not_what_a_missing_program_was_meant_to_be(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "judge").mkdir()
    (tmp_path / "c.txt").touch()
    done = cli("score", "c.txt", "-e", "./judge.py")
    assert (done.status, "did you mean" in done.stderr) == (4, False), done.stderr
