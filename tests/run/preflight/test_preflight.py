"""Preflight: ten broken evaluators are each told what is wrong, by a line that shows it when pasted."""

import json
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from unicodedata import east_asian_width

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import Answer, Payload
from optimize_eval.evaluators.kinds import parse_evaluator
from optimize_eval.run.preflight.checklist import CHECKS
from optimize_eval.run.preflight.examined import AT_ONCE, CheckStatus, Examined, Material, Sameness
from tests.faults.servers import served
from tests.front_door import Cli, Result
from tests.paths import PROGRAMS, PYTHON, ROOT
from tests.run.preflight.pasting import findings, pasted
from tests.tools import cases, need, write_program

CANARY = {"CANARY": "canary-123456"}


@pytest.fixture
def preflight(cli: Cli, tmp_path: Path) -> Cli:
    """CheckOutcome one evaluator on a small dataset, unless told otherwise."""
    lines = [json.dumps({"number": number, "input": "x" * number}) for number in range(1, 13)]
    (tmp_path / "train.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "val.jsonl").write_text('{"number": 99, "input": ""}\n')

    def run(
        evaluator: str, *options: str, examples: bool = True, env: dict[str, str] | None = None
    ) -> Result:
        data = ("--dataset", "train.jsonl") if examples else ()
        return cli("preflight", "-e", evaluator, *data, "--seconds", "60", *options, env=env)

    return run


FAILURES = {  # evaluator → the check that fails, what it says, what its line shows when pasted
    "not executable": (f"{PROGRAMS}/not_executable.py", "answers train", "start_failed", "ermission denied"),
    "wrong interpreter": (
        f"{PROGRAMS}/bad_interpreter.py",
        "answers train",
        "start_failed",
        "bad_interpreter.py: ",
    ),
    "noise on stdout": (f"{PROGRAMS}/logs_to_stdout.sh", "answers train", "invalid_json", "Loading model..."),
    "string score": (f"{PROGRAMS}/say.sh string.json", "answers train", "score_type", '"0.7"'),
    "NaN": (f"{PROGRAMS}/say.sh nan.json", "answers train", "score_not_finite", "NaN"),
    "out of range": (f"{PROGRAMS}/say.sh two.json", "answers train", "score_out_of_range", "2"),
    "shared file": (f"{PROGRAMS}/shared_file.pl shared", "at once", "share a file or a port", '{"score": 0.'),
    "too slow": (f"{PROGRAMS}/slow.sh", "answers train", "timeout", '{"score": 0.5}'),
    "state leaks between calls": (
        f"{PROGRAMS}/leaks_state.pl",
        "kept alive",
        "0.01 once it was kept alive: does state leak between calls? --no-persistent starts it for each call",
        '"score": 0.02',
    ),
    "no flush": (
        f"{PROGRAMS}/never_flushes.pl",
        "kept alive",
        "did not answer in time: does it flush each answer? --no-persistent starts it for each call",
        '"score": 0.5',
    ),
}


@pytest.mark.parametrize(("evaluator", "check", "said", "shown"), cases(FAILURES))
def test_a_broken_evaluator_fails_a_check_and_its_line_shows_why(
    preflight: Cli, tmp_path: Path, evaluator: str, check: str, said: str, shown: str
) -> None:
    (tmp_path / "string.json").write_text('{"score": "0.7"}')
    (tmp_path / "nan.json").write_text('{"score": NaN}')
    (tmp_path / "two.json").write_text('{"score": 2}')
    patience = ("--timeout", "0.8") if said == "timeout" else ()
    result = preflight(evaluator, "--json", *patience)
    assert result.status == 1
    found = findings(result)[check]
    assert found["status"] == "fail"
    assert said in found["message"]
    assert shown in pasted(found["reproduce"], tmp_path)


def test_an_evaluator_that_needs_an_example_says_so(preflight: Cli, tmp_path: Path) -> None:
    result = preflight(f"{PROGRAMS}/needs_example.py", "--json", examples=False)
    found = findings(result)["answers"]
    assert (result.status, found["status"]) == (1, "fail")
    assert "it seems to need an example" in found["message"]
    assert "KeyError" in pasted(found["reproduce"], tmp_path)


def test_a_failure_behind_the_first_example_is_found(preflight: Cli, tmp_path: Path) -> None:
    result = preflight(f"{PROGRAMS}/only_first.py", "--json")
    found = findings(result)["more answers"]
    assert (result.status, found["status"]) == (1, "fail")
    assert (
        f"{AT_ONCE - 1} of {AT_ONCE} failed, the first by exit_code: exit status 1: not the first"
        in found["message"]
    )
    assert "not the first" in pasted(found["reproduce"], tmp_path)


@pytest.mark.parametrize("kind", ["coin", "mostly", "clock"])
@need("perl")
def test_chance_is_not_taken_for_interference(preflight: Cli, kind: str) -> None:
    result = preflight(f"{PROGRAMS}/by_chance.pl {kind}", "--json")
    assert result.status == 0, findings(result)["at once"]


def test_failures_that_come_and_go_are_chance_too() -> None:
    question = Payload(candidate="x")
    on = Examined(
        spec=EvaluatorSpec(), material=Material(splits={"single": (question,)}, calls=1, slots=1), until=0.0
    )
    answer, failure = Answer(score=1.0), EvaluationError(FailureKind.EXIT_CODE, "now and then")
    on.one_by_one = [answer, failure]
    on.learn([answer, answer])
    assert on.sameness is Sameness.NOTHING
    assert on.differing([failure, answer]) == 0


def test_a_window_that_mixes_things_up_is_not_used(preflight: Cli) -> None:
    found = findings(preflight(f"{PYTHON} {PROGRAMS}/mixes_window.py", "--json"))["kept alive"]
    assert found["status"] == "fail"
    assert found["message"].endswith("does state leak between calls? --no-persistent starts it for each call")


@need("perl")
def test_wide_and_hostile_words_stay_within_the_terminal(preflight: Cli) -> None:
    result = preflight(f"{PROGRAMS}/wide_words.pl")
    assert "\x1b" not in result.stdout
    for line in result.stdout.splitlines():
        columns = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in line)
        assert columns <= 80 or "try it: " in line, line


WARNINGS = {
    "does not end": (
        f"{PROGRAMS}/worker_stays.pl",
        "kept alive",
        "does not end when its input does",
        "score",
    ),
    "chance": (f"{PROGRAMS}/random_score.pl", "same answer twice", "need --repeats", '{"score": 0.'),
    "long candidates": (
        f"{PROGRAMS}/only_short.pl",
        "odd candidates",
        "a 1 MB candidate: exit_code",
        "too long",
    ),
}


@pytest.mark.parametrize(("evaluator", "check", "said", "shown"), cases(WARNINGS))
def test_what_will_not_work_well_is_a_warning_with_its_line(
    preflight: Cli, tmp_path: Path, evaluator: str, check: str, said: str, shown: str
) -> None:
    result = preflight(evaluator, "--json")
    found = findings(result)[check]
    assert (result.status, found["status"]) == (0, "warn")
    assert said in found["message"]
    assert shown in pasted(found["reproduce"], tmp_path)


@need("perl")
def test_a_good_evaluator_passes_all_there_is_to_pass(preflight: Cli) -> None:
    result = preflight(f"{PROGRAMS}/five_lines.pl", "--valset", "val.jsonl", "--json")
    assert result.status == 0
    assert {name: check["status"] for name, check in findings(result).items()} == {
        "answers train": "pass",
        "answers val": "pass",
        "more answers": "pass",
        "same answer twice": "pass",
        "at once": "pass",
        "kept alive": "pass",
        "batches": "skip",
        "odd candidates": "pass",
        "speed": "pass",
    }
    (one,) = result.json["evaluators"]
    assert result.json["schema"] == "optimize-eval.preflight.v1"
    assert one["ok"] is True
    assert 0 < one["seconds"]["p50"] <= one["seconds"]["p95"]
    assert one["estimate"]["calls"] == 13
    assert one["estimate"]["seconds"] > 0


@need("perl")
def test_what_keeps_a_failing_evaluator_from_being_kept_alive_lets_it_pass(preflight: Cli) -> None:
    result = preflight(f"{PROGRAMS}/leaks_state.pl", "--no-persistent", "--json")
    assert (result.status, findings(result)["kept alive"]["status"]) == (0, "skip")


@need("perl")
def test_the_time_of_a_run_is_told_of_calls_as_it_makes_them(preflight: Cli, tmp_path: Path) -> None:
    """Each start takes a known time, a call of what stays takes none; and no run takes less than one call."""
    (tmp_path / "many.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(5000)))
    many = ("--dataset", "many.jsonl", "--json")
    program = f"{PROGRAMS}/starts_slowly.pl 0.2"
    told = {
        way: preflight(program, *many, *options, examples=False).json["evaluators"][0]
        for way, options in {"kept": (), "started": ("--no-persistent",)}.items()
    }
    starts = 5000 * 0.2 / told["started"]["estimate"]["slots"]
    assert told["kept"]["estimate"]["seconds"] < starts <= told["started"]["estimate"]["seconds"]
    assert told["kept"]["seconds"]["p50"] < 0.2 <= told["started"]["seconds"]["p50"]
    (one,) = preflight(f"{PROGRAMS}/good.sh", "--json", examples=False).json["evaluators"]
    assert one["estimate"]["calls"] == 1
    assert one["estimate"]["seconds"] >= round(one["seconds"]["p50"], 3)


def test_what_breaks_when_it_is_kept_alive_is_timed_as_it_is_started_for_each_call(
    preflight: Cli, tmp_path: Path
) -> None:
    answer = '{"score": 1, "_capabilities": {"persistent": true}}'
    (tmp_path / "no_id.sh").write_text(f"while read -r line; do echo '{answer}'; done")
    (tmp_path / "many.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(5000)))
    result = preflight("sh no_id.sh", "--dataset", "many.jsonl", "--json", examples=False)
    kept, speed = findings(result)["kept alive"], findings(result)["speed"]
    assert (kept["status"], "without the _id that it was given" in kept["message"]) == ("warn", True)
    assert "while it is kept alive" not in speed["message"]
    (one,) = result.json["evaluators"]
    estimate = one["estimate"]
    assert estimate["seconds"] > 0.99 * estimate["calls"] * one["seconds"]["p50"] / estimate["slots"]


def test_what_passed_is_listed_and_a_childs_wait_is_not_blamed_on_the_start(preflight: Cli) -> None:
    shown = " ".join(preflight(f"{PROGRAMS}/background_holds_stdout.sh", "--seconds", "1").stdout.split())
    assert "passed: answers train" in shown
    assert "a process that it leaves behind holds its stdout, and each call waits 0.5 s for it" in shown
    assert "the program's start" not in shown


def test_shipped_metrics_pass_in_batches_too(cli: Cli) -> None:
    dataset = ROOT / "datasets" / "greetings.jsonl"
    result = cli("preflight", "-e", "@exact_match", "--dataset", dataset, "--json")
    assert result.status == 0
    assert findings(result)["batches"]["status"] == "pass"
    assert findings(result)["kept alive"]["status"] == "pass"


@need("curl")
def test_endpoints_are_checked_too_and_shown_with_curl(preflight: Cli, tmp_path: Path) -> None:
    with served() as server:
        good = preflight(f"{server.url}/ok", "--json")
        assert good.status == 0
        assert findings(good)["at once"]["message"].startswith(f"{AT_ONCE} calls at the same")
        bad = preflight(f"{server.url}/500", "--json", "--header", "X-Key: ${CANARY}", env=CANARY)
        assert bad.status == 1
        found = findings(bad)["answers train"]
        assert "the model is not loaded" in pasted(found["reproduce"], tmp_path, CANARY)
        literal = preflight(f"{server.url}/500", "--json", "--header", f"X-Key: {CANARY['CANARY']}")
        assert CANARY["CANARY"] not in bad.stdout + bad.stderr + literal.stdout + literal.stderr
        assert "put the value of X-Key here" in pasted(
            findings(literal)["answers train"]["reproduce"], tmp_path
        )


def test_the_budget_bounds_what_is_looked_at(preflight: Cli) -> None:
    result = preflight(f"{PROGRAMS}/slow.sh", "--seconds", "3", "--json")
    assert result.status == 0
    checks = findings(result)
    assert checks["at once"] == {
        "name": "at once",
        "status": "skip",
        "message": "left out: the budget is used up",
        "reproduce": None,
    }


def test_a_budget_for_one_check_alone_leaves_out_what_would_be_compared_with_another(preflight: Cli) -> None:
    """Two calls more would fit into the budget, as many as `more answers` takes would not."""
    result = preflight(f"{PYTHON} {PROGRAMS}/stays_and_is_slow.py 0.8", "--seconds", "4", "--json")
    assert result.status == 0, result.stderr
    assert findings(result)["kept alive"]["message"] == "left out: the budget is used up"


@need("perl")
def test_people_see_a_table_within_their_terminal(preflight: Cli) -> None:
    result = preflight(
        f"{PROGRAMS}/five_lines.pl", "-e", f"{PROGRAMS}/logs_to_stdout.sh", "--valset", "val.jsonl"
    )
    lines = result.stdout.splitlines()
    assert result.status == 1
    assert lines[0] == " data     train 12 lines ok · val 1 line ok · no example in both"
    assert lines[1].split() == ["check", "result", "time", "detail"]
    assert any(line.startswith(" five_lines    ok      ") and "score 0.5" in line for line in lines)
    assert any(line.startswith(" logs_to_stdo… FAILED  ") for line in lines)
    assert lines[-1] == " 1 of 2 evaluators failed; nothing was run."
    assert any(line.startswith(" plan     26 calls, about ") for line in lines)
    assert all(len(line) <= 80 or "try it: " in line for line in lines)


def test_wrong_data_is_told_before_anything_is_asked(preflight: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("[]\n")
    result = preflight(f"{PROGRAMS}/good.sh", "--valset", "bad.jsonl")
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr.startswith("bad.jsonl:1:1: ")


ANSWERS_THE_SENTINEL = [
    f"#!{sys.executable} -S",
    "import json, sys",
    "payload = json.load(sys.stdin)",
    "print(payload['candidate'], payload.get('task_model'), file=open('seen', 'a'))",
    "if payload['candidate'] == '__optimize_anything_preflight__':",
    "    print('{\"score\": 0.0}')",
    "    sys.exit()",
]


@pytest.mark.parametrize("check", ["answers train", "answers"])
def test_a_green_sentinel_proves_nothing(preflight: Cli, tmp_path: Path, check: str) -> None:
    examples = check == "answers train"
    fails = "json.loads(payload['candidate'])  # a real one is JSON"
    judge = write_program(tmp_path / "judge.py", [*ANSWERS_THE_SENTINEL, fails])
    result = preflight(f"{judge}", "--json", examples=examples)
    found = findings(result)[check]
    assert (result.status, found["status"]) == (1, "fail")
    assert found["message"].startswith("exit_code: ")
    assert found["message"].endswith("a placeholder: name a real one with --candidate FILE")
    assert "JSONDecodeError" in pasted(found["reproduce"], tmp_path)
    (tmp_path / "real.txt").write_text("{}")
    (tmp_path / "seen").unlink()
    real = preflight(f"{judge}", "--json", "--candidate", "real.txt", examples=examples)
    assert "placeholder" not in real.stdout
    assert "__optimize_anything_preflight__" not in (tmp_path / "seen").read_text()


def test_without_a_candidate_the_sentinel_comes_first_then_placeholders_vary(
    preflight: Cli, tmp_path: Path
) -> None:
    judge = write_program(tmp_path / "judge.py", [*ANSWERS_THE_SENTINEL, "print('{\"score\": 0.5}')"])
    result = preflight(f"{judge}", "--json", "--task-model", "m", examples=False)
    assert result.status == 0, result.stdout
    seen = (tmp_path / "seen").read_text().splitlines()
    assert seen[0] == "__optimize_anything_preflight__ m"
    assert seen.count(seen[0]) == 1
    assert len({line for line in seen[1:] if line.endswith(". m")}) == 3
    (one,) = result.json["evaluators"]
    assert one["estimate"]["calls"] == 1


def test_every_task_model_of_a_sweep_is_tried(cli: Cli, tmp_path: Path) -> None:
    lines = [
        f"#!{sys.executable} -S",
        "import json, sys",
        "print(json.dumps({'score': {'a': 0.5}[json.load(sys.stdin)['task_model']]}))",
    ]
    write_program(tmp_path / "judge.py", lines)
    (tmp_path / "data.jsonl").write_text('{"x": 1}\n')
    (tmp_path / "sweep.toml").write_text(
        '[run]\ndataset = "data.jsonl"\ntask_models = ["a", "b"]\n[[evaluator]]\ncommand = "./judge.py"\n'
    )
    result = cli("preflight", "sweep.toml", "--json")
    assert result.status == 1
    found = findings(result)
    assert (found["answers train a"]["status"], found["answers train b"]["status"]) == ("pass", "fail")
    assert "KeyError" in pasted(found["answers train b"]["reproduce"], tmp_path)


def test_the_long_candidate_is_not_in_the_times() -> None:
    on = Examined(
        spec=parse_evaluator(f"{PROGRAMS}/good.sh", EvaluatorSpec()),
        material=Material(splits={"single": (Payload(candidate="x"),)}, calls=1, slots=1),
        until=time.monotonic() + 30,
    )
    (look,) = (look for name, _, look in CHECKS if name == "odd candidates")
    assert [check.status for check in look(on, "odd candidates")] == ["pass"]
    assert on.seconds == []


@pytest.mark.parametrize("persistent", [True, False])
@need("perl")
def test_only_a_program_that_is_started_for_each_call_is_called_to_tell_its_speed(
    *, persistent: bool
) -> None:
    on = Examined(
        spec=replace(parse_evaluator(f"{PROGRAMS}/five_lines.pl", EvaluatorSpec()), persistent=persistent),
        material=Material(splits={"single": (Payload(candidate="x"),)}, calls=1, slots=1),
        until=time.monotonic() + 100,
        seconds=[0.001],
    )
    (look,) = (look for name, _, look in CHECKS if name == "speed")
    assert [check.status for check in look(on, "speed")] == [CheckStatus.PASS]
    assert (len(on.seconds) > 1) == (not persistent)


@need("perl")
def test_a_version_managers_shim_is_named_as_what_costs_time(preflight: Cli, tmp_path: Path) -> None:
    shims = tmp_path / ".pyenv" / "shims"
    shims.mkdir(parents=True)
    (shims / "myperl").symlink_to(str(shutil.which("perl")))
    result = preflight(
        f"myperl {PROGRAMS}/five_lines.pl", "--json", env={"PATH": f"{shims}:{os.environ['PATH']}"}
    )
    found = findings(result)["speed"]
    assert (found["status"], found["reproduce"]) == ("warn", "pyenv which myperl")
    assert "is a shim" in found["message"]
