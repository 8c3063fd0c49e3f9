"""What is not the same in two documents of runs, in words: evaluators, models and the examples of splits."""

from collections.abc import Iterator, Sequence

from optimize_eval.store.layout import Split
from optimize_eval.store.run_document import RunDocument, StoredProgram

_EDITED = "its run.json is of another version, or was edited"
_SHOWN = 3
_MOST = 10


def changed_evaluators(old: RunDocument, new: RunDocument) -> list[str]:
    """Say which evaluators of both are not the same, one line each; also of those that were added."""
    if any(entry.files is None for entry in (*old.selected_evaluators, *new.selected_evaluators)):
        return [_EDITED]
    after = {entry.name: entry for entry in new.selected_evaluators}
    pairs = ((entry, after[entry.name]) for entry in old.selected_evaluators if entry.name in after)
    return [
        f"evaluator {entry.name} {program_change(entry, other)}"
        for entry, other in pairs
        if (entry.sha256, entry.score_range) != (other.sha256, other.score_range)
    ]


def changed_splits(old: RunDocument, new: RunDocument) -> list[str]:
    """Say which splits of both have not the same examples, one line each."""
    after = {split.name: split for split in new.selection.splits}
    pairs = ((split, after[split.name]) for split in old.selection.splits if split.name in after)
    return [
        f"split {split.name} {_split_change(split, other, new.place_word(split.name))}"
        for split, other in pairs
        if (split.lines, split.sha256) != (other.lines, other.sha256)
    ]


def list_changes(changes: Sequence[str]) -> list[str]:
    """Lay out changes for an error's text; of a great many the first."""
    lines = [f"  {line}" for line in changes[:_MOST]]
    if len(changes) > _MOST:
        lines.append(f"  … and {len(changes) - _MOST:,} more")
    return lines


def say_lines(lines: Sequence[int | None]) -> str:
    """Name some lines of changed examples."""
    return ", ".join(map(str, lines[:_SHOWN])) + ("…" if len(lines) > _SHOWN else "")


def program_change(old: StoredProgram, new: StoredProgram) -> str:
    """Say what is not the same in an evaluator, or in a model."""
    return "; ".join(filter(None, _changes(old, new))) or "has changed"


def _changes(old: StoredProgram, new: StoredProgram) -> Iterator[str]:
    before = dict(old.files or ())
    changed = [name for name, sha256 in new.files or () if before.get(name) != sha256]
    yield _was(old.text, new.text)
    yield f"has changed: {', '.join(changed)}" if changed else ""
    yield f"had the score range {old.score_range}" if old.score_range != new.score_range else ""


def _was(old: str, new: str) -> str:
    """Say what an evaluator was; where --extract alone is new, that is what differs."""
    added = new.removeprefix(f"{old} ")
    without = f" without {added}" if added != new and added.startswith("--extract ") else ""
    return f"was {old}{without}" if old != new else ""


def _split_change(old: Split, new: Split, counted: str) -> str:
    before = dict(zip(old.lines, old.sha256, strict=True))
    after = dict(zip(new.lines, new.sha256, strict=True))
    changed = [line for line in after if line in before and before[line] != after[line]]
    if changed:
        where = f"{counted} {say_lines(changed)}"
        return f"has {len(changed):,} changed example{'s' * (len(changed) != 1)} ({where})"
    if len(after) == len(before):
        return f"has {len(after):,} examples of other lines"
    return f"has {len(after):,} examples, and had {len(before):,}"
