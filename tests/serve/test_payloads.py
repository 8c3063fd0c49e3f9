"""Laws of the body: what we send is read back as it was, and what is no payload by our schema is refused."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.protocol import Payload, encode
from optimize_eval.data.datasets import make_example
from optimize_eval.serve.service import BadPayload, parse_payload
from tests.paths import ROOT

SCHEMA = json.loads((ROOT / "optimize_eval" / "schema" / "payload.schema.json").read_text())
TEXTS = st.text(st.characters(codec="utf-8"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
KNOWN = st.sampled_from(["_protocol_version", "candidate", "example", "task_model", "_id"])


@given(
    candidate=TEXTS,
    example=st.none() | OBJECTS,
    model=st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
)
def test_what_we_send_is_read_back_to_the_byte(
    candidate: str, example: dict[str, Any] | None, model: str | None
) -> None:
    raw = None if example is None else make_example(example).raw
    payload = Payload(candidate=candidate, example=raw, task_model=model)
    assert parse_payload(encode(payload)) == payload
    assert parse_payload(encode(payload, "7")) == payload


@given(st.dictionaries(KNOWN | TEXTS, VALUES | st.just(2)) | VALUES, st.sampled_from([None, 1, "\t"]))
def test_a_body_is_taken_where_our_schema_takes_it(value: Any, indent: int | str | None) -> None:
    import jsonschema

    named = value if isinstance(value, dict) else {}
    is_right = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    expected = is_right and "examples" not in named and "\0" not in named.get("task_model", "")
    try:
        payload = parse_payload(json.dumps(value, indent=indent).encode())
    except BadPayload:
        assert not expected
    else:
        assert expected
        assert payload.candidate == value["candidate"]
        assert (payload.example is None) == ("example" not in value)
        assert payload.example is None or json.loads(payload.example) == value["example"]
        assert payload.example is None or b"\n" not in payload.example


@given(st.binary() | TEXTS.map(str.encode) | OBJECTS.map(lambda value: json.dumps(value).encode()[:-1]))
def test_no_body_breaks_it(body: bytes) -> None:
    try:
        parse_payload(body)
    except BadPayload as bad:
        assert str(bad)
