"""A run's results from code: typed, computed from the journal, read anew as often as one likes."""

import signal
import threading
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.etree.ElementTree import fromstring

import orjson
import pytest

from optimize_eval import Run, RunRecord, UsageError, load_run
from optimize_eval.findings.summary_shape import Summary, summary_from
from optimize_eval.reports.row_formats import find_columns
from optimize_eval.store.folder import JOURNAL, MANIFEST
from optimize_eval.store.journal import Damaged
from tests.findings.made import LEAD, Fails, No, Says, made, moved, noisy
from tests.front_door import Cli

TRAIN, VAL = noisy(30, seed=3), noisy(40)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cells: dict[str, Any] = {
        "baseline": {
            "train": TRAIN,
            "val": [Says(one, {"dims": {"tone": one}, "tags": ["a"]}) for one in VAL],
        },
        "better": {"train": moved(TRAIN, 0.1), "val": moved(VAL, 0.1)},
        "fails": {"train": TRAIN, "val": [Fails(), No.SKIPPED, *VAL[2:]]},
    }
    return made({LEAD: cells}).write(tmp_path / "r")


@pytest.fixture
def results(folder: Path) -> Run:
    return load_run(folder)


def test_the_typed_summary_is_the_document(cli: Cli, results: Run) -> None:
    document = cli("report", "r", "--json").json
    summary = results.summary
    assert summary.document == document
    assert summary_from(document) == summary
    assert orjson.dumps(summary.to_dict()) == orjson.dumps(document), "keys are in their order, too"


@pytest.mark.parametrize("missing", ["verdict", "units", "rows"])
def test_what_is_no_summary_is_refused(results: Run, missing: str) -> None:
    document = {name: value for name, value in results.summary.document.items() if name != missing}
    with pytest.raises(LookupError):
        summary_from(document)
    with pytest.raises(ValueError, match="schema"):
        summary_from({**results.summary.document, "schema": "optimize-eval.summary.v9"})


def test_numbers_are_there_by_name(results: Run) -> None:
    summary: Summary = results.summary
    better = next(row for row in summary.rows if row.candidate == "better")
    assert better.vs_baseline is not None
    assert better.vs_baseline["val"].mark == "better"
    assert better.vs_baseline["val"].diff == pytest.approx(0.1)
    assert summary.verdict.text.startswith("better beats baseline on held-out data: +0.100 judge")
    assert summary.rows[0].vs_baseline is None


def test_records_are_typed_and_may_be_read_again_and_again(results: Run) -> None:
    records = list(results.records)
    assert len(records) == len(results.records) == 210
    assert list(results.records) == records
    first = next(one for one in records if one.side_info)
    assert first == RunRecord(
        evaluator=LEAD,
        candidate="baseline",
        task_model=None,
        split="val",
        line=1,
        repeat=1,
        outcome="scored",
        score=VAL[0],
        kind=None,
        message=None,
        seconds=0.25,
        attempts=1,
        started_at=None,
        stderr=None,
        side_info={"dims": {"tone": VAL[0]}, "tags": ["a"]},
    )
    assert first.flat()["side_info.dims.tone"] == VAL[0]
    assert first.flat()["side_info.tags"] == '["a"]'
    failed, skipped = (one for one in records if one.outcome != "scored")
    assert (failed.outcome, failed.score, failed.kind) == ("failed", None, "timeout")
    assert (skipped.outcome, skipped.score, skipped.message, skipped.seconds) == (
        "skipped",
        None,
        "filtered",
        None,
    )


def test_two_may_read_at_the_same_time(results: Run) -> None:
    for one, other in zip(results.records, results.records, strict=True):
        assert one == other


def test_a_run_and_its_records_are_short_to_look_at(folder: Path, results: Run) -> None:
    assert repr(results) == f"<run {str(folder)!r}: 210 of 210 calls done>"
    assert repr(results.records) == f"<210 records of {str(folder)!r}>"


def test_a_notebook_shows_the_verdict_and_the_tables_with_nothing_foreign_in_force(tmp_path: Path) -> None:
    odd = "<img src=x onerror=alert(1)> & \x1b[2J"
    run = made({LEAD: {"baseline": {"val": VAL}, odd: {"val": moved(VAL, 0.1)}}})
    html = load_run(run.write(tmp_path / "n"))._repr_html_()
    page = fromstring(f"<div>{html}</div>")  # noqa: S314  our own
    summary = run.summary()
    assert page.findtext("p/b") == summary["verdict"]["text"].replace("\x1b", "\\x1b") + "."
    assert len(page.findall("ul/li")) == len(summary["verdict"]["points"])
    assert [cell.text for cell in page.findall("table/tr/th")][:2] == ["candidate", "val"]
    assert [row.findtext("td") for row in page.findall("table/tr")[1:]] == [
        odd.replace("\x1b", "\\x1b"),
        "baseline",
    ]
    assert not page.findall(".//img")


def test_records_laid_flat_have_the_columns_of_the_table_and_the_means_of_the_summary(
    results: Run,
) -> None:
    flat = [record.flat() for record in results.records]
    assert list(dict.fromkeys(name for row in flat for name in row)) == list(
        find_columns(results.records).names
    )
    scores = {(row["candidate"], row["split"]): list[float]() for row in flat}
    for row in flat:
        scores[row["candidate"], row["split"]] += [] if row.get("score") is None else [row["score"]]
    for found in results.summary.rows:
        for split, summed in found.splits.items():
            assert fmean(scores[found.candidate, split]) == pytest.approx(summed.mean)
    assert sum(row.get("score") is None for row in flat) == 2


@pytest.mark.parametrize("path", ["r", "r/run.json"])
def test_a_run_is_named_by_its_folder_or_its_file(folder: Path, path: str) -> None:
    for given in (folder.parent / path, str(folder.parent / path)):
        assert load_run(given).folder == folder


@pytest.mark.parametrize("missing", [JOURNAL, MANIFEST])
def test_where_there_is_no_run_it_says_so(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(UsageError, match="there is no run in"):
        load_run(folder)


@pytest.mark.parametrize("content", [b"x\n", b"", None], ids=["other", "empty", "gone"])
def test_a_journal_that_changes_under_a_reader_is_told(
    folder: Path, results: Run, content: bytes | None
) -> None:
    if content is None:
        (folder / JOURNAL).unlink()
    else:
        (folder / JOURNAL).write_bytes(content)
    with pytest.raises(Damaged, match="was changed while it was read"):
        list(results.records)
    with pytest.raises(Damaged, match="was changed while it was read"):
        _ = results.summary


def test_a_number_that_was_edited_under_a_reader_is_told(folder: Path, results: Run) -> None:
    journal = (folder / JOURNAL).read_bytes()
    assert b'"attempts":1' in journal
    (folder / JOURNAL).write_bytes(journal.replace(b'"attempts":1', b'"attempts":2'))
    with pytest.raises(Damaged, match="was changed while it was read"):
        list(results.records)
    with pytest.raises(Damaged, match="was changed while it was read"):
        _ = results.summary


def test_reading_a_run_changes_nothing_in_the_process_or_the_folder(folder: Path) -> None:
    def state() -> tuple[Any, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        files = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
        return handlers, threading.active_count(), files

    before = state()
    results = load_run(folder)
    assert results.summary.units.total == len(list(results.records))
    assert state() == before
