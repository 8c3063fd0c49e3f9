"""How an animal is put on trial, and whether it is named."""

from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.zoo.animals import Animal, write_data
from tests.front_door import in_this_process


class Tried(NamedTuple):
    """What a trial said of an animal."""

    failed: dict[str, str]
    warned: dict[str, str]
    passed: dict[str, str]
    status: int


def trial_of(animal: Animal, folder: Path) -> Tried:
    """Put one animal on trial by the command, in a folder of its own."""
    write_data(folder)
    command = animal.write(folder)
    done = in_this_process(folder)(
        "preflight",
        "-e",
        command,
        "--dataset",
        f"{animal.data}.jsonl",
        "--good",
        "target",
        "--json",
        *animal.options,
    )
    assert done.status in {0, 1}, done.stderr
    return tried_of(done.json)


def tried_of(said: dict[str, Any]) -> Tried:
    """Read what the command said of one evaluator."""
    (told,) = said["evaluators"]
    by = {
        status: {check["name"]: check["message"] for check in told["checks"] if check["status"] == status}
        for status in ("fail", "warn", "pass")
    }
    return Tried(by["fail"], by["warn"], by["pass"], int(bool(by["fail"])))


def is_named(animal: Animal, tried: Tried) -> bool:
    """Return True if one of its faults is named, as a failure where it can be no one's wish."""
    faults = {fault.replace("-", " ") for fault in animal.faults.split()}
    return bool(faults & (tried.failed.keys() | (tried.warned.keys() if animal.is_warned else set())))
