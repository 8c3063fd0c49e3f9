"""Datasets: what loading the largest one allowed costs."""

import json
import tempfile
from pathlib import Path

from optimize_eval.data.datasets import MAX_RECORDS, load_dataset
from tests.benchmarks.measure import Row, median_of, own_cpu


def load_cpu() -> Row:
    record = {
        "id": 7,
        "input": "words " * 60,
        "expected": "words " * 60,
        "metadata": {"difficulty": "easy", "weight": 0.25},
    }
    line = json.dumps({**record, "padding": "x" * (1000 - len(json.dumps(record)))})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.jsonl"
        path.write_text((line + "\n") * MAX_RECORDS)
        seconds = median_of(lambda: own_cpu(lambda: load_dataset(path)))
    return Row(what="loading 10,000 records of 1 KB: CPU", value=seconds * 1000, bar=200, unit=" ms")
