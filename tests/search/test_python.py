"""`optimize(…)`: functions score and propose, in any thread; failures never raise, wrong arguments do."""

import threading
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import Search, UsageError, optimize

ROWS = "".join(f'{{"id": {n}, "of": "SPLIT", "worth": {0.5 + n / 40}}}\n' for n in range(1, 13))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for split in ("train", "val"):
        (tmp_path / f"{split}.jsonl").write_text(ROWS.replace("SPLIT", split))
    return tmp_path


def graded(candidate: str, example: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    return min(1.0, int(candidate) / 10 * example["worth"]), {"hint": "more"}


def climbs(request: dict[str, Any]) -> str:
    return str(int(request["candidate"]) + 1)


def search(evaluator: Any = graded, proposer: Any = climbs, **options: Any) -> Search:
    given = {"dataset": "train.jsonl", "valset": "val.jsonl", "budget": 150, "out": "r", **options}
    return optimize({"first": "0"}, evaluator, proposer=proposer, **given)


@pytest.mark.usefixtures("folder")
def test_functions_score_and_propose_and_the_same_call_goes_on() -> None:
    calls: list[str] = []

    def counted(candidate: str, example: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        calls.append(f"{candidate}:{example['id']}")
        return graded(candidate, example)

    done = search(counted)
    made = len(calls)
    again = search(counted)

    assert (done.verdict["state"], done.exit_code, done.status) == ("better", 0, "budget")
    assert int(done.best) > 3
    assert done.run.summary.baseline == "first"
    assert (len(calls), again.best) == (made, done.best)
    assert repr(done) == "Search(folder=PosixPath('r'), exit_code=0, notes=())"


@pytest.mark.usefixtures("folder")
def test_a_search_works_in_any_thread_and_tells_its_progress() -> None:
    found: list[Search] = []
    shown: list[Any] = []

    thread = threading.Thread(target=lambda: found.append(search(progress=shown.append)))
    thread.start()
    thread.join()

    assert found[0].exit_code == 0


@pytest.mark.usefixtures("folder")
def test_failures_never_raise() -> None:
    def breaks(_candidate: str, _example: dict[str, Any]) -> float:
        raise ValueError("no key")

    def forgets(_request: dict[str, Any]) -> str:
        raise KeyError("candidate")

    assert search(breaks, out="a").status == "evaluator"
    assert "ValueError: no key" in search(breaks, out="a").verdict["text"]
    assert (search(proposer=forgets, out="b").status, search(proposer=forgets, out="b").exit_code) == (
        "proposer",
        4,
    )


@pytest.mark.usefixtures("folder")
def test_components_and_a_first_text_by_the_proposer() -> None:
    def grows(request: dict[str, Any]) -> dict[str, str]:
        return {name: request["candidate"][name] + "!" for name in request["components"]}

    parts = optimize(
        {"system": "a", "user": "b"},
        lambda candidate: min(1, candidate.count("!") / 4),
        proposer=grows,
        components=True,
        out="parts",
    )
    new = optimize(
        None,
        lambda candidate: int(candidate) / 10,
        proposer=lambda request: str(int(request["candidate"] or 3) + 1),
        objective="ten",
        out="new",
    )

    assert parts.best == {"system": "a!!", "user": "b!!"}
    assert new.best == "10"


@pytest.mark.usefixtures("folder")
def test_what_a_program_answers_a_function_may_return() -> None:
    for number, returned in enumerate((0.5, (0.5, {"why": "x"}), {"score": 0.5, "why": "x"})):
        done = search(lambda *_, returned=returned: returned, out=f"r{number}", budget=60)
        assert done.verdict["state"] == "flat_scores"
        assert done.document["evaluator_failure_signal"]["kind"] == "flat_scores"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"proposer": ()}, "a search needs a proposer"),
        ({"budget": 5}, "--budget 5 is too small"),
        ({"selection": "best"}, "unknown selection"),
        ({"dataset": "missing.jsonl"}, "missing.jsonl"),
    ],
)
def test_a_wrong_argument_raises(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        search(**options)
