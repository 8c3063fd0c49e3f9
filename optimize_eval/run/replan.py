"""The inputs of a run, found again: each candidate and each example must be the one that run.json names.

All that differ are listed at once, with line or name, before anything is called.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import ParsedFile, where_of
from optimize_eval.programs.identity import Identity
from optimize_eval.run.plan import Plan, plan_run
from optimize_eval.run.splits import SplitSource
from optimize_eval.store.manifest import Manifest

if TYPE_CHECKING:
    from optimize_eval.data.example import Example

OPTIONS = {"train": "--dataset", "val": "--valset", "test": "--testset"}

_THE_FILE = "the task file"
_CANDIDATES = "--candidate or --candidates"
_SHOWN = 10


class MissingInput(NamedTuple):
    """Something of a run that is not as it was, and the option that says where it is now."""

    what: str
    option: str


def plan_again(
    specs: Sequence[Any],
    manifest: Manifest,
    readings: Mapping[str, ParsedFile | None],
    texts: Iterable[Candidate],
) -> Plan:
    """Plan the same inputs for other evaluators; raises UsageError where the inputs have changed."""
    lost: list[MissingInput] = []
    sources = [_source(split, readings.get(split["name"]), lost.append) for split in _splits(manifest)]
    candidates = _candidates(manifest, list(texts), lost.append)
    if lost:
        raise _not_the_same(lost)
    return plan_run(
        specs,
        candidates,
        sources,
        task_models=manifest["task_models"],
        models=models_of(manifest),
        repeats=manifest["repeats"],
        baseline=manifest["baseline"],
        seed=manifest["seed"],
    )


def models_of(manifest: Manifest) -> list[Identity]:
    """Give the models that a run called, by their names."""
    return [
        Identity(name=model["name"], text=model["text"], files=(), sha256=model["sha256"])
        for model in manifest.get("models", ())
    ]


def examples_again(manifest: Manifest, readings: Mapping[str, ParsedFile | None]) -> list[SplitSource]:
    """Find a run's examples again; raises UsageError where they are not the same."""
    lost: list[MissingInput] = []
    sources = [_source(split, readings.get(split["name"]), lost.append) for split in _splits(manifest)]
    if lost:
        raise _not_the_same(lost)
    return sources


def _splits(manifest: Manifest) -> list[Mapping[str, Any]]:
    return [split for split in manifest["splits"] if split["lines"] != [None]]


def _source(
    split: Mapping[str, Any], reading: ParsedFile | None, lose: Callable[[MissingInput], None]
) -> SplitSource:
    """Choose the lines that the run has; it ignores others in the file."""
    name = split["name"]
    if reading is None:
        file = f" ({split['file']})" if split.get("file") else ""
        lose(
            MissingInput(
                f"run.json does not say where the {name} examples{file} are", OPTIONS.get(name, _THE_FILE)
            )
        )
        return SplitSource(name=name, file="", examples=())
    option = OPTIONS.get(name, _THE_FILE)
    at = {example.line: example for example in reading.examples}
    chosen: list[Example] = []
    for problem in reading.problems:
        lose(MissingInput(str(problem), option))
    for line, digest in zip(split["lines"], split["sha256"], strict=True) if not reading.problems else ():
        example = at.get(line)
        if example is None:
            lose(
                MissingInput(
                    f"{reading.path}:{line}: there is no example {where_of(reading.path)} any more", option
                )
            )
        elif _sha256(example.raw) != digest:
            lose(
                MissingInput(
                    f"{reading.path}:{line}: the example has changed since the run{example.in_file}", option
                )
            )
        else:
            chosen.append(example)
    return SplitSource(name=name, file=reading.path, examples=tuple(chosen))


def _candidates(
    manifest: Manifest, loaded: Sequence[Candidate], lose: Callable[[MissingInput], None]
) -> tuple[Candidate, ...]:
    by_digest = {_sha256(candidate.text.encode()): candidate.text for candidate in loaded}
    names = {candidate.name for candidate in loaded}
    return tuple(_candidate(candidate, by_digest, names, lose) for candidate in manifest["candidates"])


def _candidate(
    entry: Mapping[str, Any],
    by_digest: Mapping[str, str],
    names: set[str],
    lose: Callable[[MissingInput], None],
) -> Candidate:
    """Find a text by its digest, under any name; run.json has the small ones itself."""
    name = entry["name"]
    if entry.get("field"):
        return Candidate(name=name, field=entry["field"])
    text = by_digest.get(entry.get("sha256", ""))
    if text is None and name in names:
        lose(MissingInput(f"candidate {name} has changed since the run", _CANDIDATES))
    elif text is None:
        text = entry.get("text")
        if text is None or _sha256(text.encode()) != entry.get("sha256"):
            lose(
                MissingInput(
                    f"candidate {name} is missing, and was too long to be kept in run.json", _CANDIDATES
                )
            )
    return Candidate(name=name, text=text or "")


def _not_the_same(lost: Sequence[MissingInput]) -> UsageError:
    lines = [f"  {missing.what}" for missing in lost[:_SHOWN]]
    if len(lost) > _SHOWN:
        lines.append(f"  … and {len(lost) - _SHOWN:,} more")
    options = ", ".join(dict.fromkeys(missing.option for missing in lost))
    return UsageError(
        "\n".join(["the inputs have changed since this run; nothing was called:", *lines]),
        hint=f"restore the inputs, or say where they are now: {options}",
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
