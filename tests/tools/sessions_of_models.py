"""Sessions in which models reply: benches, prompts, judges, searches. Models are programs, or the fakes."""

import re

from tests.paths import ROOT
from tests.tools.made import ALIVE, examples, report_in_all_formats, rows
from tests.tools.programs import ADDER, CLIMB, JUDGE, PROPOSE
from tests.tools.stage import Stage

_TASKS = (
    "datasets/tasks/arithmetic.jsonl datasets/tasks/generation.jsonl datasets/tasks/multiple-choice.jsonl"
)
_ADDER = "'adder=cmd:python3 -S adder.py'"
_SHORT_TASKS = f"bench {_TASKS} --model toy --model {_ADDER} -j 1"


def bench(stage: Stage) -> None:
    stage.write(adder_py=ADDER)
    stage.play(f"{_SHORT_TASKS} --dry-run --out b")
    stage.play(f"{_SHORT_TASKS} --show arith-01 --out b")
    stage.play(f"{_SHORT_TASKS} --include-per-example --out b")
    report_in_all_formats(stage, "b")
    stage.play("report b --format csv --wide")
    stage.play("report b --fail-under adder@arithmetic=0.3 --format junit")
    stage.play("verify b")
    stage.play(f"{_SHORT_TASKS} --limit 2 --out l --json")
    stage.play(f"{_SHORT_TASKS} --limit 3 --out l -q")
    stage.play(f"bench {_TASKS} --model toy --model silent --model {_ADDER} -e @f1 -j 1 --out b")
    stage.write(adder_py=ADDER.replace("sum(numbers)", "sum(numbers) - 1"))
    stage.play(f"{_SHORT_TASKS} --include-per-example --out after -q --fail-under toy=0.5")
    stage.play("diff b after")
    stage.play("diff b after --json")
    stage.play("diff b/leaderboard.json after/leaderboard.json --no-regression-against b")
    stage.play("diff b after --format html -o diff.html")


def bench_of_specs(stage: Stage) -> None:
    stage.write(adder_py=ADDER)
    stage.play(f"bench datasets/tasks.jsonl --model toy --model {_ADDER} -j 1 --out b")
    stage.play("bench datasets/tasks_bad.jsonl --model toy -j 1 --out bad")
    stage.play("bench datasets/tasks_bad.jsonl --model toy -j 1 --out bad --allow-bad-tasks")
    stage.play("report bad --json")
    stage.play("report bad --format md")
    stage.play("bench datasets/tasks.jsonl --model toy --repeats 2 --sample 4 --seed 1 -j 1 --out s")
    stage.play("validate datasets/tasks.jsonl datasets/tasks_bad.jsonl")


def bench_of_code(stage: Stage) -> None:
    """Run code that a model wrote in the sandbox."""
    stage.play("bench datasets/tasks/code-exec.jsonl --model toy --model silent -j 1 --out b")
    stage.play("report b --format jsonl")
    stage.play(
        "score - -e '@code_exec' --example '{\"extras\": {\"io_pairs\": [[1, 2]]}}'",
        stdin=b"def f(x): return x+x",
    )


_MEANING = """
[[rule]]
when = { user = '(?i)canberra|madrid' }
text = "correct"
[[rule]]
text = "incorrect"
"""


def bench_of_yaml(stage: Stage) -> None:
    with stage.model(_MEANING) as base:
        judge = f"--model-key judge=openai/gpt-4o-mini@{base}"
        command = (
            f"bench datasets/yaml-tasks/sums.yaml datasets/yaml-tasks/capitals.yaml {judge} -j 1 --workers 1"
        )
        stage.play(f"{command} --model toy --dry-run --out b")
        stage.play(f"{command} --model toy --out b")
        stage.play(f"{command} --model toy --model silent --out b")
        stage.play(f"{command} --model toy --out b --show c3")
    report_in_all_formats(stage, "b")
    stage.play(
        "bench datasets/yaml-tasks --tag arithmetic --model toy -j 1 --config manners=Briefly. --out t -q"
    )
    stage.play("bench datasets/yaml-tasks/tools.yaml -j 1 --workers 1 --out tools")
    folder = "datasets/yaml-tasks"
    unique = f"{folder}/uniqueness.yaml --config field=id --data dataset={folder}/datasets/sums.jsonl"
    stage.play(f"bench {unique} -j 1 --workers 1 --out u")
    stage.play(f"bench {unique} -j 1 --workers 1 --sandbox strict --out strict --json")
    stage.play("bench datasets/yaml-tasks/sums.yaml -j 1")


def parts_of_tasks(stage: Stage) -> None:
    """Play the tasks of tests/tasks/worked/parts.md, which have every solver, scorer and metric."""
    page = (ROOT / "tests/tasks/worked/parts.md").read_text("utf-8")
    for name, _, text in re.findall(r"^cat > (\S+) <<'(\w+)'\n(.*?\n)\2$", page, re.DOTALL | re.MULTILINE):
        (stage.folder / name).write_text(text)
    keys = (
        "--model-key customer=replay:customer.jsonl --model-key 'judge=cmd:python3 judge.py' -j 1 --workers 1"
    )
    stage.play(
        f"bench quiz.yaml talk.yaml review.yaml --model recorded=replay:recorded.jsonl {keys} --out parts"
    )
    stage.play("report parts --format md")
    stage.play("report parts --json")
    stage.play("report parts --check")
    stage.play(
        "bench helpdesk.yaml genres.yaml --model-key 'judge=cmd:python3 judge.py' -j 1 --workers 1 --out rows"
    )
    stage.play("report rows --format md")
    stage.play("rescore parts --metrics quiz.yaml -q")
    stage.play("validate quiz.yaml talk.yaml review.yaml helpdesk.yaml")


_REPLIES = """
[[rule]]
when = { user = 'bad gateway' }
status = 502
[[rule]]
name = "busy once"
times = 1
status = 429
headers = { Retry-After = "0" }
text = "slow down"
[[rule]]
when = { user = '7 of' }
malformed = "refusal"
[[rule]]
when = { user = '8 of' }
malformed = "length"
[[rule]]
when = { user = '5 of' }
malformed = "empty_body"
[[rule]]
when = { user = 'Think.*is (\\d+)' }
text = "<think>Hm.</think>It is {1}"
[[rule]]
when = { user = '(\\d+) of' }
text = "It is {1}."
"""


def prompts(stage: Stage) -> None:
    (stage.folder / "p").mkdir()
    for name, text in (("plain", "{{question}}\n"), ("think", "Think: {{question}}\n")):
        (stage.folder / "p" / f"{name}.md").write_text(text)
    train, val = (rows(name, 10) for name in ("train", "val"))
    stage.write(train_jsonl=train, val_jsonl=val, adder_py=ADDER, system_txt="Be brief.\n")
    data = "--dataset train.jsonl --valset val.jsonl --extract last-number -e @exact_match -j 1 --workers 1"
    with stage.model(_REPLIES) as base:
        command = f"run --prompt 'p/*.md' --model {_ADDER} --model m=openai/some-model@{base} {data}"
        stage.play(f"{command} --dry-run --out r")
        stage.play(f"{command} --out r --no-preflight")
        stage.play(f"{command} --out f --refusals fail --no-preflight --limit 9 --retries 1 --json")
        stage.play(f"{command} --out s --system system.txt --temperature 0.5 --max-tokens 9 --limit 2")
        stage.play(f"{command} --out t --keep-thoughts --limit 2 -q")
        stage.play(f"{command} --out r --show val3")
        stage.play(f"{command} --out c --limit 3 --prices prices.toml")
        stage.write(prices_toml="[prices]\n'openai/some-model' = { input = 100, output = 1000 }\n")
        stage.play(f"{command} --out c --limit 3 --prices prices.toml --no-preflight")
        stage.play(f"{command} --out d --prices prices.toml --max-cost 0.01 --estimate-tokens --no-preflight")
        stage.play(f"{command} --out e --max-tokens-total 60 --estimate-tokens --no-preflight")
    report_in_all_formats(stage, "r")
    stage.play("report r --format csv --wide --with target")
    stage.play("rescore r -e @contains -j 1 --workers 1")
    (stage.folder / "p" / "typo.md").write_text("{{qestion}}")
    stage.play(f"run --prompt 'p/*.md' --model {_ADDER} {data}")


_JUDGING = """
[[rule]]
name = "busy once"
times = 1
status = 429
headers = { Retry-After = "0" }
text = "slow down"
[[rule]]
when = { any = 'dimensions|warmth' }
json = { reasoning = "friendly", dimensions = { warmth = 0.8, brevity = 1 }, violated = [] }
[[rule]]
when = { user = 'what is 2 of' }
text = "7/10"
[[rule]]
when = { user = 'what is 3 of' }
json = { reasoning = "much", score = 85 }
[[rule]]
when = { user = 'what is 4 of' }
malformed = "truncated"
[[rule]]
when = { user = '(?i)please' }
json = { reasoning = "polite", score = 0.9 }
[[rule]]
json = { reasoning = "plain", score = 0.4 }
"""
_RUBRIC = """\
objective = "It greets the customer."
temperature = 0
hides = ["metadata"]
[dimensions]
warmth = 3
brevity = { weight = 1, description = "one sentence is best" }
[constraints]
no_promise = "It promises nothing."
"""


def judges(stage: Stage) -> None:
    examples(stage)
    human = [
        f'{line[:-1]}, "people": {number / 10}}}\n' for number, line in enumerate(rows("t", 6).splitlines())
    ]
    stage.write(train_jsonl="".join(human), rubric_toml=_RUBRIC)
    with stage.model(_JUDGING) as base:
        data = f"--api-base {base} --candidate 'c/*.txt' --dataset train.jsonl -j 1"
        judge = f"--judge-model openai/gpt-4o-mini --objective 'It is polite.' {data}"
        stage.play(f"score c/polite.txt -e judge:openai/m --objective Polite. --api-base {base}")
        stage.play(f"run {judge} --out r --dry-run")
        stage.play(f"run {judge} --out r --no-preflight")
        stage.play(f"run {judge} --out runs/l --limit 5 --no-preflight")
        stage.play(f"run {judge} --out runs/l --lf --no-preflight")
        stage.play(f"run -e judge:openai/gpt-4o-mini --rubric rubric.toml {data} --out d")
        stage.write(sweep_toml=_AGREEING.replace("BASE", base))
        stage.play("run sweep.toml -j 1 --out h --no-preflight")
        stage.play(f"preflight {judge.replace('-j 1', '')} --seconds 5")
        stage.play(f"rescore r -e strict=judge:openai/other --objective Strict. --api-base {base} -j 1")
    stage.play("run sweep.toml -j 1 --out n --no-preflight")
    stage.play("report h --json")
    stage.play("report h --format md")
    report_in_all_formats(stage, "r")


_AGREEING = """\
[run]
dataset = "train.jsonl"
candidates = ["c/*.txt"]
[[evaluator]]
name = "warmth"
judge = "openai/gpt-4o-mini"
objective = "It greets warmly."
api_base = "BASE"
human = "people"
shows = ["question"]
[[evaluator]]
name = "label"
judge = "openai/gpt-4o-mini"
objective = "It is polite."
api_base = "BASE"
temperature = 0
"""
_SEARCH = (
    "optimize seed.txt -e 'e=python3 -S climb.py' --proposer 'python3 -S propose.py' --dataset train.jsonl "
    f"--valset val.jsonl {ALIVE} --out s"
)


def _search(stage: Stage) -> None:
    stage.write(climb_py=CLIMB, propose_py=PROPOSE, seed_txt="Say it.")
    stage.write(train_jsonl=rows("t", 10), val_jsonl=rows("v", 12, 3))


def optimize(stage: Stage) -> None:
    _search(stage)
    stage.play(f"{_SEARCH} --budget 90 --dry-run")
    stage.play(f"{_SEARCH} --budget 90 -o best.txt --note climbs")
    report_in_all_formats(stage, "s")
    stage.play(f"{_SEARCH} --budget 150 --require-better --json")
    stage.play(f"{_SEARCH.replace('--out s', '--out q')} --budget 60 --val-chooses --seed 4 -q")
    stage.play(
        f"{_SEARCH.replace('--valset val.jsonl', '--val-share .3').replace('--out s', '--out v')} --budget 60"
    )
    stage.play("runs .")
    stage.play("report s --check")


def optimize_killed(stage: Stage) -> None:
    _search(stage)
    stage.play(f"{_SEARCH} --budget 90", KILL_AT="55")
    stage.play("report s")
    stage.play(f"{_SEARCH} --budget 90")
    stage.play("report s --json")


_PROPOSING = '[[rule]]\ntext = "A better one:\\n```\\nSay it at length, {count} times.\\n```"\n'


def optimize_by_model(stage: Stage) -> None:
    _search(stage)
    with stage.model(_PROPOSING) as base:
        command = _SEARCH.replace(
            "--proposer 'python3 -S propose.py'", "--reflection-model openai/gpt-4o-mini"
        )
        command = f"{command} --api-base {base} --objective 'Be long.' --background 'None.' --minibatch 2"
        stage.play(f"{command} --budget 80")
        stage.play(
            f"{command.replace('seed.txt', '--from-scratch').replace('--out s', '--out n')} --budget 60",
        )
    components = '{"first": "Say it.", "second": "Well."}'
    stage.write(parts_json=components)
    stage.play(
        f"optimize parts.json --components -e 'e=python3 -S climb.py' --proposer 'python3 -S propose.py' "
        f"--dataset train.jsonl --valset val.jsonl {ALIVE} --merge --budget 60 --out c"
    )
    stage.write(propose_py="raise SystemExit('no idea')\n")
    stage.play(f"{_SEARCH.replace('--out s', '--out broken')} --budget 60")


def bench_with_judge_and_failures(stage: Stage) -> None:
    """Score replies with a second evaluator, with calls that fail."""
    stage.write(adder_py=ADDER, judge_py=JUDGE)
    command = f"bench datasets/tasks/arithmetic.jsonl --model {_ADDER} --model 'none=cmd:./nobody' -j 1"
    stage.play(f"{command} --out b --no-preflight")
    stage.play(
        f"{command.replace('none=cmd:./nobody', 'ends=cmd:sh -c exit')} --model toy --out b --no-preflight"
    )
    stage.play("report b --format junit --fail-under ends=0.5")
    stage.write(recorded_jsonl='{"id": "arith-00", "output": "4"}\n{"id": "arith-01", "output": "9"}\n')
    stage.play("bench datasets/tasks/arithmetic.jsonl --model old=replay:recorded.jsonl -j 1 --out o")
