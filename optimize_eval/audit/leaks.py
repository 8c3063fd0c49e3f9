"""What leaked, by run.json and by the data files: which lines of a split count."""

from typing import Any

from optimize_eval.audit.sameness import (
    DataRow,
    NearRows,
    compared_fields,
    copies_among,
    least_of,
    rows_as_recorded,
    values_among,
)

Told = dict[str, Any]
Lines = list[int | None]


def leaked_in(manifest: Told, settings: Told) -> dict[str, Told]:
    """Give what each split with leaked rows has to be told of; older runs have equal bytes alone."""
    if any("splits" in one for one in [*manifest["evaluators"], *manifest["additions"]]):
        return {}  # tasks
    overlaps, keeps = settings.get("overlaps", {}), settings.get("leaks") == "keep"
    told = {}
    for index, split in enumerate(manifest["splits"]):
        known = overlaps.get(split["name"])
        rows = _of_bytes(manifest["splits"][:index], split)
        if known is not None:  # what run.json has, and equal lines that it should have
            listed = {row[0] for row in known["leaks"]}
            rows = [*known["leaks"], *(row for row in rows if row[0] not in listed)]
        rows = [row for row in rows if row[0] in split["lines"]]
        if rows:
            state = "recorded" if known is None else "kept" if keeps else _state(len(rows), split["lines"])
            told[split["name"]] = _told(state, rows, split)
    return told


def counting(split: Told, told: Told | None) -> list[int]:
    """Give the places of the examples that numbers are made of."""
    places = range(len(split["lines"]))
    if told is None or told["state"] in {"recorded", "kept"}:
        return list(places)
    gone = {row["line"] for row in told["rows"]}
    return (
        [] if told["state"] == "leaked" else [place for place in places if split["lines"][place] not in gone]
    )


def contents_of(split: Told, settings: Told) -> list[str]:
    """Give for each example the digest of the first one here that says the same."""
    firsts = dict(settings.get("overlaps", {}).get(split["name"], {}).get("copies", []))
    known: dict[int | None, str] = {}
    for line, digest in zip(split["lines"], split["sha256"], strict=True):
        known.setdefault(firsts.get(line, line), digest)
    return [known[firsts.get(line, line)] for line in split["lines"]]


def doubted(told: dict[str, Told], deciding: str) -> bool:
    """Return True if a split that would confirm something is not held out."""
    return any(told.get(split, {}).get("state") in {"kept", "leaked"} for split in (deciding, "test"))


def _of_bytes(before: list[Told], split: Told) -> list[list[Any]]:
    first: dict[str, tuple[str, int | None]] = {}
    for one in before:
        for line, digest in zip(one["lines"], one["sha256"], strict=True):
            first.setdefault(digest, (one["name"], line))
    pairs = zip(split["lines"], split["sha256"], strict=True)
    return [[line, *first[digest], "bytes", 1.0] for line, digest in pairs if digest in first]


def _state(many: int, lines: Lines) -> str:
    return "leaked" if 2 * many > len(lines) or len(lines) - many < 10 else "part"  # noqa: PLR2004


def _told(state: str, rows: list[list[Any]], split: Told) -> Told:
    every = len(split["lines"])
    names = dict(zip(split["lines"], split.get("names", []), strict=False))
    return {
        "state": state,
        "share": len(rows) / every,
        "examples": every,
        "left_out": every if state == "leaked" else len(rows) if state == "part" else 0,
        "rows": [
            {
                "line": line,
                "id": names.get(line) or None,
                "like": {"split": there, "line": like},
                "how": how,
                "similarity": similarity,
            }
            for line, there, like, how, similarity in rows
        ],
    }


def overlaps_again(settings: Told) -> dict[str, Told]:
    """Find leaks, copies and values of each split whose file, and those before it, are as they were."""
    files = rows_as_recorded(settings)
    found: dict[str, Told] = {}
    for index, (name, rows) in enumerate(files.items()):
        leaks: list[list[Any]] = []
        for before in list(files)[:index]:
            gone = {row[0] for row in leaks}
            left = [row for row in rows if row.line not in gone]
            leaks += [[line, before, *like] for line, *like in leaks_again(files[before], left)]
        found[name] = {"leaks": sorted(leaks), "copies": copies_among(rows)}
        if "values" in settings["overlaps"][name]:
            found[name]["values"] = values_among(rows, settings["overlaps"][name].get("left_out", []))
    return found


def leaks_again(there: list[DataRow], rows: list[DataRow]) -> list[tuple[int, int, str, float]]:
    """Give each row's line, that of the row there, how it was found, and how like they are."""
    if not there or not rows:
        return []
    fields = compared_fields(there, rows)
    of_bytes: dict[bytes, DataRow] = {}
    of_words: dict[tuple[str, ...], list[DataRow]] = {}
    for row in there:
        of_bytes.setdefault(row.raw, row)
        of_words.setdefault(fields.words(row), []).append(row)
    of_words.pop((), None)
    told, left = [], []
    for row in rows:
        same = of_words.get(fields.words(row), [])
        agreeing = [one for one in same if fields.answer(one) == fields.answer(row)]
        if row.raw in of_bytes:
            told.append((row.line, of_bytes[row.raw].line, "bytes", 1.0))
        elif same:
            how = "normalised" if agreeing else "contradiction"
            told.append((row.line, (agreeing or same)[0].line, how, 1.0))
        else:
            left.append(row)
    if fields.is_text and not fields.is_code:
        told += _near(there, rows, left, NearRows(there, rows, fields))
    return told


def _near(
    there: list[DataRow], rows: list[DataRow], left: list[DataRow], search: NearRows
) -> list[tuple[int, int, str, float]]:
    best = [(row.line, *one) for row in left if (one := search.nearest(row))]
    least = least_of([like for _, _, like in best])
    found = [(line, there[place].line, "near", like) for line, place, like in best if like >= least]
    return found if found and search.tell_something(len(found) / len(rows), least) else []
