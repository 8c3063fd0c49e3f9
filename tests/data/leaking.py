"""Rows of the data that ship, copied in all ways in which a copy may be changed."""

import json
import random
from collections.abc import Callable, Iterable
from typing import Any

from optimize_eval.data.example import Example
from optimize_eval.data.leaks import Leak, find_leaks
from tests.paths import ROOT

Row = dict[str, Any]

FRAME = (
    "You help a company that sells devices. Read this message with care and say which team gets it. {} "
    "One word."
)
SYNONYMS = {
    "app": "application",
    "show": "display",
    "every": "each",
    "money": "funds",
    "gift": "present",
    "parcel": "package",
    "page": "screen",
    "order": "purchase",
    "phone": "mobile",
    "price": "cost",
    "wrong": "incorrect",
    "get": "receive",
    "help": "assist",
    "can": "could",
    "error": "fault",
}


def routing(split: str) -> list[Row]:
    lines = (ROOT / "datasets" / "routing" / f"{split}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


TRAIN, VAL = routing("train"), routing("val")


def examples(rows: Iterable[Row]) -> list[Example]:
    return [
        Example(raw=json.dumps(row, ensure_ascii=False).encode(), line=line, value=row)
        for line, row in enumerate(rows, 1)
    ]


def leaks(there: Iterable[Row], rows: Iterable[Row]) -> list[Leak]:
    return find_leaks(examples(there), examples(rows))


def told(change: Callable[[str], str]) -> list[Row]:
    return [{**row, "message": change(row["message"])} for row in TRAIN]


def reworded(text: str, draw: random.Random) -> str:
    words = [
        SYNONYMS.get(word, word) if draw.random() < 0.7 else word
        for word in text[0].lower().__add__(text[1:]).split()
    ]
    return f"Hello there, {' '.join(words)} Thanks."


SAME: dict[str, list[Row]] = {
    "the same": TRAIN,
    "a blank": told(lambda text: f"{text} "),
    "upper case": told(str.upper),
    "other order of keys": [dict(reversed(row.items())) for row in TRAIN],
    "other punctuation": told(lambda text: text.replace(".", "!").replace(",", "")),
    "typographer's quotes and blanks": told(lambda text: text.replace("'", "\u2019").replace(" ", "\u00a0")),
    "full width": told(
        lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)
    ),
    "signs that nobody sees": told(lambda text: "\u200b".join(text) + "\u00ad\ufeff"),
    "ids added": [{"id": number, **row} for number, row in enumerate(TRAIN)],
    "other metadata and dates": [
        {**row, "metadata": {"customer": f"x{n}"}, "created_at": f"2026-01-{n % 28 + 1:02}"}
        for n, row in enumerate(TRAIN)
    ],
    "shuffled": random.Random(1).sample(TRAIN, len(TRAIN)),
    "signs that nobody sees, in a long prompt": told(lambda text: FRAME.format("\u2060".join(text))),
    "a long prompt around it, in lower case": told(lambda text: FRAME.format(text.lower())),
}
