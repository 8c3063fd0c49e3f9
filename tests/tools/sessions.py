"""The sessions of the recorder: each is a function that plays commands on its stage.

All calls are made with one slot (`-j 1`): the order of records is no promise otherwise. A number that is
compared never depends on a clock, nor does whether a call fails: no session has a deadline that passes.
"""

import json
from collections.abc import Callable, Mapping

from tests.tools.programs import JUDGE, LETTERS
from tests.tools.stage import Stage

COMMANDS = (
    *("score", "run", "bench", "optimize", "rescore", "report", "diff", "runs", "runs list", "runs note"),
    *("runs rm", "view", "verify", "preflight", "serve", "validate", "schema", "evaluators"),
    *("evaluators list", "evaluators show", "evaluators copy", "evaluators command", "new"),
    *("new evaluator", "new proposer", "new sweep", "new dataset", "new task"),
)
DOCUMENTS = ("payload", "answer", "sweep", "task", "rubric", "plan", "journal", "summary", "leaderboard")
FORMATS = ("terminal", "json", "csv", "jsonl", "md", "junit", "html")
LANGUAGES = ("python", "bash", "node", "perl", "ruby", "php", "lua", "tcl", "r", "c", "rust", "go", "java")
ALIVE = "--persistent --workers 1 -j 1"
_DATA = "--candidate 'c/*.txt' --dataset train.jsonl --valset val.jsonl"
PAIR = f"run -e 'judge=python3 -S judge.py' {_DATA} {ALIVE}"


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


def examples(stage: Stage) -> None:
    """Write a judge, three candidates, a dataset and a valset."""
    stage.write(judge_py=JUDGE, train_jsonl=rows("t", 10), val_jsonl=rows("v", 14, 3))
    (stage.folder / "c").mkdir()
    for name, text in (("plain", "Say it."), ("polite", "Please say it."), ("terse", "It.")):
        (stage.folder / "c" / f"{name}.txt").write_text(text)


def rows(name: str, count: int, shift: int = 0, **does: str) -> str:
    """Write examples; `does` says of some, by their number, what the judge is to do."""
    return "".join(
        json.dumps(
            {
                "id": f"{name}{number}",
                "n": number + shift,
                "question": f"what is {number} of {name}?",
                "metadata": {"lang": "en" if number % 3 else "de", "customer": f"c{number // 2}"},
                **({"does": does[f"_{number}"]} if f"_{number}" in does else {}),
            }
        )
        + "\n"
        for number in range(count)
    )


def report_in_all_formats(stage: Stage, run: str) -> None:
    for name in FORMATS:
        stage.play(f"report {run} --format {name}{f' -o {run}.html' if name == 'html' else ''}")
    stage.play_each(f"report {run} --json\nreport {run} --check\nreport {run} --all")


def run(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --dry-run --out r")
    stage.play(f"{PAIR} --dry-run --json --out r")
    stage.play(f"{PAIR} --show t3 --out r")
    stage.play(f"{PAIR} --out r --note 'the first'")
    report_in_all_formats(stage, "r")
    stage.play("report r --format csv --wide --with n,metadata.lang")
    stage.play("report r --format jsonl --wide --with question")
    stage.play("report r --step-summary", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY="summary.md")
    stage.play("report r", COLUMNS="60", FORCE_COLOR="1")
    stage.play("report r --format html --full -o full.html")
    stage.play(f"{PAIR} --out q -q")
    stage.play(f"{PAIR} --out j --json")
    stage.play(f"{PAIR} --baseline polite --seed 7")
    stage.play("report")


def report_of_some(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --group-by metadata.lang --cluster-by metadata.customer --out r")
    stage.play("report r --filter metadata.lang=de")
    stage.play("report r --filter metadata.lang=de --json")
    stage.play("report r --id t1 --id v2 --format csv")
    stage.play("report r --id nobody")
    report_in_all_formats(stage, "r")
    stage.play(f"{PAIR} --filter metadata.lang=en --filter n=4 --out f")
    stage.play(f"{PAIR} --sample 5 --seed 3 --out s")
    stage.play(f"{PAIR} --id t1 --id v1 --out i --json")


def short(stage: Stage) -> None:
    """Play the least that a run is; the test of the recorder plays it."""
    stage.write(sh_sh=LETTERS, a_txt="Say it.", train_jsonl=rows("t", 3))
    stage.play("run -e ./sh.sh --candidate a.txt --dataset train.jsonl -j 1 --out r")


def each_call_a_process(stage: Stage) -> None:
    examples(stage)
    stage.write(sh_sh=LETTERS)
    stage.play(f"run -e ./sh.sh {_DATA} -j 1 --out r")
    stage.play(f"run -e ./sh.sh -e again='./sh.sh x' {_DATA} -j 1 --out r --no-persistent --json")
    stage.play("report r --format csv")


def growth(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --limit 3 --out r")
    stage.play(f"{PAIR} --limit 6 --out r")
    stage.play(f"{PAIR} --out r")
    (stage.folder / "c" / "long.txt").write_text("Say it at great length.")
    stage.play(f"{PAIR} --out r")
    stage.play(f"{PAIR} -e second='python3 -S judge.py more' --out r")
    stage.play(f"{PAIR} --repeats 2 --limit 4 --out r")
    stage.write(train_jsonl=rows("t", 12))
    stage.play(f"{PAIR} --out r")
    stage.play("report r --all")
    stage.play(f"{PAIR} --replace judge --limit 2 --out r")
    stage.play(f"{PAIR} --fresh --limit 2 --out r")
    stage.play("report r --check")


def killed(stage: Stage) -> None:
    """Let the judge end the run at a call, when those before are written down; then resume."""
    examples(stage)
    stage.write(train_jsonl=rows("t", 10, _5="kill"))
    stage.play(f"{PAIR} --out r", JOURNAL="r/journal.jsonl")
    stage.play("report r")
    stage.play("runs .")
    stage.play(f"{PAIR} --out r --dry-run")
    stage.play(f"{PAIR} --out r", JOURNAL="r/journal.jsonl")
    stage.play("report r --check")


FAILING = rows("t", 9, _1="skip", _2="error", _3="exit", _4="junk", _5="nothing", _6="text", _7="huge")


def failures(stage: Stage) -> None:
    examples(stage)
    stage.write(train_jsonl=FAILING)
    run_it = "run -e 'judge=python3 -S judge.py' --candidate c/plain.txt --candidate c/terse.txt -j 1 --out"
    stage.play(f"{run_it} r --dataset train.jsonl --no-preflight --keep-stderr")
    report_in_all_formats(stage, "r")
    stage.play(f"{run_it} r --dataset train.jsonl --no-preflight", MENDED="1")
    stage.play(f"{run_it} p --dataset train.jsonl")
    stage.play(f"{run_it} a --dataset train.jsonl --no-preflight --on-failure abort --retries 1")
    stage.play(f"{run_it} m --dataset train.jsonl --no-preflight --max-failures 3")
    stage.play(f"{run_it} m --dataset train.jsonl --no-preflight --max-failures 50% --json")
    stage.play(f"{run_it} k --dataset train.jsonl --no-preflight --persistent --workers 1")
    stage.play(f"{run_it} l --dataset train.jsonl --no-preflight --lf")
    stage.play(f"{run_it} r --dataset train.jsonl --no-preflight --lf")


def gates(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --out before --fail-under judge=0.1")
    stage.play(f"{PAIR} --out after --fail-under judge=0.9 --max-gap 0.01 --no-regression-against before")
    stage.play("report after --fail-under judge=0.9 --format junit")
    stage.play("report after --fail-under judge=0.9 --format md")
    stage.play("report after --no-regression-against before --margin 0.05 --json")
    stage.play("report after --max-gap 0.2 --margin judge=0.1")
    stage.play("report after --fail-under nobody=0.9")


def diff(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --out before -q")
    stage.play(f"{PAIR} --out worse -q", WORSE="1")
    stage.write(judge_py=JUDGE + "# another\n")
    stage.play(f"{PAIR} --out after -q", WORSE="1")
    stage.play_each("""
        diff before worse
        diff before after
        diff before after --force
        diff before after --force --json
        diff before after --force --format html -o diff.html
        diff before worse --no-regression-against before
        diff before worse --fail-under judge=0.9 --max-gap 0.1 --margin 0.01
        diff before nowhere
    """)


def leaks(stage: Stage) -> None:
    examples(stage)
    train = rows("t", 10)
    stage.write(val_jsonl=rows("v", 12, 3) + train.splitlines(keepends=True)[2] * 2)
    stage.play(f"{PAIR} --out d --leaks drop")
    stage.play(f"{PAIR} --out k --leaks keep")
    stage.play(f"{PAIR} --out r")
    stage.play("report r --format md")
    stage.play("report k --check")
    stage.play("validate train.jsonl val.jsonl")


def scores(stage: Stage) -> None:
    examples(stage)
    stage.write(train_jsonl=FAILING)
    for line in range(1, 9):
        stage.play(f"score c/plain.txt -e 'python3 -S judge.py' --example train.jsonl:{line}")
    stage.play('score - -e @exact_match --example \'{"targets": ["hello!"]}\'', stdin=b"Hello!")
    stage.play("score - -e @f1 --example datasets/greetings.jsonl:1", stdin=b"Hello, you!")
    stage.play("score c/plain.txt -e 'python3 -S judge.py' --task-model m --retries 2")
    stage.play("score c/plain.txt -e ./nobody")


SESSIONS: Mapping[str, Callable[[Stage], None]] = {
    session.__name__.replace("_", "-"): session
    for session in (
        *(help_and_version, run, failures, growth, report_of_some, killed, gates, diff, leaks),
        *(short, each_call_a_process, scores, schemas, evaluators, new),
    )
}
