"""Identities are in every run.json and in every key of a journal: they never change by a byte.

Each digest below was made before a specification had a target. What stands for shipped metrics is ours, as
those files are part of what such an evaluator is.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.base import shipped
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.config.sweep_files import read_evaluator, spec_of
from optimize_eval.evaluators.function_kind import function_spec
from optimize_eval.evaluators.kinds import identify
from optimize_eval.run.bench import Benchmark
from optimize_eval.run.prompting import identity_of
from optimize_eval.tasks import load_tasks

FILES = {
    "judge.sh": "#!/bin/sh\nread line\necho '{\"score\": 1}'\n",
    "grade.py": "print('{\"score\": 1}')\n",
    "rules.txt": "Be brief.\n",
    "rubric.toml": 'objective = "Helps"\ntemperature = 0\n[dimensions]\nclarity = 2\ntone = 1\n',
    "outputs.jsonl": '{"model": "m", "id": "t", "output": "x"}\n',
    "tasks.jsonl": '{"id": "t", "prompt": "Say x", "targets": ["x"], "metric": "f1"}\n',
    "f1.py": "import _metric\n",
    "_metric.py": "score = 1\n",
    "models.toml": '[[model]]\nname = "mine"\nmodel = "openai/m"\ntop_p = 0.5\nsystem = "Be brief."\n',
}
EVALUATORS: Mapping[str, Mapping[str, Any]] = {
    "program": {"command": "./judge.sh --strict"},
    "script": {"command": ["python3", "-u", "grade.py", "--rules=rules.txt"]},
    "words that are paths": {"command": ["/bin/sh", "-c", "cat /dev/null", "/nowhere/else.txt"]},
    "environment": {"command": "./judge.sh", "env": {"B": "2", "A": "${HOME}"}, "timeout": 3},
    "not UTF-8": {"command": ["./judge.sh", "\udcff"]},
    "secret": {"command": "./judge.sh --api-key=sk-abcdefghijklmnopqrstuvwx"},
    "URL": {"url": "http://127.0.0.1:8000/score"},
    "URL with a query": {"url": "https://me:secret@example.org/score?key=1&b=2", "headers": {"X": "y"}},
    "judge": {"judge": "openai/gpt-4o-mini", "objective": "It helps", "temperature": 0.5, "seed": 7},
    "judge elsewhere": {"judge": "m/n@http://127.0.0.1:1/v1", "objective": "It helps", "max_tokens": 9},
    "judge with a rubric": {"judge": "openai/m", "rubric": "rubric.toml"},
    "shipped": {"use": "@f1 --x"},
    "task": {"task": "tasks.jsonl"},
    "function of a file": {"function": "grade.py:score"},
    "judge of some": {"judge": "openai/m", "objective": "o", "shows": ["a", "b"], "hides": "c", "human": "h"},
}
MODELS = {
    "cmd": "cmd:python3 grade.py --fast",
    "http": "http://127.0.0.1:8000/model?v=2",
    "replay": "replay:outputs.jsonl",
    "replay one": "replay:outputs.jsonl#m",
    "toy": "toy",
    "provider": "openai/gpt-4o-mini",
    "table": "models.toml",
}
DIGESTS = {
    "program": "2cee0194449ca1f6",
    "script": "bccd7316c7dfb308",
    "words that are paths": "eb2a92d5c5073851",
    "environment": "50d74d42dd2e2025",
    "not UTF-8": "73f46c60fc4758a8",
    "secret": "f1943e34e06ffef9",
    "URL": "c97d3e2aec9ae041",
    "URL with a query": "c75d0b7e692311aa",
    "judge": "34eec246311658bd",
    "judge elsewhere": "5dbeb45b517e9430",
    "judge with a rubric": "0fd1f38a19d412ea",
    "shipped": "6580c6d2aed93bcc",
    "task": "6f0aeb4db479660d",
    "function of a file": "031bf1148148575f",
    "judge of some": "0193438857dd6017",
    "cmd": "a0b4afd361d65dd1",
    "http": "9124967d8f1caa96",
    "replay": "d84ba4a8fbfaea44",
    "replay one": "62a2d71d5125f59b",
    "toy": "5661ef430a8dd15e",
    "provider": "f169e6c6652b6d12",
    "table": "489ffba4c4f4b7ae",
    "task of a bench": "4a84e2abe1d702ca",
    "judge hiding": "6daa985bbca4717c",
    "function": "471382070a612aaf",
    "function, environment": "47b757f2bb970c53",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("judge.sh", "grade.py"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shipped, "path", lambda _name: tmp_path)
    return tmp_path


def digest(identity: Any) -> str:
    return hashlib.sha256(orjson.dumps(identity.to_dict(), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


@pytest.mark.usefixtures("project")
def test_an_evaluator_is_what_it_was() -> None:
    found = {
        name: digest(identify(spec_of(read_evaluator(table, "e"), EvaluatorSpec(), {})))
        for name, table in EVALUATORS.items()
    }
    assert found == {name: DIGESTS[name] for name in EVALUATORS}


@pytest.mark.usefixtures("project")
def test_a_model_of_a_bench_is_what_it_was() -> None:
    """By this its replies are found in outputs.jsonl."""
    how = EvaluatorSpec(environment={"A": "1"})
    bench = Benchmark(files=(), models=list(MODELS.values()), how=how, temperature=0.5, max_tokens=9)
    models = bench.model_specs(Path("run"))
    found = {name: identity_of(model).sha256[:16] for name, model in zip(MODELS, models, strict=True)}
    assert found == {name: DIGESTS[name] for name in MODELS}
    (scorer,) = bench.scorers([load_tasks("tasks.jsonl")], models)
    assert digest(identify(scorer)) == DIGESTS["task of a bench"]


@pytest.mark.usefixtures("project")
def test_a_judge_that_is_not_shown_rivals_is_what_it_was() -> None:
    judge = spec_of({"judge": "openai/m", "objective": "o", "hides": ("c",)}, EvaluatorSpec(), {})
    assert digest(identify(judge.hiding(["b", "c"]))) == DIGESTS["judge hiding"]


def test_a_function_is_what_it_was() -> None:
    plain, chosen = EvaluatorSpec(), EvaluatorSpec(environment={"A": "1"})
    assert identify(function_spec(len, plain)).sha256[:16] == DIGESTS["function"]
    assert identify(function_spec(len, chosen)).sha256[:16] == DIGESTS["function, environment"]
