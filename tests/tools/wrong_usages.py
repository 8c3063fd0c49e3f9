"""Sessions of what users do wrong: what is said on stderr, and the exit code."""

from tests.tools.made import examples
from tests.tools.programs import JUDGE
from tests.tools.stage import Stage

_GOOD = "-j 1 --workers 1 -e 'python3 -S judge.py' --candidate c/plain.txt --dataset train.jsonl"
_OPTIONS = """
    nobody
    init
    --nothing
    run --nothing
    run
    run -e 'python3 -S judge.py' --dataset train.jsonl
    run -e 'python3 -S judge.py' --candidate nowhere.txt --dataset train.jsonl
    run GOOD --limit 0
    run GOOD -j none
    run GOOD --baseline nobody
    run GOOD --filter n
    run GOOD --filter n=none
    run GOOD --id nobody
    run GOOD --group-by nothing
    run GOOD --max-time soon
    run GOOD --fail-under nobody=1
    run GOOD --max-failures many
    run GOOD --leaks maybe
    run GOOD --reuse nowhere
    run GOOD --show nobody
    run GOOD --score-range wide
    run -e 'python3 -S judge.py' GOOD --dry-run
    run --prompt c/plain.txt -e @exact_match --dataset train.jsonl
    run -e ./nobody --candidate c/plain.txt --dataset train.jsonl
    run -e @nobody --candidate c/plain.txt --dataset train.jsonl
    run -e @exact_matc --candidate c/plain.txt --dataset train.jsonl
    run -e judge:nobody/m --objective x --candidate c/plain.txt --dataset train.jsonl
    run -e judge:openai/m --candidate c/plain.txt --dataset train.jsonl
    run -e http:// --candidate c/plain.txt --dataset train.jsonl
    run -e '' --candidate c/plain.txt --dataset train.jsonl
    run nowhere.toml
    bench
    bench nowhere.jsonl --model toy
    bench datasets/tasks/arithmetic.jsonl
    bench datasets/tasks/arithmetic.jsonl --model nobody/m
    bench datasets/tasks/arithmetic.jsonl --model toy --fail-under nobody=1
    bench datasets/yaml-tasks --tag arithmetics --model toy
    optimize
    optimize c/plain.txt -e 'python3 -S judge.py' --dataset train.jsonl
    optimize c/plain.txt -e 'python3 -S judge.py' --dataset train.jsonl --proposer ./p --budget 2
    score
    score nowhere.txt -e 'python3 -S judge.py'
    score c/plain.txt
    score c/plain.txt -e 'python3 -S judge.py' --example train.jsonl:99
    score c/plain.txt -e 'python3 -S judge.py' --example {
    report nowhere
    report .
    report
    diff nowhere
    rescore nowhere -e @exact
    verify nowhere
    view nowhere
    runs rm
    schema nothing
    evaluators show nobody
    evaluators nothing
    new evaluator x --lang cobol
    new evaluator a/b
    serve -e ./nobody
    validate
    preflight
"""


def wrong_options(stage: Stage) -> None:
    examples(stage)
    stage.play_each(_OPTIONS.replace("GOOD", _GOOD))


def wrong_data(stage: Stage) -> None:
    """Break what a run reads: its data, its folder, its journal."""
    examples(stage)
    stage.write(bad_jsonl='{"a": 1}\n{"a": }\n', empty_jsonl="", list_jsonl="[1]\n", bad_toml="[run\n")
    (stage.folder / "latin.txt").write_bytes(b"caf\xe9\n")
    run = "run -e 'judge=python3 -S judge.py' --persistent --workers 1 -j 1"
    for name in ("bad.jsonl", "empty.jsonl", "list.jsonl"):
        stage.play(f"{run} --candidate c/plain.txt --dataset {name}")
    stage.play(f"{run} --candidate latin.txt --dataset train.jsonl")
    stage.play(f"{run} bad.toml")
    stage.play(f"{run} --candidate c/plain.txt --dataset train.jsonl --out r -q")
    stage.write(judge_py=JUDGE + "# another\n")
    stage.play(f"{run} --candidate c/plain.txt --dataset train.jsonl --out r")
    stage.play(f"{run} --candidate c/plain.txt --dataset train.jsonl --out c")
    journal = stage.folder / "r" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-3]) + lines[-3][:40])
    stage.play("report r")
    journal.write_bytes(b"".join([*lines[:3], lines[3].replace(b'"judge"', b'"other"'), *lines[4:]]))
    stage.play("report r")
    stage.play(f"{run} --candidate c/plain.txt --dataset train.jsonl --out r --replace judge")
    (stage.folder / "r" / "run.json").write_text("{")
    stage.play("report r")
    stage.play("runs .")
