"""A whole run of tasks: a kept-alive program as the model, outputs written down, a kept-alive metric."""

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.data.datasets import load_examples
from optimize_eval.evaluators.task_kind import of_records
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.run.begin_or_resume import open_run
from optimize_eval.run.bench import bench_plan
from optimize_eval.run.host import Stop
from optimize_eval.run.live import LiveEvaluators
from optimize_eval.run.plan import document_of
from optimize_eval.run.prompting import identified, model_of
from optimize_eval.run.runner import Runner, Settings
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.folder import JOURNAL, OUTPUTS, hold_lock
from optimize_eval.tasks import load_tasks
from optimize_eval.tasks.targets import RecordTask
from tests.benchmarks.measure import PROGRAMS, Row, median_of, own_cpu
from tests.benchmarks.whole import Spent, spend

TASKS = 10_000


def own_cpu_per_task() -> Row:
    seconds = median_of(_measured, rounds=3)
    return Row(what="10,000 tasks, kept-alive `cmd:` model: own CPU", value=seconds, bar=300, unit=" µs")


def bench_cpu_per_task() -> Row:
    """Count everything from the command's start to its board."""
    seconds = median_of(lambda: _bench(files=1).own, rounds=3)
    what = "`bench`, 10,000 tasks, kept-alive `cmd:` model, start to end: own CPU per task"
    return Row(what=what, value=seconds / TASKS * 1e6, bar=300, unit=" µs")


def bench_memory_growth() -> Row:
    growth = _bench(files=2).peak / _bench(files=1).peak
    what = "`bench`, 20,000 tasks against 10,000: peak memory"
    return Row(what=what, value=growth, bar=1.35, unit="×")


def _bench(*, files: int) -> Spent:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in range(files):
            path = folder / "tasks" / f"{file}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(_record(number) for number in range(TASKS)))
        model = f"--model=cmd:{sys.executable} {PROGRAMS / 'model.py'}"
        spent = spend(["bench", str(folder / "tasks"), model, f"--out={folder / 'run'}", "--quiet"])
        board = json.loads((folder / "run" / "leaderboard.json").read_bytes())
        assert board["models"][0]["scored"] == files * TASKS, board["models"][0]["errors"]
        return spent


def _measured() -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "tasks.jsonl"
        path.write_text("".join(_record(number) for number in range(TASKS)))
        return own_cpu(lambda: _run(folder, path)) / TASKS * 1e6


def _record(number: int) -> str:
    prompt, target = f"say {number} and then say it again", str(number)
    return json.dumps({"prompt": prompt, "targets": [target], "metric": "substring_contains"}) + "\n"


def _run(folder: Path, path: Path) -> None:
    tasks, how = load_tasks(path), EvaluatorSpec(workers=2)
    model = model_of(f"cmd:{sys.executable} {PROGRAMS / 'model.py'}", ModelSpec(how=how))
    models = (replace(identified(model), outputs=str(folder / OUTPUTS)),)
    metrics = [one.evaluator for one in tasks.tasks]
    scorer = of_records(tasks.name, path.name, metrics, RecordTask(models=models), how, sandbox="")
    (examples,) = load_examples([path])
    source = SplitSource(name=tasks.name, file=path.name, examples=examples)
    plan = bench_plan({tasks.name: [scorer]}, models, [source], repeats=1, seed=0)
    with hold_lock(folder):
        stored = open_run(folder, plan, document_of(plan, {}, {}), fresh=False)
        with LiveEvaluators(plan.specs, stop := Stop()) as live:
            settings = Settings(slots=8)
            runner = Runner(plan, stored.ledger, settings, live, stop=stop, watch=lambda _progress: None)
            ended = runner.run(folder / JOURNAL)
    assert sum(progress.done for progress in ended.progress) == TASKS, ended.reason
