"""A memoriser on leaked data, through the product's own aggregation: it is never called better."""

import random
from dataclasses import replace

import pytest

from optimize_eval.data.leaks import overlaps_of
from optimize_eval.store.run_document import with_overlaps
from tests.data.leaking import SAME, TRAIN, VAL, Row, examples, reworded, told
from tests.findings.made import LEAD, made

_DRAWS = 5


def _leaks() -> dict[str, list[Row]]:
    draw = random.Random(3)
    some = [*TRAIN[:7], *VAL]
    words = told(lambda text: reworded(text, draw))
    return {
        **SAME,
        "in part": [*TRAIN, *VAL],
        "few": some,
        "reworded": words,
        "few reworded": [*words[:7], *VAL],
    }


@pytest.mark.parametrize("leak", _leaks())
def test_who_knows_train_by_heart_is_never_better(leak: str) -> None:
    rows = _leaks()[leak]
    splits = {"train": examples(TRAIN), "val": examples(rows)}
    overlaps = overlaps_of(splits, {})
    known = len(rows) - len(VAL) if len(rows) > len(TRAIN) or leak.startswith("few") else len(rows)
    for seed in range(_DRAWS):
        draw = random.Random(f"{leak} {seed}")
        guess = [[float(draw.random() < 0.5) for _ in range(len(rows))] for _ in range(2)]
        memo = [1.0] * known + guess[1][known:]
        cells = {
            "base": {"train": [0.5] * len(TRAIN), "val": guess[0]},
            "memo": {"train": [1.0] * len(TRAIN), "val": memo},
        }
        run = made({LEAD: cells})
        layout = replace(run.layout, splits=with_overlaps(run.layout.splits, overlaps))
        verdict = replace(run, layout=layout).summary()["verdict"]
        assert verdict["state"] != "better", verdict["text"]
