"""Numbers are written alike by the page and by the terminal."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from optimize_eval.findings import wording
from optimize_eval.reports.page import document

_FORMAT = Path(document.__file__).with_name("program") / "format.js"


def _numbers() -> list[float]:
    chance = random.Random(7)
    small = [chance.uniform(-2, 2) * 10 ** chance.randint(-9, 12) for _ in range(3000)]
    ties = [n / 16 for n in range(-80, 80)]
    return [*small, *ties, 0.0, -0.0, 999.9994, 999.9996, 0.0005, 0.00049999, 1e-12, 1e-13, 1000.0, 12000.0]


def _written(name: str, numbers: list[float]) -> list[str]:
    program = f"{_FORMAT.read_text()}\nconst given = JSON.parse(require('fs').readFileSync(0));"
    program += f"console.log(JSON.stringify(given.map({name})));"
    done = subprocess.run(
        ["node", "-e", program], input=json.dumps(numbers), capture_output=True, text=True, check=True
    )
    written: list[str] = json.loads(done.stdout)
    return written


@pytest.mark.parametrize(
    ("name", "write"), [("number", wording.number), ("signed", wording.signed)], ids=["number", "signed"]
)
def test_every_number_is_written_as_in_the_terminal(name: str, write: Callable[[float], str]) -> None:
    numbers = _numbers()
    for number, shown in zip(numbers, _written(name, numbers), strict=True):
        assert shown == write(number), repr(number)


def test_shares_and_p_values_are_written_as_in_the_terminal() -> None:
    shares = [n / 997 for n in range(998)]
    assert _written("percent", shares) == [wording.percent(share) for share in shares]
    assert _written("pValue", shares) == [wording.p_value(share) for share in shares]
