"""Datasets: every bad line is named with its place and reason, and good ones arrive untouched."""

import gzip
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.errors import DataError, UsageError
from optimize_eval.base.strict_json import dumps
from optimize_eval.data.datasets import (
    MAX_RECORDS,
    copies_of,
    describe_copies,
    load_dataset,
    load_example,
    load_examples,
    make_example,
    parse_example,
    read_dataset,
)
from tests.json_values import OBJECTS


def problems_of(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    return [str(problem).removeprefix(f"{path}:") for problem in read_dataset(path).problems]


BAD_LINES = {
    "syntax": (b'{"a":1}\n{"a" 1}\n', "2:6: expecting ':' delimiter"),
    "array": (b"[1]\n{}\n", "1:1: a record must be a JSON object, this is an array"),
    "string": (b'{}\n  "x"\n', "2:3: a record must be a JSON object, this is a string"),
    "null": (b"{}\nnull\n", "2:1: a record must be a JSON object, this is null"),
    "NaN": (b'{"a": [1, NaN]}\n', "1:11: NaN is not a JSON number"),
    "minus infinity": (b'{"a": -Infinity}\n', "1:7: -Infinity is not a JSON number"),
    "overflow": (b'{"a": 1e999}\n', "1:7: the number 1e999 is too large"),
    "digits": (b'{"a": ' + b"7" * 5000 + b"}\n", "1:7: an integer of 5,000 digits (at most 4,300)"),
    "lone surrogate": (b'{"a": "x\\ud800"}\n', "1:7: a lone surrogate"),
    "duplicate key": (b'{"a": 1, "b": {"a": 2}, "a": 3}\n', '1:25: the key "a" is given twice'),
    "duplicate key by escape": (b'{"a": 1, "\\u0061": 3}\n', '1:10: the key "a" is given twice'),
    "duplicate inside": (b'{"x": [{"k": 1, "k": 2}]}\n', '1:17: the key "k" is given twice'),
    "too deep": (b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}\n", "1:206: nested deeper than 200 levels"),
    "very deep": (b'{"a": ' + b"[" * 100_000 + b"\n", "1:206: nested deeper than 200 levels"),
    "deep and cut off": (b'{"a": ' + b"[" * 300 + b"\n", "1:206: nested deeper than 200 levels"),
    "brackets in a text": (b'{"a": "' + b"[" * 300 + b'" 1}\n', "1:310: expecting ',' delimiter"),
    "brackets that close": (b'{"a": [' + b"[]," * 300 + b"1 1]}\n", "1:910: expecting ',' delimiter"),
    "not UTF-8": (b'{"a": 1}\n{"\xc3\xa4": "\xff"}\n', "2:8: not UTF-8: byte 0xFF"),
    "two on a line": (b'{"a": 1} {"a": 2}\n', "1:10: extra data"),
    "control character": (b'{"a": "x\ty"}\n', "1:9: invalid control character"),
    "no end of a text": (b'{"a": "x}\n', "1:7: unterminated string"),
    "text": (b"hello\n", "1:1: expecting value"),
}


@pytest.mark.parametrize(("data", "expected"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_with_line_column_and_reason(tmp_path: Path, data: bytes, expected: str) -> None:
    (problem,) = problems_of(tmp_path / "d.jsonl", data)
    assert problem.startswith(expected)


FOREIGN_FILES = {
    "gzip": (gzip.compress(b'{"a":1}\n'), "gunzip"),
    "UTF-16": ('{"a":1}\n'.encode("utf-16"), "iconv"),
    "UTF-16 without a mark": ('{"a":1}\n'.encode("utf-16-le"), "iconv"),
    "JSON array": (b'[\n{"a":1},\n{"a":2}\n]\n', "json.load"),
    "JSON array on one line": (b'[{"a":1},{"a":2}]\n', "json.load"),
    "pretty-printed": (b'{\n  "a": 1\n}\n', "jq -c ."),
    "several pretty-printed": (b'{\n  "a": 1\n}\n{\n  "a": 2\n}\n', "jq -c ."),
    "CSV": (b"input,expected\na,b\n", "whose name ends in .csv; rename it: mv '"),
    "quoted CSV": (b'"input","expected"\n"a","b"\n', "my data.csv'"),
    "TSV": (b"input\texpected\na\tb\n", "whose name ends in .tsv; rename it: mv "),
    "semicolons": (b"input;expected\na;b\n", 'delimiter=";"'),
    "parquet": (b"PAR1\0\0", "the file is Parquet, which is read from files whose name ends in .parquet"),
}


@pytest.mark.parametrize(("data", "expected"), FOREIGN_FILES.values(), ids=FOREIGN_FILES.keys())
def test_another_format_is_recognised_and_its_conversion_told(
    tmp_path: Path, data: bytes, expected: str
) -> None:
    problems = problems_of(tmp_path / "my data.jsonl", data)
    assert expected in problems[0]
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("name", "out"),
    [
        ("d.jsonl.gz", "d.jsonl"),
        ("d.gz", "d.jsonl"),
        ("d.jsonl", "d-lines.jsonl"),
        ("my data", "my data.jsonl"),
        ("there.jsonl.gz", "there-lines.jsonl"),
    ],
)
def test_the_line_that_unpacks_a_file_works_whatever_the_file_is_called(
    tmp_path: Path, name: str, out: str
) -> None:
    (tmp_path / "there.jsonl").write_text("{}\n")
    line = problems_of(tmp_path / name, gzip.compress(b'{"a": 1}\n'))[0].partition("convert it: ")[2]
    subprocess.run(["sh", "-c", line], check=True)
    assert load_dataset(tmp_path / out) == [{"a": 1}]
    assert (tmp_path / "there.jsonl").read_text() == "{}\n"


def test_records_that_are_there_already_are_found(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"a": 1}\n\n{"a":1}\n{"a": 1}\n{"a": 2}\n{"a": 1}\n')
    examples = read_dataset(path).examples
    copies = copies_of(examples)
    assert copies == {4: 1, 6: 1}
    assert describe_copies(copies, examples) == "2 of 5 records are copies of others: line 4 equals line 1"
    assert copies_of(examples[:2]) == {}


def test_an_empty_file_is_a_problem(tmp_path: Path) -> None:
    for data in (b"", b"\n \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"):
        assert problems_of(tmp_path / "d.jsonl", data)[0].endswith("the file holds no record")


def test_a_mark_at_the_start_blank_lines_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \r\n{"a": 2}')
    (examples,) = load_examples([path])
    assert [(example.line, example.raw) for example in examples] == [(1, b'{"a": 1}'), (4, b'{"a": 2}')]


def test_unicode_line_separators_do_not_end_a_record(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"a": "x\u2028y\u0085z"}\n', encoding="utf-8")
    assert load_dataset(path) == [{"a": "x\u2028y\u0085z"}]


def test_integers_stay_exact(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": 123456789012345678901234567890, "one": 1.0}\n')
    assert repr(load_dataset(path)) == "[{'id': 123456789012345678901234567890, 'one': 1.0}]"


def test_the_record_after_the_last_allowed_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\n" + b"{}\n" * MAX_RECORDS)
    assert not read_dataset(path).problems
    path.write_bytes(b"\n" + b"{}\n" * (MAX_RECORDS + 7))
    (problem,) = read_dataset(path).problems
    assert (problem.line, problem.rule) == (MAX_RECORDS + 2, "too_many")


def test_problems_of_all_files_come_together_the_first_twenty_in_the_text(tmp_path: Path) -> None:
    train, val = tmp_path / "train.jsonl", tmp_path / "val.jsonl"
    train.write_text("{}\n" + "[]\n" * 15)
    val.write_text("{}\n" + "1\n" * 15)
    with pytest.raises(DataError) as caught:
        load_examples([train, val])
    lines = str(caught.value).splitlines()
    assert len(caught.value.problems) == 30
    assert lines[0].startswith(f"{train}:2:1: ")
    assert lines[19].startswith(f"{val}:6:1: ")
    assert lines[20] == "… and 10 more problems; validate --json lists all"


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"trian\.jsonl: no such file; did you mean .*train\.jsonl\?"):
        load_dataset(tmp_path / "trian.jsonl")


def test_one_line_is_loaded_whatever_the_others_are(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('broken\n\n{"a": 1}\n')
    assert load_example(path, 3).value == {"a": 1}
    with pytest.raises(DataError, match=":1:1: "):
        load_example(path, 1)
    with pytest.raises(UsageError, match="no record on this line") as caught:
        load_example(path, 2)
    assert caught.value.hint == f"the nearest record is {path}:1"


def test_an_example_written_over_several_lines_becomes_one() -> None:
    assert parse_example('{\n"a":\r\n1}', source="--example").raw == b'{ "a":  1}'


@given(OBJECTS)
def test_a_made_example_reads_back_as_it_was(value: dict[str, object]) -> None:
    example = make_example(value)
    assert example.value == value
    assert b"\n" not in example.raw


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": "\ud800"}, {"a": object()}, {"a": {1, 2}}])
def test_an_example_that_json_cannot_carry_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        make_example(value)


@given(st.lists(OBJECTS, min_size=1, max_size=5))
def test_every_dumped_record_loads(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]]
) -> None:
    path = tmp_path_factory.mktemp("law") / "d.jsonl"
    path.write_bytes(b"\n".join(dumps(record) for record in records))
    assert load_dataset(path) == records


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_loader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("law") / "d.jsonl"
    path.write_bytes(data)
    reading = read_dataset(path)
    assert reading.examples or reading.problems
