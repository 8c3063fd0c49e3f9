"""`python -m tests.benchmarks.zoo [NAME…]`: put each animal on trial, and print what each is told of.

It ends with 1 where less than nine tenths of the faulty ones are named, or a sound one fails. With `broken`
alone it breaks starters instead, and says which are told of what is wrong, and how; with `in FOLDER [NAME…]`
it visits a zoo that is kept there.
"""

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.benchmarks.zoo.animals import Animal
from tests.benchmarks.zoo.breaking import BROKEN, break_starter, is_said
from tests.benchmarks.zoo.elsewhere import visit
from tests.benchmarks.zoo.faulty import FAULTY
from tests.benchmarks.zoo.sound import SOUND
from tests.benchmarks.zoo.trying import Tried, is_named, trial_of

_LEAST_NAMED = 0.9
_AT_ONCE = 2  # starters that are broken
_NO_FAULT = {"speed"}


def _row(animal: Animal, tried: Tried, *, is_right: bool) -> str:
    told = ", ".join([*tried.failed, *(f"({name})" for name in tried.warned if name not in _NO_FAULT)]) or "-"
    return f"{'  ' if is_right else '! '}{animal.name:36}{animal.language.removeprefix('whole '):8}{told}"


def _try_each(title: str, animals: Sequence[Animal], wanted: Sequence[str]) -> tuple[int, int, int]:
    """Count the animals, those of which the right thing is said, and those that are warned of."""
    chosen = [animal for animal in animals if not wanted or animal.name in wanted]
    right = warned = 0
    print(f"{title}: what failed, and what is warned of in brackets")
    for animal in chosen:
        with tempfile.TemporaryDirectory() as folder:
            tried = trial_of(animal, Path(folder))
        is_right = is_named(animal, tried) if animal.faults else tried.status == 0
        right, warned = right + is_right, warned + bool(tried.warned.keys() - _NO_FAULT)
        print(_row(animal, tried, is_right=is_right), flush=True)
        if not is_right or wanted:
            _print_said(tried)
    print(f"{title}: {right} of {len(chosen)} as they should be, {warned} warned of\n")
    return len(chosen), right, warned


def _break_starters(wanted: Sequence[str]) -> int:
    said = red = 0
    chosen = [broken for broken in BROKEN if not wanted or broken["name"] in wanted]
    with ThreadPoolExecutor(_AT_ONCE) as slots:
        for broken, tried in zip(chosen, slots.map(_break, chosen), strict=True):
            is_right = is_said(broken, tried)
            said, red = said + is_right, red + bool(tried.failed)
            animal = Animal(broken["name"], broken["lang"], "", "")
            print(_row(animal, tried, is_right=is_right), flush=True)
            _print_said(tried)
    print(f"broken: {red} of {len(chosen)} fail, {said} are told of what is wrong")
    return int(said < _LEAST_NAMED * len(chosen))


def _break(broken: dict[str, Any]) -> Tried:
    with tempfile.TemporaryDirectory() as folder:
        return break_starter(broken, Path(folder))


def _print_said(tried: Tried) -> None:
    for name, message in {**tried.failed, **tried.warned}.items():
        print(f"      {name}: {message}", flush=True)


def main(wanted: Sequence[str]) -> int:
    if wanted[:1] == ["broken"]:
        return _break_starters(wanted[1:])
    if wanted[:1] == ["in"]:
        return visit(Path(wanted[1]), wanted[2:])
    faulty, named, _ = _try_each("faulty", FAULTY, wanted)
    sound, passed, _ = _try_each("sound", SOUND, wanted)
    return int(named < _LEAST_NAMED * faulty or passed < sound)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
