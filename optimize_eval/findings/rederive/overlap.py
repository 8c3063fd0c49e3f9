"""What splits have in common, found again from the data files, by code that shares nothing with the run's."""

from typing import Any

from optimize_eval.findings.rederive.datafiles import DataRow, rows_as_recorded
from optimize_eval.findings.rederive.nearness import NearRows, least_of
from optimize_eval.findings.rederive.sameness import compared_fields, copies_among, values_among

Told = dict[str, Any]


def overlaps_again(settings: Told) -> dict[str, Told]:
    """Find leaks, copies and values of each split whose file, and those before it, are as they were."""
    files = rows_as_recorded(settings)
    found: dict[str, Told] = {}
    for place, (name, rows) in enumerate(files.items()):
        leaks: list[list[Any]] = []
        for before in list(files)[:place]:
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
