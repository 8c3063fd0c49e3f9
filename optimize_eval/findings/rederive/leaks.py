"""What leaked: which lines of a split count, and what summary.json has to say of the others."""

from typing import Any

Told = dict[str, Any]
Lines = list[int | None]


def leaked_in(manifest: Told, settings: Told) -> dict[str, Told]:
    """Give what each split with leaked rows has to be told of; older runs have equal bytes alone."""
    if any("splits" in one for one in [*manifest["evaluators"], *manifest["additions"]]):
        return {}  # tasks
    overlaps, keeps = settings.get("overlaps", {}), settings.get("leaks") == "keep"
    told = {}
    for place, split in enumerate(manifest["splits"]):
        known = overlaps.get(split["name"])
        rows = _of_bytes(manifest["splits"][:place], split)
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
