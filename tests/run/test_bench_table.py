"""The table of a bench: scorers for their own tasks alone, over models that are called once for all."""

from pathlib import Path
from typing import Any

import orjson

from optimize_eval.store.folder import JOURNAL, OUTPUTS
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, model
from tests.front_door import Cli


def run_json(folder: Path) -> Any:
    return orjson.loads((folder / "run.json").read_bytes())


def cells_of(folder: Path) -> list[tuple[str, str | None, str, int]]:
    cells = run_json(folder)["cells"]
    return [(one["evaluator"], one["task_model"], one["split"], one["scored"]) for one in cells]


def test_an_evaluator_has_cells_on_its_own_task_alone_and_what_is_new_is_called(
    cli: Cli, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    often, right = model(tmp_path / "often", OFTEN_WRONG), model(tmp_path / "right", RIGHT)
    arithmetic(tmp_path, size=3)
    arithmetic(tmp_path, size=5, name="more.jsonl")
    (tmp_path / "more.jsonl").write_text((tmp_path / "more.jsonl").read_text().replace("exact_match", "f1"))
    wanted: list[tuple[tuple[str, ...], int]] = [
        (("sums.jsonl", "--model", often), 3),
        (("sums.jsonl", "more.jsonl", "--model", often), 5 - 3),  # the first three are the same tasks
        (("sums.jsonl", "more.jsonl", "--model", often, "--model", right), 5),
        (("sums.jsonl", "more.jsonl", "--model", often, "--model", right, "--repeats", "2"), 10),
    ]
    for words, many in wanted:
        calls.write_text("")
        done = cli("bench", *words, "--out", "r", env={"CALLS": str(calls)})
        assert done.status == 0, done.stderr
        assert len(calls.read_text().splitlines()) == many, words
        assert cli("report", "r", "--check").status == 0
    assert cells_of(tmp_path / "r") == [
        ("sums", "often", "sums.jsonl", 6),
        ("more", "often", "more.jsonl", 10),
        ("sums", "right", "sums.jsonl", 6),
        ("more", "right", "more.jsonl", 10),
    ]
    assert [(one["name"], one["splits"]) for one in run_json(tmp_path / "r")["evaluators"]] == [
        ("sums", ["sums.jsonl"]),
        ("more", ["more.jsonl"]),
    ]
    fresh = cli("bench", *wanted[-1][0], "--out", "fresh")
    assert fresh.status == 0
    assert cli("diff", "r", "fresh").status == 0
    grown, whole = (orjson.loads((tmp_path / one / "summary.json").read_bytes()) for one in ("r", "fresh"))
    assert grown["rows"] == whole["rows"]


def test_a_model_that_was_replaced_is_called_again_and_its_change_forgotten(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=3)
    changing = "open(sys.argv[0], 'a').write('#') and " + RIGHT
    bench = ("bench", "sums.jsonl", "--model", model(tmp_path / "moody", changing), "--out", "r")
    assert cli(*bench, "--workers", "1").status == 3
    assert b'"changed_models":["moody"]' in (tmp_path / "r" / JOURNAL).read_bytes()
    assert cli("report", "r", "--check").status == 0
    model(tmp_path / "moody", RIGHT)
    refused = cli(*bench)
    assert (refused.status, "model moody has changed: moody" in refused.stderr) == (2, True), refused.stderr
    replaced = cli(*bench, "--replace", "moody")
    assert (replaced.status, "moody scores 1.000" in replaced.stdout) == (0, True), replaced.stderr
    assert cli("report", "r", "--check").status == 0


def test_a_reply_is_made_in_a_batch_and_scored_one_by_one(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=10)
    arithmetic(tmp_path, size=4, name="more.jsonl")
    (tmp_path / "more.jsonl").write_text((tmp_path / "more.jsonl").read_text().replace(" =", " is"))
    log = "open('sizes', 'a').write(str(len(asked.get('prompts', [0]))) + ' ')"
    texts = "[{'text': str(2 * int(one.split()[0]))} for one in asked.get('prompts', [])]"
    answer = f"{log} and {{'results': {texts}}} if 'prompts' in asked else {RIGHT}"
    path = tmp_path / "batched"
    batched = model(path, answer)
    declared = path.read_text().replace('"persistent": True', '"persistent": True, "batch": 4')
    path.write_text(declared.replace('{"text": said}', '{"text": said}'))
    bench = ("bench", "sums.jsonl", "more.jsonl", "--model", batched, "--workers", "1", "--concurrency", "1")
    done = cli(*bench, "--out", "r", "--json")
    assert done.status == 0, done.stderr
    assert done.json["overall_score"] == 1.0
    sizes = [int(size) for size in (tmp_path / "sizes").read_text().split()]
    assert max(sizes) == 4
    assert len(orjson.loads((tmp_path / "r" / "run.json").read_bytes())["cells"]) == 2
    lines = (tmp_path / "r" / OUTPUTS).read_bytes().splitlines()[1:]
    assert len({orjson.loads(line)["key"] for line in lines}) == len(lines) == 14
