"""What models' replies say of themselves, counted twice: cut off, on another scale, answered by whom."""

from collections import Counter
from typing import Any

_THOUGHTS = ("<think>", "<thinking>", "<|channel|>analysis")

Record = dict[str, Any]
Told = dict[str, Any]


def told_of(where: Told, records: list[Record]) -> Told | None:
    """Count over the scored records of one cell; None where none of them is a reply that says anything."""
    sides = [one["side_info"] for one in records]
    replies = [one.get("replied", {}) for one in records]
    tables = [
        [one for one in (side.get("usage"), reply, side.get("model")) if isinstance(one, dict) and one]
        for side, reply in zip(sides, replies, strict=True)
    ]
    told_of_replies = {
        key: many
        for key in ("refused", "empty")
        if (many := sum(reply.get(key) is True for reply in replies))
    }
    names = [
        next((one["answered_by"] for one in found if isinstance(one.get("answered_by"), str)), None)
        for found in tables
    ]
    cut_off = [any(one.get("finish_reason") == "length" for one in found) for found in tables]
    off = [_beyond(side) for side in sides if isinstance(side.get("usage"), dict)]
    thoughts = [str(side.get("output", "")).strip().lower().startswith(_THOUGHTS) for side in sides]
    counted = Counter(name for name in names if name is not None)
    if not (any(cut_off) or any(off) or any(thoughts) or counted or told_of_replies):
        return None
    told = {"scored": len(records), "cut_off": sum(cut_off), "off_scale": sum(map(bool, off))}
    if any(thoughts):
        told["with_thoughts"] = sum(thoughts)
    told |= told_of_replies
    return {**where, **told, "answered_by": dict(counted)}


def told_of_model(mine: list[Told]) -> Told:
    """Say how many of a model's replies were cut off and who gave them, where any tell."""
    cut_off = sum(one["cut_off"] for one in mine)
    thoughts = sum(one.get("with_thoughts", 0) for one in mine)
    others = {key: sum(one.get(key, 0) for one in mine) for key in ("refused", "empty")}
    names = sum((Counter(one["answered_by"]) for one in mine), Counter[str]())
    told = {"cut_off": cut_off, "with_thoughts": thoughts, **others, "answered_by": dict(names)}
    return {key: said for key, said in told.items() if said}


def _beyond(side: Told) -> list[float]:
    changed = side.get("clamped_from")
    numbers = list(changed.values()) if isinstance(changed, dict) else []
    return [one for one in numbers if isinstance(one, int | float) and (one < -0.001 or one > 1.001)]  # noqa: PLR2004
