"""What calls models on a Ray cluster calls them as often as here, by the pace and caps of its driver."""

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.folders import FolderFleet
from tests.cluster.raylets import Raylets, keys_of, summary_of
from tests.fake_model import StartModel
from tests.front_door import Cli
from tests.serving import serving
from tests.tools import need_module

pytestmark = [need_module("ray"), pytest.mark.xdist_group("ray")]

MODEL = """#!/bin/sh
read -r line
echo x >> calls
echo "{\\"text\\": \\"${#line}\\", \\"usage\\": {\\"prompt_tokens\\": 3, \\"cost\\": 0.01}}"
"""
LENGTH = """#!/bin/sh
read -r line
echo "{\\"score\\": 0.$((${#line} % 10))}"
"""
PROPOSER = """#!/bin/sh
read -r line
echo '{"candidate": "aaaaaaaa"}'
"""
TASK = """
key: same
display_name: Same
description: Same.
definition:
  evaluated_entity_type: dataset
  scorers:
    - key: unique
      type: python_all_samples
      compute_scores_snippet: |
        def compute_scores(samples):
            return [{"n": len(samples)} for _ in samples]
      metrics:
        - type: mean
          field: n
          name: N
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"model.sh": MODEL, "length.sh": LENGTH, "propose.sh": PROPOSER}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    rows = [json.dumps({"id": f"e{n}", "n": "n" * n, "targets": [str(40 + n)]}) for n in range(1, 13)]
    (tmp_path / "d.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "p.txt").write_text("Say {{n}}")
    (tmp_path / "q.txt").write_text("Please say {{n}}")
    return tmp_path


PROMPTS = ("run", "--prompt", "p.txt", "--prompt", "q.txt", "--model", "m=cmd:./model.sh", "--model", "toy")
SCORED = ("-e", "@exact_match", "-e", "@f1", "--dataset", "d.jsonl", "-q")


def test_prompts_and_models_make_one_call_for_each_reply_whoever_scores_it(
    program: Cli, project: Path, cluster: Raylets
) -> None:
    assert program(*PROMPTS, *SCORED, "--out", "here").status == 0
    (project / "calls").unlink()
    there = program(*PROMPTS, *SCORED, "--out", "there", *cluster.options, env=cluster.env)
    assert there.status == 0, there.stderr
    assert len((project / "calls").read_text().split()) == 24
    assert without_seconds(summary_of(project / "there")) == without_seconds(summary_of(project / "here"))
    assert replies_in(project / "there") == replies_in(project / "here")


PREFLIGHT = ("preflight", *PROMPTS[1:], *SCORED[:-1], "--json", "--engine", "ray")


def test_preflight_names_the_file_of_a_model_that_nodes_have_another_one_of(
    program: Cli, project: Path, cluster: Raylets
) -> None:
    (project / "copied").mkdir()
    (project / "copied" / "model.sh").write_text(MODEL.replace("0.01", "0.02"))
    done = program(*PREFLIGHT, "--address", cluster.address, "--working-dir", "copied", env=cluster.env)
    said = [node["checks"][0]["message"] for node in done.json["nodes"]]
    assert (done.status, len(said)) == (1, 2), done.stderr
    assert all(words.startswith("model.sh of m is missing or another one in ") for words in said)


def test_nodes_that_have_the_models_pass_preflight_and_call_none_of_them(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = FolderFleet(dict.fromkeys(("one", "other"), project))
    monkeypatch.setattr("optimize_eval.run.ray_engine.RayFleet", lambda *_: fleet)
    done = cli(*PREFLIGHT, "--address", "here:1")
    assert (done.status, [node["ok"] for node in done.json["nodes"]]) == (0, [True, True]), done.stderr
    assert len((project / "calls").read_text().split()) == 1  # of the driver's


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_seconds(item) for key, item in value.items() if key != "seconds"}
    return value


def replies_in(run: Path) -> dict[str, str]:
    lines = map(json.loads, (run / "outputs.jsonl").read_text().splitlines()[1:])
    return {line["key"]: line["output"] for line in lines}


def test_a_cap_on_money_holds_over_all_nodes_and_what_was_replied_is_scored(
    program: Cli, project: Path, cluster: Raylets
) -> None:
    capped = (
        *PROMPTS[:3],
        *PROMPTS[5:7],
        *SCORED,
        "--max-cost",
        "0.02",
        "--out",
        "r",
        "--slots-per-node",
        "1",
    )
    done = program(*capped, *cluster.options[:-2], "--chunk", "1", "--inflight", "1", env=cluster.env)
    assert (done.status, "over budget" in done.stderr) == (3, True), done.stderr
    calls = len((project / "calls").read_text().split())
    records = [json.loads(line) for line in (project / "r" / "journal.jsonl").read_text().splitlines()]
    assert len([record for record in records if record.get("outcome") == "scored"]) == 2 * calls < 24


class Crowded(ThreadingHTTPServer):
    """A model that notes when it was asked and how many calls it had at once; the second one is refused."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.lock = threading.Lock()
        self.inside = self.most = 0
        self.times: list[float] = []


class Asked(BaseHTTPRequestHandler):
    server: Crowded

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.times.append(time.monotonic())
            self.server.inside += 1
            self.server.most = max(self.server.most, self.server.inside)
            is_full = len(self.server.times) == 2
        time.sleep(0.02)  # as long as a call takes
        with self.server.lock:
            self.server.inside -= 1
        said = json.dumps({"choices": [{"message": {"content": "41"}}]}).encode()
        self.send_response(429 if is_full else 200)
        self.send_header("Content-Length", str(len(said)))
        self.send_header("Retry-After-Ms", "500")
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None: ...


CROWDED = """
[run]
engine = "ray"
address = "{address}"
chunk = 1
prompts = ["p.txt"]
dataset = "d.jsonl"
out = "r"
{run}
[[model]]
name = "m"
model = "vllm/m"
base = "{base}"
{model}
[[evaluator]]
use = "@exact_match"
"""


@pytest.mark.parametrize(("run", "model"), [("", "concurrency = 1"), ("rpm = 1200", "")])
def test_a_sweep_file_has_one_pace_and_one_patience_over_all_nodes(
    program: Cli, project: Path, cluster: Raylets, run: str, model: str
) -> None:
    with serving(Crowded()) as server:
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        text = CROWDED.format(address=cluster.address, base=base, run=run, model=model)
        (project / "sweep.toml").write_text(text)
        done = program("run", "sweep.toml", "--no-preflight", env=cluster.env)
    assert done.status == 0, done.stderr
    assert done.stderr.count("m was full 1 time; its calls waited for it") == 1
    first, _, third, *rest = times = server.times
    assert len(times) == 13
    if model:
        assert server.most == 1
        assert third - times[1] >= 0.5
    else:
        assert rest[-1] - first >= 11 * 0.05


JUDGED = """
[run]
candidates = ["p.txt", "q.txt"]
dataset = "d.jsonl"
rpm = 1200
[[evaluator]]
name = "warm"
judge = "vllm/judge"
objective = "It greets warmly"
api_base = "{base}"
"""


def test_a_judge_has_one_pace_and_one_cap_over_all_nodes_and_says_what_it_says_here(
    program: Cli, project: Path, cluster: Raylets, fake_model: StartModel
) -> None:
    reply = {
        "json": {"reasoning": "r", "score": 0.25},
        "usage": {"prompt_tokens": 90, "completion_tokens": 10},
    }
    server = fake_model([reply])
    (project / "judged.toml").write_text(JUDGED.format(base=server.base))
    sweep = ("run", "judged.toml", "--no-preflight", "-q")
    assert program(*sweep, "--out", "here").status == 0
    began = time.monotonic()
    done = program(*sweep, "--out", "there", *cluster.options, "--chunk", "1", env=cluster.env)
    assert (done.status, len(server.requests())) == (0, 2 * 24), done.stderr
    assert time.monotonic() - began >= 23 * 0.05, "twenty a second"
    assert without_seconds(summary_of(project / "there")) == without_seconds(summary_of(project / "here"))
    capped = program(
        *sweep, "--max-tokens-total", "500", "--out", "capped", *cluster.options, env=cluster.env
    )
    scored = keys_of(project / "capped")
    assert (capped.status, len(scored)) == (3, len(server.requests()) - 2 * 24), capped.stderr
    assert 5 <= len(scored) < 24, "what was asked for when the cap was reached may end"


def test_both_kinds_of_benches_have_the_summary_of_one_here(
    program: Cli, project: Path, cluster: Raylets
) -> None:
    (project / "task.yaml").write_text(TASK)
    tasks = [{"id": f"t{n}", "prompt": str(n), "targets": ["a"], "metric": "exact_match"} for n in range(6)]
    (project / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    for name, asked in {
        "lines": ("tasks.jsonl", "--model", "toy", "--model", "silent"),
        "yaml": ("task.yaml", "--data", "dataset=d.jsonl", "--sandbox", "none"),
    }.items():
        for where, options in {"here": (), "there": cluster.options}.items():
            done = program("bench", *asked, "-q", "--out", f"{name}-{where}", *options, env=cluster.env)
            assert done.status == 0, done.stderr
        assert summary_of(project / f"{name}-there") == summary_of(project / f"{name}-here")


def test_a_search_and_its_final_sweep_find_what_they_find_here(
    program: Cli, project: Path, cluster: Raylets
) -> None:
    data = (
        "--dataset",
        "d.jsonl",
        "--valset",
        "d.jsonl",
        "--leaks",
        "keep",
        "--budget",
        "60",
        "--objective",
        "x",
    )
    asked = (
        "optimize",
        "p.txt",
        "-e",
        "./length.sh",
        "--proposer",
        "./propose.sh",
        "--objective",
        "x",
        *data,
    )
    results = []
    for where, options in {"here": (), "there": cluster.options}.items():
        results.append(program(*asked, "--out", where, *options, "--json", env=cluster.env))
    assert results[0].status == results[1].status
    here, there = ((project / where / "search.json").read_text() for where in ("here", "there"))
    assert json.loads(here)["best"] == json.loads(there)["best"]
    assert summary_of(project / "there") == summary_of(project / "here")


SWEEP = """
from judge import score
from optimize_eval import sweep
run = sweep([score, "./length.sh"], {"a": "x"}, dataset="d.jsonl", out="r", engine="ray", address=%r)
print(run.exit_code, len(run.records))
"""


def test_a_call_from_python_takes_functions_of_modules_that_nodes_find(
    project: Path, cluster: Raylets
) -> None:
    (project / "judge.py").write_text("def score(candidate, example):\n    return len(example['n']) / 12\n")
    (project / "call.py").write_text(SWEEP % cluster.address)
    told = subprocess.run(
        [sys.executable, "call.py"],
        cwd=project,
        env={**os.environ, **cluster.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout == "0 24\n", told.stderr
