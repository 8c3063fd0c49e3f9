"""Sessions in Python: what a program that imports the package is given."""

from tests.tools.made import examples, rows
from tests.tools.programs import ADDER, CLIMB, PROPOSE
from tests.tools.stage import Stage

_NAMES = """
import inspect, optimize_eval, re

def shape(value):  # without the modules in which names are
    try:
        return re.sub(r"optimize_eval[.][a-z_.]*", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return type(value).__name__

print(optimize_eval.__all__)
for name in optimize_eval.__all__:
    value = getattr(optimize_eval, name)
    print(name, shape(value), inspect.getdoc(value), sep="\\n")
    for part in sorted(set(dir(value)) - set(dir(Exception))) if inspect.isclass(value) else ():
        if not part.startswith("_"):
            member = inspect.getattr_static(value, part)
            print("   ", part, shape(member) if inspect.isfunction(member) else type(member).__name__)
"""
_CALLS = """
import json
from optimize_eval import *
from optimize_eval import EvaluationError, Skipped, UsageError
told = []
run = sweep("judge=python3 -S judge.py", "c/*.txt", dataset="train.jsonl", valset="val.jsonl", out="r",
            concurrency=1, workers=1, persistent=True, fail_under={"judge": 0.9}, note="from Python")
print(run.status, run.exit_code, run.gates, run.notes)
print(repr(run))
print(run.summary.verdict)
loaded = load_run("r")
print(repr(loaded), loaded.summary.to_dict() == run.summary.to_dict())
for record in loaded.records:
    print(json.dumps(dict(record.flat()), default=str))
print(json.dumps(loaded.summary.to_dict()))
board = bench("datasets/tasks/arithmetic.jsonl", "adder=cmd:python3 -S adder.py", out="b", concurrency=1)
print(board.status, json.dumps(board.boards))
for wrong in (
    lambda: sweep("@routing", {"v1": "Be brief."}, repeats=0),
    lambda: sweep("@nobody", {"v1": "Be brief."}),
    lambda: bench("nowhere.jsonl", "toy"),
    lambda: load_run("nowhere"),
    lambda: load_dataset("nowhere.jsonl"),
    lambda: sweep("./judge", "nowhere/*.txt"),
):
    try:
        print(wrong())
    except (UsageError, DataError, OptimizeEvalError, ValueError, TypeError, OSError) as error:
        print(type(error).__name__, error)
with command_evaluator("python3 -S judge.py", timeout=10) as judge:
    for example in load_dataset("train.jsonl"):
        try:
            print(judge("Say it.", example))
        except (EvaluationError, Skipped) as error:
            print(type(error).__name__, getattr(error, "kind", None), error)
print(evaluate(["Paris.", "Rome"], ["paris", "Lyon"], "contains"), label_in_set([" yes "], {"yes"}))
print(has_forbidden("As an AI", ["(?i)as an ai"]), validate_evaluator_payload({"score": 0.5, "a": 1}))
"""
_SEARCH = """
import json
from optimize_eval import optimize

def judge(candidate, example):
    return min(10, len(candidate) // 6 + example["n"] % 3) / 10, {"wants": example["n"]}

found = optimize("seed.txt", judge, dataset="train.jsonl", valset="val.jsonl",
                 proposer="python3 -S propose.py", budget=60, concurrency=1, out="s")
print(found.status, found.exit_code, repr(found.best), found.notes)
print(json.dumps(found.document))
print(repr(found.run))
"""


def public_names(stage: Stage) -> None:
    stage.python(_NAMES)


def calls(stage: Stage) -> None:
    examples(stage)
    stage.write(train_jsonl=rows("t", 8, _1="skip", _2="error", _3="junk"), adder_py=ADDER)
    stage.write(climb_py=CLIMB, propose_py=PROPOSE, seed_txt="Say it.")
    stage.python(_CALLS)
    stage.write(train_jsonl=rows("t", 8))
    stage.python(_SEARCH)
    stage.play("report s")


_KINDS = """\
[run]
dataset = "train.jsonl"
candidates = ["a.txt"]
out = "r"
concurrency = 1
"""
_EVALUATORS = {
    "program": 'command = "./judge.sh --strict"',
    "script": 'command = ["python3", "-S", "grade.py", "--rules=rules.txt"]',
    "environment": 'command = "./judge.sh"\nenv = { B = "2", A = "${HOME}" }\ntimeout = 3',
    "url": 'url = "http://127.0.0.1:1/score"\nretries = 0',
    "query": 'url = "http://127.0.0.1:1/score?key=1&b=2"\nheaders = { X = "y" }\nretries = 0',
    "judged": 'judge = "openai/gpt-4o-mini"\nobjective = "It helps"\ntemperature = 0.5\nseed = 7',
    "elsewhere": 'judge = "m/n@http://127.0.0.1:1/v1"\nobjective = "It helps"\nmax_tokens = 9',
    "rubric": 'judge = "openai/m"\nrubric = "rubric.toml"',
    "shipped": 'use = "@f1 --x"',
}


def identities(stage: Stage) -> None:
    """Plan with every kind of evaluator; keys and identities are in the plan and in the journal."""
    stage.write(
        judge_sh="#!/bin/sh\nread line\necho '{\"score\": 1}'\n", grade_py="print('{\"score\": 1}')\n"
    )
    stage.write(rules_txt="Be brief.\n", a_txt="Say it.\n", train_jsonl=rows("t", 2))
    stage.write(rubric_toml='objective = "Helps"\ntemperature = 0\n[dimensions]\nclarity = 2\n')
    tables = (f'[[evaluator]]\nname = "{name}"\n{table}\n' for name, table in _EVALUATORS.items())
    stage.write(sweep_toml=_KINDS + "".join(tables))
    stage.play("run sweep.toml --dry-run --json")
    stage.play(
        "run sweep.toml --no-preflight --patience 0s",
        OPENAI_API_KEY="none",
        OPENAI_BASE_URL="http://127.0.0.1:1/v1",
    )
    stage.play("report r --format jsonl")
