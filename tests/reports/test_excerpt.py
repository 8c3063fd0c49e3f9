"""What a page shows of a record is the same whether its line is cut out as it stands or written anew."""

from typing import Any

import orjson
import pytest

from optimize_eval.reports.page.details import excerpt_of
from optimize_eval.store import journal

_CALL = {"key": "0" * 64, "evaluator": "e", "candidate": "c", "split": "train", "line": 1, "repeat": 1}
_END = {"seconds": 0.5, "attempts": 1, "started_at": "2026-11-19T14:18:03.881+00:00"}
_TRAP = {"seconds": {"x": 1}, "a": {"seconds": 0.5}, "outcome": "scored", "score": 7, "side_info": {"y": 2}}


def excerpt(record: dict[str, Any], reply: str | None = None) -> Any:
    return orjson.loads(excerpt_of(journal.seal(record), reply))


@pytest.mark.parametrize(
    "more",
    [
        {"outcome": "scored", "score": 0.5, "side_info": {}, **_END},
        {"outcome": "scored", "score": -1e300, "side_info": {"why": 'a "quoted" {brace}'}, **_END},
        {"outcome": "scored", "score": 1, "side_info": _TRAP, "output": "ab12", **_END},
        {"outcome": "scored", "score": 1, "side_info": _TRAP, "stderr": '},"seconds":1', **_END},
        {"outcome": "scored", "score": 1, "side_info": {"a": {"b": 1}}, **_END, "attempts": 3},
        {
            "outcome": "scored",
            "score": 1,
            "side_info": _TRAP,
            "usage": [{"model": "m", "seconds": 1}],
            **_END,
        },
        {"side_info": _TRAP, "outcome": "scored", "score": 1, **_END},
        {"candidate": "{", "outcome": "scored", "score": 1, "side_info": _TRAP, **_END},
        {"outcome": "failed", "kind": "timeout", "message": "m", "side_info": _TRAP, "stderr": "s", **_END},
        {"outcome": "skipped", "message": "not for 3", **_END},
    ],
    ids=["bare", "text", "reply", "stderr", "retried", "usage", "other order", "name", "failed", "skipped"],
)
def test_a_line_is_shown_as_its_record_would_be(more: dict[str, Any]) -> None:
    record = {**_CALL, **more}
    kept = {
        name: record[name] for name in ("kind", "message", "stderr", "side_info", "usage") if record.get(name)
    }
    if record["attempts"] > 1:
        kept["attempts"] = record["attempts"]
    assert {name: one for name, one in excerpt(record).items() if one != {}} == kept
    assert excerpt(record, 'a "reply"')["reply"] == 'a "reply"'


def test_an_integer_of_any_size_keeps_its_digits() -> None:
    line = journal.seal({**_CALL, "outcome": "scored", "score": 1, "side_info": {"big": 10**30}, **_END})
    assert excerpt_of(line, None) == b'{"side_info":{"big":1' + b"0" * 30 + b"}}"
