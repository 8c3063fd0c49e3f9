"""Sessions in which programs score candidates: runs, what becomes of them, and what is said of them."""

import json

from tests.tools.made import ALIVE, DATA, PAIR, examples, report_in_all_formats, rows
from tests.tools.programs import JUDGE, LETTERS
from tests.tools.stage import Stage


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
    stage.play(f"run -e ./sh.sh {DATA} -j 1 --out r")
    stage.play(f"run -e ./sh.sh -e again='./sh.sh x' {DATA} -j 1 --out r --no-persistent --json")
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
    stage.play(f"{run_it} runs/l --dataset train.jsonl --no-preflight -q")
    stage.play(f"{run_it} runs/l --dataset train.jsonl --no-preflight --lf")


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


def sweep_file(stage: Stage) -> None:
    examples(stage)
    stage.write(nightly_toml=_SWEEP, bad_toml=_SWEEP.replace("python3", "nobody").replace("limit", "limits"))
    stage.play("validate nightly.toml bad.toml")
    stage.play("run nightly.toml --dry-run --json")
    stage.play("run nightly.toml")
    stage.play("run -c nightly.toml --limit 3 --out short")
    stage.play("run nightly.toml --dry-run --like r --limit 12")
    stage.play("run bad.toml")
    stage.play("preflight nightly.toml --seconds 2")
    stage.play("report r --check")


_SWEEP = """\
[run]
dataset = "train.jsonl"
valset = "val.jsonl"
candidates = ["c/*.txt"]
limit = 6
out = "r"
concurrency = 1
note = "nightly"

[[evaluator]]
name = "judge"
command = "python3 -S judge.py"
persistent = true
workers = 1

[[evaluator]]
name = "wide"
command = ["python3", "-S", "judge.py", "wide"]
score_range = "any"
retries = 1
timeout = 20
env = { MENDED = "1" }

[[evaluator]]
use = "@length_limit --max 8"

[gates]
fail_under = { judge = 0.2 }
"""


def rescore(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --out r -q")
    stage.play(f"rescore r -e second='python3 -S judge.py more' {ALIVE}")
    stage.play(f"rescore r -e second='python3 -S judge.py more' {ALIVE} --json")
    stage.play("report r")
    stage.play(f"{PAIR} --out r")
    stage.play("report r --all --check")
    stage.play(f"rescore nowhere -e second='python3 -S judge.py more' {ALIVE}")
    (stage.folder / "val.jsonl").rename(stage.folder / "moved.jsonl")
    stage.play(f"rescore r -e third='python3 -S judge.py 1 2' {ALIVE}")
    stage.play(f"rescore r -e third='python3 -S judge.py 1 2' {ALIVE} --valset moved.jsonl -q")


def reuse(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --out r --limit 5 -q")
    stage.play(f"{PAIR} --out again --reuse r")
    stage.play(f"{PAIR} --out auto --reuse r --json --recheck 4")
    stage.play(f"{PAIR} --out third --reuse auto --recheck 3", WORSE="1")
    stage.play("report auto")
    stage.play(f"{PAIR} --out r --recheck 5")


def repeats(stage: Stage) -> None:
    examples(stage)
    stage.write(
        passes_py=JUDGE.replace("score = max(", "score = (calls + n) % 3 and max(").replace(") / 10", ") > 2")
    )
    data = f"--candidate 'c/*.txt' --dataset train.jsonl --valset val.jsonl {ALIVE}"
    stage.play(f"run -e 'passes=python3 -S passes.py' {data} --repeats 3 --limit 6 --out r")
    report_in_all_formats(stage, "r")
    stage.play(f"run -e 'passes=python3 -S passes.py' {data} --repeats 4 --limit 6 --out r --seed 3")


def task_models(stage: Stage) -> None:
    examples(stage)
    stage.play(f"{PAIR} --task-model small --task-model large --limit 7 --out r")
    stage.play(f"{PAIR} --task-model small --task-model large --task-model huge --limit 7 --out r")
    report_in_all_formats(stage, "r")


def test_set(stage: Stage) -> None:
    examples(stage)
    stage.write(test_jsonl=rows("x", 12, 5))
    stage.play(f"{PAIR} --testset test.jsonl --out r")
    stage.play("report r --format md")
    stage.play("report r --json --check")


def data_files(stage: Stage) -> None:
    """Read examples and candidates in every form that needs no extra."""
    table = "id,question,target,old,new\n" + "".join(
        f'{n},"what, {n}?",{n * 3},{n * 3},{n * 3 if n % 4 else "no idea"}\n' for n in range(12)
    )
    listed = [
        dict(zip(("id", "target", "old", "new"), (n, str(n), str(n), "x"), strict=True)) for n in range(8)
    ]
    stage.write(table_csv=table, list_json=json.dumps(listed), wide_tsv=table.replace(",", "\t"))
    stage.write(some_jsonl="".join(f'{{"id": "c{n}", "candidate": "{"x" * n}"}}\n' for n in range(3)))
    fields = "run -e @exact_match --candidate-field old --candidate-field new -j 1 --workers 1"
    for name in ("table.csv", "list.json", "wide.tsv"):
        stage.play(f"{fields} --dataset {name} --out {name}.r")
    stage.play(f"{fields} --dataset - --out stdin", stdin=table.encode())
    stage.play(
        "run -e @length_limit --candidates some.jsonl --candidate - -j 1 --workers 1 --out l", stdin=b"text"
    )
    stage.play("report table.csv.r --format csv --wide --with question")
    stage.play("validate table.csv list.json wide.tsv some.jsonl")


def hostile_texts(stage: Stage) -> None:
    """Show names and texts that mean something to a terminal, a browser, a spreadsheet and a shell."""
    stage.write(judge_py=JUDGE.replace('"odd"', "'<b>odd</b>\\x1b[31m=1+1'"))
    (stage.folder / "c").mkdir()
    for number, name in enumerate(("=cmd()", "<i>two</i> 'x'", "déjà vu", "-e")):
        (stage.folder / "c" / f"{name.replace('/', '_')}.txt").write_text(
            f"</script> {name} \x1b[2J" + "x" * number
        )
    names = ("=1+1", "<script>alert(1)</script>", "\x1b]0;title\x07", "a|b`c`", "\u202eevil")
    stage.write(
        train_jsonl="".join(
            json.dumps({"id": name, "n": len(name), "question": name}) + "\n" for name in names
        )
    )
    stage.play(
        f"run -e 'judge=python3 -S judge.py' --candidate 'c/*.txt' --dataset train.jsonl {ALIVE} --out r"
    )
    report_in_all_formats(stage, "r")


def shipped_metrics(stage: Stage) -> None:
    """Score the same few outputs with every metric that needs no library."""
    metrics = (
        *(
            "accuracy",
            "bleu_4",
            "contains",
            "edit_similarity",
            "exact",
            "exact_match",
            "f1",
            "multiple_choice",
        ),
        *("numeric_close", "rouge_l", "string_equals", "string_equals_mcqa", "substring_contains"),
    )
    rows_of = (
        ("Paris", ["paris"]),
        ("B) the cat sat", ["B", "the cat sat on it"]),
        ("3.14159", ["3.1416"]),
        (" yes ", ["yes", "no"]),
    )
    stage.write(
        outputs_jsonl="".join(json.dumps({"out": out, "targets": targets}) + "\n" for out, targets in rows_of)
    )
    named = " ".join(f"-e @{name}" for name in metrics)
    stage.play(f"run {named} --candidate-field out --dataset outputs.jsonl -j 1 --workers 1 --out r")
    stage.play("report r --format jsonl")
    stage.play("report r --check")


def scores(stage: Stage) -> None:
    examples(stage)
    stage.write(train_jsonl=FAILING)
    for line in range(1, 9):
        stage.play(f"score c/plain.txt -e 'python3 -S judge.py' --example train.jsonl:{line}")
    stage.play('score - -e @exact_match --example \'{"targets": ["hello!"]}\'', stdin=b"Hello!")
    stage.play("score - -e @f1 --example datasets/greetings.jsonl:1", stdin=b"Hello, you!")
    stage.play("score c/plain.txt -e 'python3 -S judge.py' --task-model m --retries 2")
    stage.play("score c/plain.txt -e ./nobody")
