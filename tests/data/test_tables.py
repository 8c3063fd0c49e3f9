"""Tables as datasets: CSV, TSV, lists in JSON and Parquet become examples, or all their faults are named."""

import json
import random
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval import DataError, UsageError, load_dataset
from optimize_eval.data.datasets import load_example, read_dataset
from optimize_eval.data.tables import reader_of
from tests.json_values import OBJECTS
from tests.tools import need_module

CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def problems(path: Path) -> list[str]:
    return [str(problem).removeprefix(f"{path}:") for problem in read_dataset(path).problems]


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["7", "-12", "0"], [7, -12, 0]),
        (["7", "", "12"], [7, None, 12]),
        (["1.5", "2", "-3e2"], [1.5, 2, -300.0]),
        (["true", "FALSE", ""], [True, False, None]),
        (["02139", "90210"], ["02139", "90210"]),
        (["7", "seven", ""], ["7", "seven", ""]),
        (["1", "true"], ["1", "true"]),
        (["1e999", "1"], ["1e999", "1"]),
        (["+1", "1."], ["+1", "1."]),
        (["7" * 4301], ["7" * 4301]),
        (["NaN", "1"], ["NaN", "1"]),
        (["", ""], ["", ""]),
        (["٣"], ["٣"]),
    ],
)
def test_all_cells_of_a_column_have_one_type(cells: list[str], values: list[object]) -> None:
    read = reader_of(cells)
    assert [(type(read(cell)), read(cell)) for cell in cells] == [(type(value), value) for value in values]


def test_a_csv_file_has_quotes_line_ends_in_cells_a_mark_and_blank_lines(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbfid,input,ok\r\n1,"Ada, ""the\nfirst""",true\r\n\r\n2,B\xc5\x82,false\r\n'
    path = written(tmp_path / "d.csv", data)
    first = {"id": 1, "input": 'Ada, "the\nfirst"', "ok": True}
    assert load_dataset(path) == [first, {"id": 2, "input": "Bł", "ok": False}]
    examples = read_dataset(path).examples
    assert [example.line for example in examples] == [1, 2], "the numbers of the records"
    assert examples[0].raw == json.dumps(first, separators=(",", ":")).encode()


BAD_TABLES = {
    "ragged": (
        b"a,b\n1,2\n3\n4,5,6\n",
        [
            "2:2: the row has 1 cell, and the header 2 columns (line 3 of the file)",
            "3:3: the row has 3 cells, and the header 2 columns (line 4 of the file)",
        ],
    ),
    "not UTF-8, behind a cell of two lines": (
        b'a,b\n"x\ny",1\n\xff,\xc3\n',
        [
            "2:1: 'a' is not UTF-8: byte 0xFF (line 4 of the file)",
            "2:2: 'b' is not UTF-8: byte 0xC3 (line 4 of the file)",
        ],
    ),
    "all empty": (b"a,b\n1,2\n,\n", ["2:1: all cells of the row are empty: remove it (line 3 of the file)"]),
    "header": (
        b"a,,a,\xff\n1,2,3,4\n",
        [
            "0:2: the column has no name in the header (line 1 of the file)",
            "0:3: the name 'a' is that of column 1, too (line 1 of the file)",
            "0:4: the header is not UTF-8: byte 0xFF (line 1 of the file)",
        ],
    ),
    "open quote": (b'a\n1\n"2\n3\n', ["2: a cell begins with a quote that has no end (line 3 of the file)"]),
    "text behind a quote": (
        b'a\n1\n"2"x\n3\n',
        [
            (
                "2: a cell goes on behind its closing quote: "
                "a quote inside is written twice (line 3 of the file)"
            ),
        ],
    ),
    "no record": (b"a,b\n", [" the file holds no record"]),
    "nothing": (b"", [" the file holds no record"]),
}


@pytest.mark.parametrize(("data", "expected"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_all_that_is_wrong_with_a_table_is_named_by_row_and_column(
    tmp_path: Path, data: bytes, expected: list[str]
) -> None:
    assert problems(written(tmp_path / "d.csv", data)) == expected


def test_a_table_of_another_kind_than_its_name_says_is_told(tmp_path: Path) -> None:
    (semicolons,) = problems(written(tmp_path / "d.csv", b"a;b\n1;2\n"))
    assert 'delimiter=";"' in semicolons
    (spreadsheet,) = problems(written(tmp_path / "s.csv", b"PK\x03\x04..."))
    assert "a zip archive or a spreadsheet" in spreadsheet
    assert load_dataset(written(tmp_path / "d.TSV", b"a\tb\n1,5\t2\n")) == [{"a": "1,5", "b": 2}]


def test_a_json_file_is_one_list_or_objects_line_by_line(tmp_path: Path) -> None:
    data = b'[\n {"n": 123456789012345678901234567890,\n  "x": [1.0]},\n {}\n]\n'
    path = written(tmp_path / "d.json", data)
    assert [(one.line, one.raw) for one in read_dataset(path).examples] == [
        (1, b'{"n":123456789012345678901234567890,"x":[1.0]}'),
        (2, b"{}"),
    ]
    lines = written(tmp_path / "lines.json", b'{"a": 1}\n{"a":  2}\n')
    assert [one.raw for one in read_dataset(lines).examples] == [b'{"a": 1}', b'{"a":  2}']


BAD_LISTS = {
    "each record": (
        b'[\n {"a": 1, "a": 2}, 7,\n {"b": NaN}, {"c": "\\ud800"},\n {"d": 1}]',
        [
            '1:1: the key "a" is given twice (line 2, column 11 of the file)',
            "2:1: a record must be a JSON object, this is a number (line 2, column 20 of the file)",
            "3:1: NaN is not a JSON number (line 3, column 8 of the file)",
            (
                "4:1: a lone surrogate (half of a \\ud83d\\ude00 pair) in a string "
                "(line 3, column 20 of the file)"
            ),
        ],
    ),
    "no comma": (
        b'[{"a": 1}\n {}]',
        ["1:1: expecting ',' or ']' after the record (line 2, column 2 of the file)"],
    ),
    "comma at the end": (
        b"[{},]",
        ["1:1: a comma before the end of the list (line 1, column 4 of the file)"],
    ),
    "cut off": (b'[{}, {"a": "x', ["2:1: unterminated string (line 1, column 12 of the file)"]),
    "more": (b"[{}] []", ["1:1: something follows the list (line 1, column 6 of the file)"]),
    "digits": (
        b'[{"a": ' + b"7" * 4301 + b"}]",
        ["1:1: an integer of 4,301 digits (at most 4,300) (line 1, column 8 of the file)"],
    ),
    "deep": (b"[" * 5000, ["1:1: nested deeper than 200 levels (line 1, column 202 of the file)"]),
    "not UTF-8": (b'[{"a":\n "\xff"}]', [" not UTF-8: byte 0xFF (line 2, column 3 of the file)"]),
    "one object": (
        b'{"data": [{"a": 1}]}\n',
        [
            (
                " the file is one object, and a list of objects is needed: [{…}, …]; "
                "take its list 'data' out of it"
            ),
        ],
    ),
    "a number": (b"7", [" the file is not a list of objects: [{…}, …]"]),
    "empty": (b"[]", [" the file holds no record"]),
    "blank": (b" \n", [" the file holds no record"]),
}


@pytest.mark.parametrize(("data", "expected"), BAD_LISTS.values(), ids=BAD_LISTS.keys())
def test_all_that_is_wrong_with_a_list_is_named(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    assert problems(written(tmp_path / "d.json", data)) == expected


def test_one_record_of_a_table_is_loaded_by_its_number_whatever_the_others_are(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", b"a,b\n1,2\n3\n\n5,6\n")
    assert load_example(path, 3).value == {"a": 5, "b": 6}
    with pytest.raises(DataError, match=r"d\.csv:2:2: the row has 1 cell"):
        load_example(path, 2)
    with pytest.raises(UsageError, match="no record of this number") as caught:
        load_example(path, 9)
    assert caught.value.hint == f"the nearest record is {path}:3"
    with pytest.raises(DataError, match="the file is one object"):
        load_example(written(tmp_path / "d.json", b'{"a": 1}'), 1)


def test_a_cell_may_be_long_and_a_table_too(tmp_path: Path) -> None:
    path = written(tmp_path / "d.csv", b"a\n" + b"x" * 200_000 + b"\n")
    assert [len(record["a"]) for record in load_dataset(path)] == [200_000]
    long = written(tmp_path / "long.csv", b"a\n" + b"1\n" * 10_002)
    (problem,) = read_dataset(long).problems
    assert (problem.line, problem.rule) == (10_001, "too_many")
    assert len(read_dataset(long, most=None).examples) == 10_002


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1), st.randoms(use_true_random=False))
def test_what_the_csv_module_writes_reads_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], drawn: random.Random
) -> None:
    csv: Any = import_module("csv")
    path = tmp_path_factory.mktemp("law") / "d.csv"
    rows = [(f"t{first}", second) for first, second in rows]
    with path.open("w", newline="", encoding="utf-8") as file:
        quoting = drawn.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
        csv.writer(file, quoting=quoting).writerows([("a", "b"), *rows])
    reading = read_dataset(path)
    assert not reading.problems
    assert [example.value["a"] for example in reading.examples] == [first for first, _ in rows]


@settings(max_examples=20)
@given(st.lists(OBJECTS, min_size=1, max_size=3), st.sampled_from([None, 1]))
def test_every_list_that_json_writes_reads_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]], indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("law") / "d.json"
    path.write_text(json.dumps(records, indent=indent), encoding="utf-8")
    assert load_dataset(path) == records


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.json", "d.parquet"])
@given(data=st.binary(max_size=200))
def test_no_bytes_crash_a_reader(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    reading = read_dataset(written(tmp_path_factory.mktemp("law") / name, data))
    assert reading.examples or reading.problems


def parquet(path: Path, columns: Any, **options: Any) -> Path:
    arrow: Any = import_module("pyarrow")
    import_module("pyarrow.parquet").write_table(arrow.table(columns, **options), path)
    return path


@need_module("pyarrow")
def test_a_parquet_file_has_numbers_texts_times_and_nested_values(tmp_path: Path) -> None:
    from datetime import UTC, date, datetime
    from decimal import Decimal

    columns = {
        "q": ["Ada", "Bo"],
        "n": [2**62, None],
        "tags": [["a"], []],
        "meta": [{"x": {"y": 1.5}}, {"x": {"y": None}}],
        "day": [date(2020, 2, 29), None],
        "at": [datetime(2020, 1, 1, tzinfo=UTC), None],
        "price": [Decimal("1.50"), Decimal("2.00")],
    }
    assert load_dataset(parquet(tmp_path / "d.parquet", columns)) == [
        {"q": "Ada", "n": 2**62, "tags": ["a"], "meta": {"x": {"y": 1.5}}, "day": "2020-02-29",
         "at": "2020-01-01T00:00:00+00:00", "price": 1.5},
        {"q": "Bo", "n": None, "tags": [], "meta": {"x": {"y": None}}, "day": None, "at": None, "price": 2},
    ]  # fmt: skip


@need_module("pyarrow")
def test_what_json_has_no_value_for_is_named_by_column(tmp_path: Path) -> None:
    image = parquet(tmp_path / "image.parquet", {"q": ["a"], "image": [{"bytes": b"\0"}]})
    assert problems(image) == [
        "0:2: 'image' is of type binary, which JSON has not: omit it, or make it a text"
    ]
    numbers = parquet(tmp_path / "n.parquet", {"q": ["a", "b"], "v": [[1.0], [float("nan")]]})
    assert problems(numbers) == ["2:2: 'v' holds NaN or an infinite number, which JSON has not"]
    twice = parquet(tmp_path / "t.parquet", [["a"], ["b"]], names=["q", "q"])
    assert problems(twice) == ["0:2: the name 'q' is that of column 1, too"]
    (broken,) = problems(written(tmp_path / "b.parquet", b"PAR1 and no more"))
    assert broken.startswith(" the file cannot be read as Parquet: ")


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimize_eval.data.tables.find_spec", lambda _: None)
    (problem,) = problems(written(tmp_path / "d.parquet", b"PAR1"))
    assert (
        problem == f" Parquet is read by pyarrow: {shlex.quote(sys.executable)} -m pip install 'pyarrow>=20'"
    )
