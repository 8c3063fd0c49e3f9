"""What sessions of the recorder share: candidates, examples, the judge that is called, and reports."""

import json

from tests.tools.programs import JUDGE
from tests.tools.stage import Stage

FORMATS = ("terminal", "json", "csv", "jsonl", "md", "junit", "html")
ALIVE = "--persistent --workers 1 -j 1"
DATA = "--candidate 'c/*.txt' --dataset train.jsonl --valset val.jsonl"
PAIR = f"run -e 'judge=python3 -S judge.py' {DATA} {ALIVE}"


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
                "target": str(number),
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
