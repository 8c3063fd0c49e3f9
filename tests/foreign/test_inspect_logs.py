"""Logs of Inspect from outside, as it writes them; a log is a zip, which may be anything."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.results import DATA, numbers_of
from tests.front_door import Cli
from tests.tools import need_module

LETTERS = ("C", "I", "P", "C", "C", "I")


def header(model: str = "m/a", **more: Any) -> dict[str, Any]:
    about = {"task": "words", "task_id": f"id of {model}", "created": "2026-01-01", "model": model}
    return {"version": 2, "status": "success", "eval": {**about, "scorers": [{"name": "match"}]}, **more}


def sample(identity: object, value: object, **more: Any) -> dict[str, Any]:
    scores = {"match": {"value": value, "answer": "w"}}
    return {"id": identity, "epoch": 1, "input": f"say {identity}", "target": "w", "scores": scores, **more}


def write(
    path: Path,
    samples: list[dict[str, Any]],
    about: dict[str, Any] | None = None,
    more: dict[str, str] | None = None,
) -> str:
    """Write a log as releases before zstd did."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        for name, text in (more or {}).items():
            log.writestr(name, text)
        log.writestr("header.json", json.dumps(about or header()))
        log.writestr("summaries.json", json.dumps(samples))
    return path.name


def test_two_logs_of_a_task_are_two_models_on_the_same_samples(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a.eval", [sample(n, letter) for n, letter in enumerate(LETTERS)])
    write(tmp_path / "b.eval", [sample(n, "C") for n in reversed(range(6))], header("m/b"))
    done = cli("report", "a.eval", "b.eval", "--json")
    numbers = numbers_of(done.json, "words")
    assert numbers["m/a", "match"] == (pytest.approx(3.5 / 6), 6, 0, 0)
    assert numbers["m/b", "match"] == (1.0, 6, 0, 0)
    assert "on words" in done.json["verdict"]["text"]
    in_folder = cli("report", ".", "--json").json
    assert in_folder["verdict"] == done.json["verdict"]


@need_module("pyarrow")
def test_a_log_that_inspect_wrote_has_its_numbers(cli: Cli) -> None:
    summary = cli("report", str(DATA / "inspect-sums.eval"), "--json").json
    assert numbers_of(summary, "sums") == {("mockllm/a", "match"): (0.0, 6, 0, 0)}
    assert summary["origin"]["version"] == "0.3.285"


@pytest.mark.skipif(hasattr(zipfile, "ZIP_ZSTANDARD"), reason="Python itself reads zstd")
def test_without_what_reads_zstd_the_line_that_installs_it_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused = cli("report", str(DATA / "inspect-sums.eval"))
    assert (refused.status, refused.stdout) == (2, "")
    assert "inspect-sums.eval: the log is compressed with zstd, which pyarrow reads" in refused.stderr
    assert "damaged" not in refused.stderr


def test_a_log_in_json_may_have_nan_and_says_the_same(cli: Cli, tmp_path: Path) -> None:
    values = [0.5, float("nan"), True, {"len": 3.0, "ok": "C"}]
    samples = [sample(n, value) for n, value in enumerate(values)]
    (tmp_path / "a.json").write_text(json.dumps({**header(), "samples": samples}))
    write(tmp_path / "a.eval", samples)
    lines = [cli("report", f"a.{kind}", "--json").json for kind in ("json", "eval")]
    numbers = numbers_of(lines[0], "words")
    assert numbers == numbers_of(lines[1], "words")
    assert numbers["m/a", "match"] == (0.75, 2, 1, 1)
    assert numbers["m/a", "match.len"] == (3.0, 1, 0, 3)
    assert numbers["m/a", "match.ok"] == (1.0, 1, 0, 3)


def test_epochs_are_repeats_errors_failures_and_labels_no_numbers(cli: Cli, tmp_path: Path) -> None:
    failed = {**sample("x", "C"), "scores": {}, "error": "the sandbox is gone"}
    samples = [sample("w", "C"), {**sample("w", "I"), "epoch": 2}, failed, {**failed, "epoch": 2}]
    samples += [sample("z", None), {**sample("z", "I"), "epoch": 2}]
    done = cli("report", write(tmp_path / "a.eval", samples), "--json")
    assert numbers_of(done.json, "words")["m/a", "match"] == (0.25, 3, 2, 1)
    assert done.json["failures"][0]["kind"] == "provider_error"
    labels = [sample(n, word) for n, word in enumerate(("poor", "best"))]
    assert numbers_of(cli("report", write(tmp_path / "l.eval", labels), "--json").json, "words") == {
        ("m/a", "match"): (None, 2, 0, 0)
    }


def test_a_later_try_takes_the_place_of_a_log_and_what_is_not_whole_is_said(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a.eval", [sample(1, "I")], header(status="error"))
    later = header()
    later["eval"]["created"] = "2026-02-02"
    write(tmp_path / "b.eval", [sample(1, "C")], later)
    done = cli("report", "a.eval", "b.eval", "--json")
    assert numbers_of(done.json, "words") == {("m/a", "match"): (1.0, 1, 0, 0)}
    assert "a.eval is left out: b.eval is a later try" in done.stderr
    assert "not complete (status error)" in cli("report", "a.eval", "--json").stderr


def test_an_interrupted_log_has_what_was_written(cli: Cli, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "k.eval", "w") as log:
        log.writestr("_journal/start.json", json.dumps({"version": 2, "eval": header()["eval"]}))
        log.writestr("_journal/summaries/1.json", json.dumps([sample(1, "C")]))
        log.writestr("_journal/summaries/2.json", json.dumps([sample(2, "I")]))
    done = cli("report", "k.eval", "--json")
    assert numbers_of(done.json, "words")["m/a", "match"] == (0.5, 2, 0, 0)
    assert "status started" in done.stderr


def test_of_several_tasks_each_is_reported_or_the_one_that_is_named(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a.eval", [sample(1, "C")])
    sums = header()
    sums["eval"] = {**sums["eval"], "task": "../sums"}
    write(tmp_path / "b.eval", [sample(1, "C")], sums)
    shown = cli("report", ".", "--out", "kept").stdout
    assert shown.index("match: words") < shown.index("match: ../sums")
    assert {path.parent for path in tmp_path.rglob("run.json")} == {
        tmp_path / "kept" / name for name in ("words", "sums")
    }
    refused = cli("report", "a.eval", "b.eval", "--json")
    assert (refused.status, "and the files are of 2: words, ../sums" in refused.stderr) == (2, True)
    one = cli("report", "a.eval", "b.eval", "--task", "../sums", "--json")
    assert one.json["rows"][0]["splits"].keys() == {"../sums"}
    assert "there is no task 'x'" in cli("report", "a.eval", "b.eval", "--task", "x").stderr


def test_members_are_read_by_name_and_none_is_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    more = {"samples/../../etc/passwd_epoch_1.json": "{}", "/etc/x_epoch_1.json": "{}"}
    write(tmp_path / "inside" / "a.eval", [sample(1, "C")], more=more)
    before = {*tmp_path.rglob("*")}
    assert cli("report", "inside/a.eval", "--json").status == 0
    assert {*tmp_path.rglob("*")} == before


def _bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps(header()))
        log.writestr("summaries.json", b" " * (1 << 23))


def _lying_size(path: Path) -> None:
    write(path, [sample(1, "C")])
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = (7).to_bytes(4, "little")
    path.write_bytes(data)


def _cut_off(path: Path) -> None:
    write(path, [sample(1, "C")])
    path.write_bytes(path.read_bytes()[:-40])


def _encrypted(path: Path) -> None:
    write(path, [sample(1, "C")])
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for at in (data.index(mark), data.rindex(mark)):
            data[at + flags] |= 1
    path.write_bytes(data)


def _other_version(path: Path) -> None:
    write(path, [], header() | {"version": 3})


def _list_as_score(path: Path) -> None:
    write(path, [sample(1, [1, 2])])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(_bomb, "far too large", id="bomb"),
        pytest.param(_lying_size, "is damaged", id="lying size"),
        pytest.param(_cut_off, "it is not a whole zip file", id="cut off"),
        pytest.param(_encrypted, "is encrypted", id="encrypted"),
        pytest.param(_other_version, "a log of version 3; known: 2", id="other version"),
        pytest.param(_list_as_score, "is a list, which is no score", id="list"),
    ],
)
def test_a_hostile_log_is_refused_in_a_sentence(cli: Cli, tmp_path: Path, make: Any, words: str) -> None:
    make(tmp_path / "x.eval")
    done = cli("report", "x.eval", "--out", "r")
    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (tmp_path / "r").exists()
