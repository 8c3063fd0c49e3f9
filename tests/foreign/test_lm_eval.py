"""Samples of lm-eval from outside: its own means, and which model is better."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.results import DATA, numbers_of
from tests.front_door import Cli

OUT = DATA / "lm-eval"
DATE = "2026-01-01T00-00-00.000000"


def line(document: int, value: object, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": document,
        "doc_hash": f"hash {document}",
        "resps": [["x"]],
        "filtered_resps": ["x"],
        "filter": "none",
        "metrics": ["acc"],
        "acc": value,
        **more,
    }


def write(folder: Path, lines: list[dict[str, Any]], **about: Any) -> None:
    folder.mkdir()
    (folder / f"samples_t_{DATE}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    results = {"results": {}, "versions": {}, "model_name": folder.name, "lm_eval_version": "0.4.13", **about}
    (folder / f"results_{DATE}.json").write_text(json.dumps(results))


def test_two_folders_have_the_means_of_their_own_results(cli: Cli) -> None:
    folders = {name: OUT / f"out{number}" for number, name in enumerate(("plain", "wordy"))}
    named = [word for name, folder in folders.items() for word in ("--as", f"{name}={folder}")]
    done = cli("report", *map(str, folders.values()), *named, "--json")
    numbers = numbers_of(done.json, "add")
    for name, folder in folders.items():
        (path,) = folder.glob("results_*.json")
        theirs = json.loads(path.read_text())["results"]["add"]
        for metric in ("exact_match,none", "exact_match,digits"):
            assert numbers[name, metric][0] == pytest.approx(theirs[metric], abs=1e-9)
    assert "▼" in cli("report", *map(str, folders.values()), *named).stdout


def test_less_is_better_is_a_negative_and_lists_are_left_out(cli: Cli, tmp_path: Path) -> None:
    more = {"metrics": ["acc", "err", "ppl"], "ppl": [-3.0, 7]}
    lines = [line(n, float("nan") if n == 3 else 1.0, err=n / 4, **more) for n in range(4)]
    write(tmp_path / "m", lines, higher_is_better={"t": {"acc": True, "err": False}})
    done = cli("report", "m", "--json")
    assert numbers_of(done.json, "t") == {
        ("m", "acc,none"): (1.0, 3, 1, 0),
        ("m", "-err,none"): (-0.375, 4, 0, 0),
    }
    assert "less is better: -err,none is its negative" in done.stderr
    assert "ppl,none has no score for each document" in done.stderr


def test_of_a_perplexity_more_is_better_in_what_documents_have(cli: Cli, tmp_path: Path) -> None:
    lines = [line(n, n, perplexity=-n / 4, metrics=["acc", "perplexity"]) for n in range(3)]
    made_by = [{"metric": "acc", "aggregation": "median"}, {"metric": "perplexity"}]
    lower = {"t": {"perplexity": False}}
    write(tmp_path / "m", lines, higher_is_better=lower, configs={"t": {"metric_list": made_by}})
    done = cli("report", "m", "--json")
    assert numbers_of(done.json, "t")["m", "log_likelihood,none"] == (-0.25, 3, 0, 0)
    assert "perplexity,none is made of log_likelihood,none, of which more is better" in done.stderr
    assert "acc,none is a mean here, and in lm-eval median" in done.stderr


def test_results_lead_to_their_samples_and_are_refused_without(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "m", [line(1, 0), line(2, 1)], **{"n-samples": {"t": {"original": 9, "effective": 2}}})
    results = f"m/results_{DATE}.json"
    done = cli("report", results, "--json")
    assert numbers_of(done.json, "t") == {("m", "acc,none"): (0.5, 2, 0, 0)}
    assert "2 of 9 documents" in done.stderr
    (tmp_path / "m" / f"samples_t_{DATE}.jsonl").unlink()
    assert "--log_samples" in cli("report", results).stderr


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        pytest.param([line(1, 1), line(1, 0)], ":2: the document 1 has acc,none twice", id="twice"),
        pytest.param([line(-1, 1)], ":1: doc_id is not an integer from 0", id="no document"),
        pytest.param(
            [line(1, 1, metrics=["f1"])], "metrics names 'f1', which the line does not", id="no metric"
        ),
        pytest.param([line(1, [1, 2])], "no metric has a score for each document", id="lists alone"),
    ],
)
def test_what_is_wrong_is_refused_by_line(
    cli: Cli, tmp_path: Path, lines: list[dict[str, Any]], words: str
) -> None:
    write(tmp_path / "m", lines)
    done = cli("report", "m")
    assert (done.status, words in done.stderr) == (2, True)
