"""`--sandbox`: in what the code of tasks in YAML runs, through every way in."""

import json
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import UsageError, bench, sweep
from optimize_eval.tasks.code import enclosed
from tests.cli import defined
from tests.cli.benches import model
from tests.cli.prompted import COUNTED, RIGHT, calls
from tests.front_door import Cli
from tests.weaker import with_layers, with_sandbox_that

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

RUN = ("run", "-e", "task:sums.yaml", "--model", "m=cmd:./m", "--dataset", "sums.jsonl", "--out", "r")
TRY = """
def got():
    import os, socket
    ways = [
        lambda: open({secret!r}).read(),
        lambda: open({secret!r} + ".written", "w").close(),
        lambda: os.listdir({folder!r}),
        lambda: socket.socket().bind(("127.0.0.1", 0)),
        lambda: os.kill(os.getppid(), 0) if os.getppid() > 1 else 1 / 0,
        lambda: os.environ["HARMLESS"],
    ]
    count = 0
    for way in ways:
        try:
            way()
            count += 1
        except Exception:
            pass
    return count
"""
TASK = """\
key: sums
display_name: Sums
description: Code that tries to get at what is the user's.
definition:
  dataset: {{key: sums}}
  solver:
    type: python
    run_solver_snippet: |
{solver}
  scorers:
    - key: right
      type: python
      compute_scores_snippet: |
{scorer}
      metrics:
        - type: python
          key: own
          compute_metrics_snippet: |
{metric}
    - key: all
      type: python_all_samples
      compute_scores_snippet: |
{every}
"""
SOLVER = """
async def run_solver(sample, model, trace):
    trace.append_user_message(sample["question"])
    trace.add_model_response(await model.predict(trace.items))
    trace.append_user_message(f"got {got()}")
    return trace
"""
SCORER = """
def compute_scores(sample, solver_output):
    said = solver_output.messages[-1]["content"]
    return {"score": 1, "solver": int(said.removeprefix("got ")), "scorer": got()}
"""
EVERY = "\ndef compute_scores(samples): return [{'score': 1, 'got': got()} for _ in samples]\n"
METRIC = "\ndef compute_metrics(scores): return {'got': got()}\n"
SYSTEM = """\
key: up
display_name: Up
description: Whether it runs.
definition:
  type: system_task
  compute_evidence_snippet: |
{code}
"""
EVIDENCE = '\ndef compute_evidence(): return {"metrics": {"got": {"value": got()}}}\n'
SOLVING = """\
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ candidate }} {{ sample.question }}"}]
"""
HELD, OPEN = 0, 6


def write(folder: Path) -> None:
    """Write a task of code alone, its samples, and a model."""
    (folder / "secret").write_text("secret")
    parts = {"solver": (SOLVER, 6), "scorer": (SCORER, 8), "every": (EVERY, 8), "metric": (METRIC, 12)}
    written = {name: trying(folder, code, depth) for name, (code, depth) in parts.items()}
    (folder / "sums.yaml").write_text(TASK.format(**written))
    (folder / "up.yaml").write_text(SYSTEM.format(code=trying(folder, EVIDENCE, 4)))
    defined.samples(folder, 2)
    model(folder / "m", RIGHT)


def trying(folder: Path, code: str, depth: int) -> str:
    ways = TRY.format(secret=str(folder / "secret"), folder=str(folder))
    return textwrap.indent(ways + code, " " * depth).lstrip("\n")


def values(folder: Path) -> list[Any]:
    """List what each piece of code of each row got, and each metric."""
    found = []
    for line in (folder / "r" / "journal.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record.get("outcome") == "scored":
            told = record["side_info"]["scores"]
            found += [told[name] for name in ("solver", "scorer", "got") if name in told]
        elif "metric" in record:
            found.append(record["value"])
    return found


@pytest.mark.parametrize(
    ("options", "got"), [((), OPEN), (("--sandbox", "strict"), HELD)], ids=["none", "strict"]
)
def test_a_level_is_kept_for_each_piece_of_a_tasks_code(
    cli: Cli, tmp_path: Path, options: tuple[str, ...], got: int
) -> None:
    write(tmp_path)
    environment = {**COUNTED, "HARMLESS": "x"}
    done = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r", *options, env=environment)
    assert done.status == 0, done.stderr
    assert values(tmp_path) == [got] * 7, "of two rows the solver and both scorers, and the metric"
    assert calls(tmp_path) == 2, "the solver's model is called, from outside"
    again = cli(*RUN[:-1], "other", *options, env=environment)
    assert again.status == 0, again.stderr
    (tmp_path / "r").rename(tmp_path / "bench")
    (tmp_path / "other").rename(tmp_path / "r")
    assert values(tmp_path) == [got] * 7
    kept = json.loads((tmp_path / "r" / "run.json").read_bytes())["settings"].get("code", [])
    assert [(one["sandbox"], one["missing"]) for one in kept] == ([] if got else [("strict", [])])


def test_a_system_task_is_enclosed_too(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    done = cli("bench", "up.yaml", "--out", "r", "--sandbox", "strict")
    assert (done.status, values(tmp_path)) == (0, [HELD]), done.stderr


def test_another_level_leaves_scores_as_they_are_and_reports_say_so(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*RUN, env=COUNTED).status == 0
    strict = cli(*RUN, "--sandbox", "strict", env=COUNTED)
    assert (strict.status, calls(tmp_path)) == (0, 2), strict.stderr
    assert values(tmp_path)[0] > HELD, "what was scored is not called again"
    layer = min(enclosed("strict").layers)
    words = f"did not run in the same way for all that this run has: with the user's rights; strict: {layer}"
    assert words in " ".join(cli("report", "r").stdout.split())
    fresh = cli(*RUN, "--sandbox", "strict", "--fresh", env=COUNTED)
    assert "in the same way" not in " ".join(fresh.stdout.split())


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [("none", "strict", "with the user's rights"), ("strict", "none", "strict"), ("strict", "strict", "")],
)
def test_what_reused_scores_ran_in_is_not_what_this_session_says(
    cli: Cli, tmp_path: Path, first: str, second: str, told: str
) -> None:
    write(tmp_path)
    assert cli(*RUN[:-1], "other", "--sandbox", first, env=COUNTED).status == 0
    reused = cli(*RUN, "--sandbox", second, "--reuse", "other", env=COUNTED)
    assert (reused.status, calls(tmp_path)) == (0, 2), reused.stderr
    note = f"note: code ran otherwise in other, of which scores are reused: {told}"
    assert (note in " ".join(reused.stderr.split())) == bool(told)
    report = " ".join(cli("report", "r").stdout.split())
    assert ("did not run in the same way for all that this run has" in report) == bool(told)
    kept = json.loads((tmp_path / "r" / "run.json").read_bytes())["settings"].get("code", [])
    assert [one["sandbox"] for one in kept] == ([second, first] if told else [first])


@pytest.mark.parametrize("edited", ["x", ["x"], {"a": 1}, [{"sandbox": "strict", "missing": [1]}]], ids=repr)
def test_what_nobody_wrote_about_levels_is_no_level(cli: Cli, tmp_path: Path, edited: Any) -> None:
    (tmp_path / "up.yaml").write_text(SYSTEM.format(code=trying(tmp_path, EVIDENCE, 4)))
    assert cli("bench", "up.yaml", "--out", "r").status == 0
    path = tmp_path / "r" / "run.json"
    document = json.loads(path.read_bytes())
    path.write_text(json.dumps({**document, "settings": {**document["settings"], "code": edited}}))
    for command in (("report", "r"), ("bench", "up.yaml", "--out", "r")):
        told = cli(*command)
        assert told.status == 0, told.stderr
        assert "the tasks' code" not in told.stdout


def test_changed_metrics_and_added_scorers_are_enclosed(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    assert cli(*RUN, env=COUNTED).status == 0
    task = tmp_path / "sums.yaml"
    task.write_text(task.read_text().replace("{'got': got()}", "{'now': got()}"))
    changed = cli("rescore", "r", "--metrics", "sums.yaml", "--sandbox", "strict")
    assert changed.status == 0, changed.stderr
    assert values(tmp_path)[-1] == HELD
    (tmp_path / "o.yaml").write_text(
        "key: o\ndisplay_name: O\ndescription: O.\ndefinition:\n  evaluated_entity_type: dataset\n"
        "  scorers:\n    - key: k\n      type: python\n      compute_scores_snippet: |\n"
        + trying(tmp_path, "\ndef compute_scores(sample): return {'score': 1, 'got': got()}\n", 8)
    )
    added = cli("rescore", "r", "-e", "task:o.yaml", "--sandbox", "strict")
    assert added.status == 0, added.stderr
    assert values(tmp_path)[-2:] == [HELD] * 2


def test_strict_is_refused_before_anything_is_called_and_best_effort_says_what_is_missing(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path)
    with with_layers(("seccomp", "rlimits"), tmp_path):
        for command in (
            RUN,
            ("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r"),
            (*RUN, "--dry-run"),
        ):
            refused = cli(*command, "--sandbox", "strict", env=COUNTED)
            assert (refused.status, calls(tmp_path)) == (2, 0)
            assert (
                "the tasks' code is not run: the sandbox would not be strict; missing: files"
                in refused.stderr
            )
            assert not (tmp_path / "r").exists()
        done = cli(*RUN, "--sandbox", "best-effort", env=COUNTED)
        assert "note: the sandbox of the tasks' code is not whole: files: the files of this" in done.stderr
    assert values(tmp_path) == [3] * 7, "files are what nothing keeps"
    words = "the tasks' code ran in a sandbox (best-effort: rlimits, seccomp) that is not whole: files: the"
    for told in (done.stdout, cli("report", "r").stdout, cli("report", "r", "--format", "md").stdout):
        assert words in " ".join(told.split())
    assert cli("report", "r", "--check").status == 0


def test_a_sweep_file_and_python_have_it_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    (tmp_path / "s.toml").write_text(
        '[run]\ndataset = "sums.jsonl"\nmodels = ["m=cmd:./m"]\nout = "r"\nsandbox = "strict"\n'
        '[[evaluator]]\ntask = "sums.yaml"\n'
    )
    assert cli("run", "s.toml").status == 0
    assert values(tmp_path) == [HELD] * 7
    monkeypatch.chdir(tmp_path)
    with with_layers(("rlimits",), tmp_path):
        with pytest.raises(UsageError, match="not be strict"):
            sweep("task:sums.yaml", models="m=cmd:./m", dataset="sums.jsonl", out="a", sandbox="strict")
        with pytest.raises(UsageError, match="not be strict"):
            bench("sums.yaml", "m=cmd:./m", out="b", sandbox="strict")


def test_a_search_is_refused_too(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    task = tmp_path / "sums.yaml"
    task.write_text(
        task.read_text().split("  solver:")[0]
        + SOLVING
        + "  scorers:"
        + task.read_text().split("  scorers:")[1]
    )
    (tmp_path / "seed.txt").write_text("Say")
    (tmp_path / "propose.py").write_text("")
    search = (
        *("optimize", "-e", "task:sums.yaml", "--model", "m=cmd:./m"),
        *("--candidate", "seed.txt", "--out", "r"),
    )
    data = ("--dataset", "sums.jsonl", "--proposer", "python3 propose.py", "--sandbox", "strict")
    with with_layers(("rlimits",), tmp_path):
        refused = cli(*search, *data, env=COUNTED)
    assert (refused.status, calls(tmp_path)) == (2, 0), refused.stderr
    assert "the sandbox would not be strict" in refused.stderr


def test_what_runs_no_code_is_not_concerned(cli: Cli, tmp_path: Path) -> None:
    defined.task(tmp_path)
    with with_layers((), tmp_path):
        assert cli(*defined.command("--sandbox", "strict")).status == 0
    (tmp_path / "c.txt").write_text("x")
    for command in (("run", "--candidate", "c.txt", "--dataset", "sums.jsonl"), ("rescore", "r")):
        refused = cli(*command, "-e", "true", "--sandbox", "strict")
        assert (refused.status, "--sandbox is for code" in refused.stderr) == (2, True)


def test_code_that_models_write_runs_at_the_level_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"io_pairs": [[1, 2]], "code": "def f(x): return 2 * x"}\n')
    options = ("--candidate-field", "code", "--dataset", "d.jsonl", "--sandbox", "none", "--out", "r")
    done = cli("run", "-e", "@code_exec", *options)
    assert done.status == 0, done.stderr
    records = map(json.loads, (tmp_path / "r" / "journal.jsonl").read_text().splitlines())
    (record,) = [one for one in records if "outcome" in one]
    assert (record["score"], record["side_info"]["layers"]) == (1, [])
    kept = json.loads((tmp_path / "r" / "run.json").read_bytes())
    assert [one["text"] for one in kept["evaluators"]] == ["@code_exec --sandbox none"]


def test_the_metric_of_a_task_in_jsonl_that_runs_code_does_so_at_the_level(cli: Cli, tmp_path: Path) -> None:
    line = {"id": "a", "prompt": "Double x", "targets": ["f(1) == 2"], "metric": "code_exec@assertions"}
    (tmp_path / "t.jsonl").write_text(json.dumps(line) + "\n")
    model(tmp_path / "m", repr("def f(x): return 2 * x"))
    (tmp_path / "c.txt").write_text("Write")
    options = ("--task-model", "cmd:./m", "--candidate", "c.txt", "--dataset", "t.jsonl", "--sandbox", "none")
    done = cli("run", "-e", "task:t.jsonl", *options, "--out", "r")
    assert done.status == 0, done.stderr
    assert '"layers":[]' in (tmp_path / "r" / "journal.jsonl").read_text()


def test_a_board_says_what_its_code_ran_in(cli: Cli, tmp_path: Path) -> None:
    defined.task(tmp_path, defined.TASK + defined.SNIPPET)
    with with_layers(("seccomp", "rlimits"), tmp_path):
        options = ("--sandbox", "best-effort", "--limit", "2", "--out", "r")
        told = cli("bench", "sums.yaml", "--model", "m=cmd:./m", *options)
        looked = cli("preflight", *defined.command("--sandbox", "strict")[1:])
    assert told.status == 0, told.stderr
    words = "! the tasks' code ran in a sandbox (best-effort: rlimits, seccomp) that is not whole: files"
    assert words in " ".join(told.stdout.split())
    assert (looked.status, "would not be strict" in looked.stderr) == (2, True), looked.stderr


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (
            "echo 'bwrap: Creating new namespace failed: No space left on device' >&2; exit 1",
            "start_failed",
            "the sandbox of compute_evidence did not start: bwrap: Creating new namespace failed: No space",
        ),
        ("echo oh >&2; exit 3", "killed", "compute_evidence is gone: it ended with exit status 3: oh"),
        ("exit 139", "killed", "compute_evidence is gone: it ended by SIGSEGV"),
        ("kill -9 $$", "killed", "compute_evidence is gone: it ended by SIGKILL"),
        ("echo landlock: no; exit 1", "start_failed", "compute_evidence did not start: landlock: no"),
        (
            "echo oh; while read -r _; do :; done",
            "killed",
            'is gone: a line on stdout line 1 is not JSON: "oh"',
        ),
    ],
    ids=["bubblewrap", "status", "crash", "kill", "layer", "noise"],
)
def test_a_sandbox_that_fails_later_is_told_by_what_it_says(
    cli: Cli, tmp_path: Path, script: str, kind: str, words: str
) -> None:
    (tmp_path / "up.yaml").write_text(SYSTEM.format(code=trying(tmp_path, EVIDENCE, 4)))
    with with_sandbox_that(script, tmp_path):
        done = cli("bench", "up.yaml", "--out", "r", "--sandbox", "strict", "--retries", "0")
    (record,) = [
        one
        for one in map(json.loads, (tmp_path / "r" / "journal.jsonl").read_text().splitlines())
        if "outcome" in one
    ]
    assert (done.status, record["kind"]) == (4, kind), done.stderr
    assert words in record["message"]
    assert ("memory" in done.stderr) == ("SIGKILL" in words), done.stderr


@pytest.mark.parametrize("mechanism", [(), ("namespaces",)])
def test_code_has_a_folder_for_files_of_its_own_in_every_set_of_layers(
    cli: Cli, tmp_path: Path, mechanism: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    code = """\
        import os, tempfile
        def compute_evidence():
            folder = tempfile.mkdtemp()
            with open(folder + "/a", "w") as file: file.write("x")
            assert os.listdir() and os.path.samefile(os.path.dirname(folder), ".")
            return {"metrics": {"kept": {"value": 1}}}
    """
    (tmp_path / "up.yaml").write_text(SYSTEM.format(code=textwrap.indent(textwrap.dedent(code), "    ")))
    with with_layers((*mechanism, "landlock", "seccomp", "rlimits", "uid"), tmp_path):
        done = cli("bench", "up.yaml", "--out", "r", "--sandbox", "strict", "--retries", "0")
    assert done.status == 0, done.stderr
    assert not list((tmp_path / "temporary").iterdir()), "the folder ends with the code"
