"""OpenAI Evals, DeepEval and RAGAS from outside: each with the numbers that it computed itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.results import DATA, numbers_of
from tests.front_door import Cli

EVENTS, CASES = DATA / "openai-evals.jsonl", DATA / "deepeval.json"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path.name


def test_events_have_the_numbers_of_their_final_report(cli: Cli) -> None:
    (theirs,) = (line["final_report"] for line in lines_of(EVENTS) if "final_report" in line)
    done = cli("report", str(EVENTS), "--json")
    mine = numbers_of(done.json, "caps-fuzzy.dev.v0")
    for name in ("accuracy", "f1_score"):
        assert mine["my/bad", name] == (pytest.approx(theirs[name], abs=1e-9), 8, 0, 0)
    assert mine["my/bad", "match"] == (0.625, 8, 0, 0)
    assert "OpenAI Evals · openai-evals.jsonl: 8 tests × 1 system" in done.stderr


def test_errors_are_failures_and_what_is_not_whole_is_said(cli: Cli, tmp_path: Path) -> None:
    about, *rest = lines_of(EVENTS)
    events = [line for line in rest if "final_report" not in line]
    first = events[0]["sample_id"]
    failed = {"sample_id": first, "type": "error", "data": {"message": "quota"}}
    kept = [failed, *(line for line in events if line["sample_id"] != first)]
    twice = next(line for line in kept if line["type"] == "match")
    done = cli(
        "report", write(tmp_path / "e.jsonl", [about, *kept, {**twice, "data": {"correct": False}}]), "--json"
    )
    numbers = numbers_of(done.json, "caps-fuzzy.dev.v0")
    assert {name: each[1:] for (_, name), each in numbers.items()} == dict.fromkeys(
        ("match", "accuracy", "f1_score"), (7, 1, 0)
    )
    assert "no final report" in done.stderr
    assert "the first score counts (1 do not)" in done.stderr
    wrong = {**twice, "data": {"correct": 1}}
    refused = cli("report", write(tmp_path / "w.jsonl", [about, wrong]))
    assert (refused.status, "w.jsonl:2: data.correct is neither true nor false" in refused.stderr) == (
        2,
        True,
    )
    assert "no event in it is a match" in cli("report", write(tmp_path / "n.jsonl", [about])).stderr


@pytest.mark.parametrize(("score", "counts"), [({"score": 0.5}, (0.5, 1, 0, 0)), ({}, (None, 1, 0, 0))])
def test_what_a_model_graded_has_the_reply_apart_from_its_reason(
    cli: Cli, tmp_path: Path, score: dict[str, float], counts: tuple[object, ...]
) -> None:
    about = lines_of(EVENTS)[0]
    events = [
        {"sample_id": "a", "type": "sampling", "data": {"prompt": "Where?", "sampled": ["In Italy"]}},
        {"sample_id": "a", "type": "sampling", "data": {"prompt": "Grade.", "sampled": ["(B) it is"]}},
        {"sample_id": "a", "type": "metrics", "data": {"choice": "B", **score}},
    ]
    path = write(tmp_path / "g.jsonl", [about, *events])
    name = "score" if score else "choice"
    assert numbers_of(cli("report", path, "--json").json, "caps-fuzzy.dev.v0")["my/bad", name] == counts
    record = json.loads(cli("report", path, "--format", "jsonl").stdout.splitlines()[0])
    said = {key: record[f"side_info.{key}"] for key in ("choice", "reason", "output")}
    assert said == {"choice": "B", "reason": "(B) it is", "output": "In Italy"}


def test_metrics_of_test_cases_have_the_numbers_of_their_file(cli: Cli, tmp_path: Path) -> None:
    document = json.loads(CASES.read_text())
    done = cli("report", str(CASES), "--json")
    mine = numbers_of(done.json)
    for metric in document["metricsScores"]:
        scores = metric["scores"]
        mean = pytest.approx(sum(scores) / len(scores), abs=1e-9)
        assert mine["deepeval", metric["metric"]] == (mean, len(scores), metric["errors"], 0)
    assert "failures here: 1 metric with an error" in done.stderr
    document["testCases"][0]["metricsData"][0]["score"] = "1"
    (tmp_path / "w.json").write_text(json.dumps(document))
    assert "testCases[0].metricsData[0].score is not a number" in cli("report", "w.json").stderr
    (tmp_path / "c.json").write_text(json.dumps({**document, "conversationalTestCases": [{}]}))
    assert "conversations as test cases" in cli("report", "c.json").stderr


def test_a_table_of_ragas_has_its_metrics_by_its_questions(cli: Cli) -> None:
    numbers = numbers_of(cli("report", str(DATA / "ragas.csv"), "--json").json)
    assert [name for _, name in numbers] == ["exact_match", "string_present", "non_llm_string_similarity"]
    assert numbers["ragas", "exact_match"] == (pytest.approx(5 / 7, abs=1e-9), 7, 0, 0)
