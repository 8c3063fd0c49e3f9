"""JSON of metrics, which do without the package json: read and written as that would."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _metric import _decoded, _encoded

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(answer=st.dictionaries(st.text(), VALUES))
def test_an_answer_is_written_as_json_writes_it(answer: dict[str, Any]) -> None:
    assert _encoded(answer) == json.dumps(answer)


@given(payload=VALUES, ascii_only=st.booleans(), blanks=st.text(" \t\r\n"))
def test_a_payload_is_read_as_json_reads_it(payload: Any, *, ascii_only: bool, blanks: str) -> None:
    line = (blanks + json.dumps(payload, ensure_ascii=ascii_only) + blanks).encode()
    assert repr(_decoded(line)) == repr(json.loads(line))


ODD = [b"", b"{", b"{} {}", b'{"a": 1,}', b"\xff", b'"\\ud800"', b"[1]\x0b", "[1]".encode("utf-16"), b"nul"]


@pytest.mark.parametrize(
    "line", [*ODD, b"\xef\xbb\xbf[1]", b'"a\nb"', b"NaN", b"-Infinity", b'{"a":1,"a":2}']
)
def test_what_is_no_plain_json_is_told_in_the_words_of_json(line: bytes) -> None:
    assert outcome(_decoded, line) == outcome(json.loads, line)


def outcome(read: Any, line: bytes) -> str:
    try:
        return repr(read(line))
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
