"""Sessions of the commands around runs: help, starters, servers, lists of runs, checks of files."""

from tests.tools.made import PAIR, examples, rows
from tests.tools.programs import LETTERS
from tests.tools.stage import Stage

COMMANDS = (
    *("score", "run", "bench", "optimize", "rescore", "report", "diff", "runs", "runs list", "runs note"),
    *("runs rm", "view", "verify", "preflight", "serve", "validate", "schema", "evaluators"),
    *("evaluators list", "evaluators show", "evaluators copy", "evaluators command", "new"),
    *("new evaluator", "new proposer", "new sweep", "new dataset", "new task"),
)
DOCUMENTS = ("payload", "answer", "sweep", "task", "rubric", "plan", "journal", "summary", "leaderboard")
LANGUAGES = ("python", "bash", "node", "perl", "ruby", "php", "lua", "tcl", "r", "c", "rust", "go", "java")


def help_and_version(stage: Stage) -> None:
    for columns in ("80", "40"):
        stage.play("--help", COLUMNS=columns)
        for command in COMMANDS:
            stage.play(f"{command} --help", COLUMNS=columns)
    stage.play_each("-V\n--version\n-h\nrun -h")
    stage.play("")


def schemas(stage: Stage) -> None:
    for document in DOCUMENTS:
        stage.play(f"schema {document}")


def evaluators(stage: Stage) -> None:
    stage.play_each("""
        evaluators
        evaluators list --json
        evaluators show f1
        evaluators show @routing
        evaluators command rouge_l@ascii
        evaluators command few_rules
        evaluators copy f1 mine.py
        evaluators copy f1 mine.py
        evaluators copy few_rules
    """)


def new(stage: Stage) -> None:
    for language in LANGUAGES:
        stage.play(f"new evaluator of_{language} --lang {language}")
        stage.play(f"new proposer by_{language} --lang {language}")
    stage.play_each("""
        new sweep nightly
        new dataset greetings
        new task arithmetic
        new task arithmetic
        validate nightly.toml greetings.jsonl arithmetic
        run nightly.toml -j 1 --out r
        bench arithmetic --model toy -j 1 --dry-run
    """)


def completion(stage: Stage) -> None:
    for shell in ("bash", "zsh", "fish"):
        stage.play("", _OPTIMIZE_EVAL_COMPLETE=f"source_{shell}")
    for words in (
        "optimize-eval ",
        "optimize-eval run -e @exact_",
        "optimize-eval report --format ",
        "optimize-eval ne",
    ):
        count = str(len(words.split(" ")) - 1)
        stage.play("", _OPTIMIZE_EVAL_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)


def preflight(stage: Stage) -> None:
    examples(stage)
    stage.write(
        letters_sh=LETTERS,
        none_sh="#!/bin/sh\necho loading\n",
        twice_sh="#!/bin/sh\ncat > /dev/null\necho '{\"score\": 3}'\n",
    )
    data = "--dataset train.jsonl --valset val.jsonl --seconds 3"
    stage.play(f"preflight -e ./letters.sh {data}")
    stage.play(f"preflight -e ./letters.sh -e ./none.sh -e ./twice.sh -e ./nobody {data}")
    stage.play(f"preflight -e ./none.sh --candidate c/plain.txt {data} --json")


def runs(stage: Stage) -> None:
    examples(stage)
    for name in ("first", "second", "third"):
        stage.play(f"{PAIR} --out runs/{name} --limit 2 -q --note 'of {name}'")
    stage.play_each("""
        runs note runs/first 'the prompt before the fix'
        runs note runs/second ''
        runs note runs/nowhere x
        report
        runs rm runs/third --json
        runs rm runs/third --yes --json
        runs rm runs/nowhere --yes
        runs nowhere
    """)
    stage.play("runs rm runs/second", stdin=b"n\n")


def validate(stage: Stage) -> None:
    stage.write(bad_jsonl='{"a": 1}\n{"a": }\n[1]\n{"b": NaN}\n{"b": 1, "b": 2}\n\n', empty_jsonl="")
    stage.write(
        bad_yaml="key: a\ndisplay_name: yes\ndefinition:\n  dataset: {key: x}\n  scorers: [{type: equal}]\n"
    )
    stage.write(tab_yaml="key: a\n\tb: 1\n", bad_toml="[run]\nlimit = -1\n[[evaluator]]\nnobody = 1\n")
    stage.play_each("""
        validate bad.jsonl empty.jsonl
        validate bad.jsonl --json
        validate bad.yaml tab.yaml
        validate bad.yaml --json
        validate bad.toml
        validate bad.toml --format dataset
        validate datasets/tasks datasets/yaml-tasks datasets/greetings.jsonl
        validate datasets/tasks_bad.jsonl --json
        validate nowhere.jsonl
        validate datasets/tasks.jsonl --format examples
    """)


def serve(stage: Stage) -> None:
    """Ask an evaluator behind HTTP by hand, then run with its URL."""
    examples(stage)
    stage.write(train_jsonl=rows("t", 6, _2="skip", _3="error"))
    with stage.server("serve -e 'python3 -S judge.py' --port {port} -j 1 --persistent --workers 1") as ask:
        ask("/", b'{"candidate": "Say it."}')
        ask("/", b'{"candidate": "Say it.", "example": {"n": 3, "does": "error"}}')
        ask("/", b'{"candidate": "Say it.", "example": {"n": 3, "does": "skip"}}')
        ask("/", b"no JSON")
        ask("/", b"{}")
        ask("/nowhere", b"{}")
        ask("/", b'{"candidate": "x"}', Host="evil.example")
        url = f"http://127.0.0.1:{stage.port}/"
        stage.play(
            f"run -e judge={url} --candidate 'c/*.txt' --dataset train.jsonl -j 1 --out r --no-preflight"
        )
        stage.play(f"score c/plain.txt -e {url}")
    stage.play(f"score c/plain.txt -e {url} --retries 0")
    stage.play("serve")


def view(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --out runs/first --limit 3 -q")
    with stage.server("view runs --port {port}") as ask:
        ask("/")
        ask("{/}")
        for path in ("runs", "run/0/head", "run/0/examples", "run/1/head", "run/7/head", "nothing"):
            ask(f"/{path}", **{"X-Token": "{token}"})
        ask("/runs")
        ask("/", b"{}")
    stage.play("view nowhere")
