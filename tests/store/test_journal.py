"""The journal: whole lines count, a torn last one does not, an edited one is refused; and its report."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.base.errors import CannotGoOn
from optimize_eval.store.journal import Damaged, Journal, decode, entries, seal
from tests.front_door import Cli
from tests.run.projects import Project, copied, finished, project, records, scored, summary

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.dictionaries(st.text().filter(lambda key: key != "crc"), JSON, min_size=1, max_size=5)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"))


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    return copied(original, tmp_path)


def journal(made: Project) -> Path:
    return made.folder / "r" / "journal.jsonl"


def without_footer(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


TEARS: dict[str, Callable[[bytes], bytes]] = {
    "without its end": lambda data: data[:-1],
    "in the middle": lambda data: data[:-120],
    "after one byte": lambda data: data[: data.rindex(b"\n", 0, -1) + 2],
    "zeros for the rest": lambda data: data[:-120] + bytes(120),
    "zeros beyond the end": lambda data: data[:-1] + bytes(4096),
}


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS.keys())
def test_a_torn_last_line_is_dropped_and_its_unit_asked_again(
    cli: Cli, done: Project, tear: Callable[[bytes], bytes]
) -> None:
    expected, whole = summary(done.folder / "r"), without_footer(without_footer(journal(done).read_bytes()))
    journal(done).write_bytes(tear(whole))
    told = cli("report", "r", "--json")
    assert told.status == 0, told.stderr
    assert (told.json["units"]["scored"], told.json["units"]["owed"]) == (23, 1)
    result = cli(*done.command, "--out", "r", env=done.env())
    assert result.status == 0, result.stderr
    assert dict(done.asked()) == {"bbb:12": 1}
    assert summary(done.folder / "r") == expected
    after = journal(done).read_bytes()
    assert after.startswith(without_footer(whole)), "lines that were whole stand as they were"
    assert len(list(entries(journal(done)))) == after.count(b"\n")
    assert b"\0" not in after


def test_a_torn_header_is_a_journal_that_was_not_begun(cli: Cli, done: Project) -> None:
    expected = summary(done.folder / "r")
    journal(done).write_bytes(journal(done).read_bytes()[:40])
    assert cli(*done.command, "--out", "r", env=done.env()).status == 0
    assert (done.asked().total(), summary(done.folder / "r")) == (24, expected)


def test_a_journal_that_is_gone_is_asked_anew(cli: Cli, done: Project) -> None:
    expected = summary(done.folder / "r")
    journal(done).unlink()
    assert cli(*done.command, "--out", "r", env=done.env()).status == 0
    assert (done.asked().total(), summary(done.folder / "r")) == (24, expected)


EDITS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {  # line → what it becomes
    "a score": (5, lambda line: re.sub(rb'"score":0\.\d', b'"score":0.9', line)),
    "a footer": (26, lambda line: line.replace(b"done", b"gone")),
    "the checksum": (7, lambda line: line[:-4] + (b"0" if line[-4:-3] != b"0" else b"1") + line[-3:]),
    "an empty line": (9, lambda line: b"\n" + line),
    "no checksum": (9, lambda line: line[: line.rindex(b',"crc"')] + b"}\n"),
}


@pytest.mark.parametrize(("number", "edit"), EDITS.values(), ids=EDITS.keys())
def test_an_edited_line_is_named_and_refused(
    cli: Cli, done: Project, number: int, edit: Callable[[bytes], bytes]
) -> None:
    lines = journal(done).read_bytes().splitlines(keepends=True)
    assert edit(lines[number - 1]) != lines[number - 1]
    lines[number - 1] = edit(lines[number - 1])
    journal(done).write_bytes(edited := b"".join(lines))
    for command in ([*done.command, "--out", "r"], ["report", "r"], ["report", "r", "--check"]):
        result = cli(*command, env=done.env())
        assert (result.status, result.stdout) == (3, "")
        assert f"r/journal.jsonl:{number}: " in result.stderr
        assert "--fresh" in result.stderr
        assert len(result.stderr.splitlines()) == 2
    assert not done.asked()
    assert journal(done).read_bytes() == edited


HEADERS: dict[str, Callable[[bytes], bytes]] = {
    "one letter": lambda line: line.replace(b"journal.v1", b"journal.v2"),
    "zeros": lambda line: bytes(len(line) - 1) + b"\n",
    "cut in two": lambda line: line[:40] + b"\n" + line[41:],
    "its end": lambda line: line[:-1] + b"?",  # it goes on with the first record
    "shorter": lambda _: b"{}\n",
    "longer": lambda line: line[:30] + b"#" * 400 + line[30:],
}


@pytest.mark.parametrize("edit", HEADERS.values(), ids=HEADERS.keys())
def test_a_damaged_first_line_is_made_again(cli: Cli, done: Project, edit: Callable[[bytes], bytes]) -> None:
    expected = summary(done.folder / "r")
    first, rest = re.split(rb"(?<=\n)", journal(done).read_bytes(), maxsplit=1)
    journal(done).write_bytes(edit(first) + rest)
    told = cli("report", "r")
    assert (told.status, told.stdout) == (3, "")
    assert "run the command of this run again: it makes this line again from run.json" in told.stderr
    again = cli(*done.command, "--out", "r", env=done.env())
    assert again.status == 0, again.stderr
    assert "note: the first line of r/journal.jsonl was damaged, and was made again" in again.stderr
    assert len(done.asked()) == (b"?" in edit(first))
    assert summary(done.folder / "r") == expected
    assert cli("report", "r", "--check").status == 0
    assert "damaged" not in cli(*done.command, "--out", "r", env=done.env()).stderr


def test_a_journal_without_its_first_line_says_so(cli: Cli, done: Project) -> None:
    journal(done).write_bytes(journal(done).read_bytes().partition(b"\n")[2])
    for command in ([*done.command, "--out", "r"], ["report", "r"]):
        result = cli(*command, env=done.env())
        assert (result.status, result.stdout) == (3, "")
        assert "r/journal.jsonl:1: the first line is missing, which says whose journal it is" in result.stderr


def test_a_file_of_others_in_place_of_the_journal_stays_as_it_is(cli: Cli, done: Project) -> None:
    journal(done).write_bytes(b"my notes\nof today\n")
    result = cli(*done.command, "--out", "r", env=done.env())
    assert (result.status, journal(done).read_bytes()) == (3, b"my notes\nof today\n"), result.stderr
    assert "r/journal.jsonl:1: the line is not as it was written" in result.stderr


def of_another_version(data: bytes, number: int, schema: str) -> bytes:
    lines = data.splitlines(keepends=True)
    told = {key: value for key, value in json.loads(lines[number - 1]).items() if key != "crc"}
    lines[number - 1] = seal(told | {"schema": schema})
    return b"".join(lines)


@pytest.mark.parametrize(("number", "what"), [(1, "journal"), (26, "footer")], ids=["header", "footer"])
def test_a_journal_or_footer_of_another_version_is_refused_by_name(
    cli: Cli, done: Project, number: int, what: str
) -> None:
    schema = f"optimize-eval.{what}.v9"
    journal(done).write_bytes(odd := of_another_version(journal(done).read_bytes(), number, schema))
    for command in ([*done.command, "--out", "r"], ["report", "r"], ["diff", "r", "r"]):
        result = cli(*command, env=done.env())
        assert (result.status, result.stdout) == (3, "")
        assert result.stderr.startswith(
            f"error: r/journal.jsonl:{number}: its schema is '{schema}', and this version knows "
        )
    assert not done.asked()
    assert journal(done).read_bytes() == odd


def test_a_footer_of_another_version_is_named_by_runs(cli: Cli, done: Project) -> None:
    schema = "optimize-eval.footer.v9"
    journal(done).write_bytes(of_another_version(journal(done).read_bytes(), 27, schema))
    assert f"its schema is '{schema}'" in cli("runs", ".", "--long").stdout


def test_a_deleted_line_is_asked_again_as_the_advice_says(cli: Cli, done: Project) -> None:
    expected = summary(done.folder / "r")
    lines = journal(done).read_bytes().splitlines(keepends=True)
    journal(done).write_bytes(b"".join(lines[:4] + lines[5:]))
    assert cli(*done.command, "--out", "r", env=done.env()).status == 0
    assert (dict(done.asked()), summary(done.folder / "r")) == ({"a:4": 1}, expected)


def test_the_journal_of_another_run_is_refused(cli: Cli, done: Project) -> None:
    assert cli(*done.command, "--out", "other", "--seed", "5", env=done.env()).status == 0
    done.forget()
    journal(done).write_bytes((done.folder / "other" / "journal.jsonl").read_bytes())
    for command in ([*done.command, "--out", "r"], ["report", "r"]):
        result = cli(*command, env=done.env())
        assert result.status == 3
        assert "r/journal.jsonl:1: the line belongs to another run" in result.stderr
        assert "--fresh" in result.stderr
    assert not done.asked()
    assert cli(*done.command, "--out", "r", "--fresh", env=done.env()).status == 0


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (b"", ("r/run.json was not written by optimize-eval", "r/run.json cannot be read: ")),
        (b"[]", ("r/run.json was not written by optimize-eval", "r/run.json is not a run of optimize-eval")),
        (None, ("r has a journal but no run.json", "there is no run in 'r'")),
    ],
    ids=["empty", "an array", "gone"],
)
def test_a_run_json_that_is_not_one_is_told_and_not_overwritten(
    cli: Cli, done: Project, manifest: bytes | None, words: tuple[str, str]
) -> None:
    path = done.folder / "r" / "run.json"
    path.unlink() if manifest is None else path.write_bytes(manifest)
    for command, told in zip(([*done.command, "--out", "r"], ["report", "r"]), words, strict=True):
        result = cli(*command, env=done.env())
        assert result.status == 2
        assert told in result.stderr
        assert "bug" not in result.stderr
        assert "Traceback" not in result.stderr
        assert command[0] == "run" or "--out" not in result.stderr, "only a run has that option"
    assert not done.asked()
    assert (path.read_bytes() if path.exists() else None) == manifest


def test_a_report_prints_what_the_run_printed(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 30)
    command = [*made.command, "--valset", "d.jsonl", "--out", "a run", "--repeats", "2", "--group-by", "id"]
    ran = cli(*command, env=made.env(FAILS="bbb:7"))
    assert ran.status == 0
    assert cli("report", "a run").stdout == ran.stdout
    again = cli("report", "a run", "--json").json
    assert again == json.loads((tmp_path / "a run" / "summary.json").read_bytes())
    assert cli("report", "a run", "--check").status == 0
    (tmp_path / "d.jsonl").unlink()
    (tmp_path / "counts.sh").unlink()
    assert cli("report", "a run").stdout == ran.stdout


def test_records_hold_what_was_asked_and_what_came_of_it(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 3)
    cli(*made.command, "--out", "r", "--task-model", "m", "--repeats", "2", env=made.env(FAILS="bbb:2"))
    found = records(tmp_path / "r")
    assert len({record["key"] for record in found}) == len(found) == 12
    assert {record["task_model"] for record in found} == {"m"}
    assert {(record["line"], record["repeat"]) for record in found} == {
        (n, r) for n in (1, 2, 3) for r in (1, 2)
    }
    failed = [record for record in found if record["outcome"] == "failed"]
    assert {(r["candidate"], r["line"], r["kind"], r["stderr"]) for r in failed} == {
        ("b", 2, "exit_code", "out of luck\n")
    }
    first = json.loads((tmp_path / "r" / "journal.jsonl").read_bytes().splitlines()[0])
    assert first["schema"] == "optimize-eval.journal.v1"
    assert len(scored(tmp_path / "r")) == 5


@given(record=RECORDS)
def test_a_sealed_record_reads_as_it_was(record: dict[str, Any]) -> None:
    line = seal(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    read = decode(line)
    assert list(read)[-1] == "crc"
    assert {key: value for key, value in read.items() if key != "crc"} == record


@given(
    written=st.lists(RECORDS, max_size=6), torn=st.binary(max_size=20).filter(lambda tail: b"\n" not in tail)
)
def test_entries_are_the_whole_lines_with_their_places(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, Any]], torn: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "laws.jsonl"
    lines = [seal(record) for record in written]
    path.write_bytes(b"".join(lines) + torn)
    found = list(entries(path))
    assert [entry.line for entry in found] == lines
    assert [entry.number for entry in found] == list(range(1, len(lines) + 1))
    data = path.read_bytes()
    assert [data[entry.offset : entry.offset + entry.length] for entry in found] == lines


@settings(max_examples=150)
@given(record=RECORDS, at=st.floats(0, 1, exclude_max=True), other=st.integers(1, 255))
def test_any_changed_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, record: dict[str, Any], at: float, other: int
) -> None:
    """A changed line end makes the last line a torn one, which does not count either."""
    path = tmp_path_factory.getbasetemp() / "changed.jsonl"
    first, line = seal({"first": 1}), bytearray(seal(record))
    line[int(at * len(line))] ^= other
    path.write_bytes(first + line + seal({"last": 1}))
    found: list[object] = []
    with pytest.raises(Damaged, match=r"changed\.jsonl:2: "):
        found.extend(entries(path))
    path.write_bytes(first + line)
    try:
        assert len(list(entries(path))) == 1
    except Damaged as damaged:
        assert "changed.jsonl:2: " in str(damaged)


def test_after_close_nothing_is_written(tmp_path: Path) -> None:
    written = Journal(tmp_path / "j", 0)
    assert [written.append(seal({"n": n})) for n in range(2)] == [0, len(seal({"n": 0}))]
    written.close()
    with pytest.raises(CannotGoOn):
        written.append(b"x\n")
    assert len(list(entries(tmp_path / "j"))) == 2


def test_integers_of_any_size_read_back_exactly_also_deep_inside() -> None:
    value: object = 2**100 + 1
    for _ in range(200):
        value = [value]
    assert decode(seal({"side_info": {"x": value}}))["side_info"] == {"x": value}
