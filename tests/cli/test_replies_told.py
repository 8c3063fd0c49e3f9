"""What replies of models say of themselves is told to whoever believes their scores: scale, length, whose."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import arithmetic
from tests.fake_model import StartModel
from tests.front_door import Cli, Result

JUDGE = ("-e", "judge:openai/m", "--objective", "It greets warmly")


def points(told: Any) -> list[str]:
    return [point["text"] for point in told["verdict"]["points"] if point["mark"] == "!"]


def judged(cli: Cli, folder: Path, base: str, *more: str, size: int = 12) -> Result:
    (folder / "d.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(size)))
    (folder / "c.txt").write_text("Hello")
    named = ("--candidate", "c.txt", "--dataset", "d.jsonl", "--api-base", base)
    return cli("run", *JUDGE, *named, "--out", "r", "--json", *more)


def test_a_judge_that_says_85_is_told_before_the_run_and_ends_it_with_4(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"json": {"reasoning": "r", "score": 85}}])
    done = judged(cli, tmp_path, model.base, size=2)
    off = "m: 2 of 2 scored replies (100 %) were on another scale, such as 85, and were cut to 0 to 1"
    assert done.status == 4
    assert f"error: {off}. Name the scale in the objective" in done.stderr
    assert any(text.startswith(off) for text in points(done.json))
    (told,) = done.json["summary"]["replies"]
    assert (told["off_scale"], told["scored"], told["first_off_scale"]) == (2, 2, 85.0)
    assert judged(cli, tmp_path, model.base, size=2).status == 4, "a run that is done says so, too"
    before = cli("preflight", *JUDGE, "--api-base", model.base, "--json")
    assert before.status == 1
    checks = {check["name"]: check for check in before.json["evaluators"][0]["checks"]}
    assert checks["scale"]["status"] == "fail"
    assert (
        "2 of 2 replies were on another scale, also when called again: score 85 is not"
        in checks["scale"]["message"]
    )


def test_a_few_scores_on_another_scale_are_told_and_clamped(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"when": {"any": '"n": 3}'}, "text": "7"}, {"text": "0.5"}])
    done = judged(cli, tmp_path, model.base)
    assert done.status == 0, done.stderr
    (text,) = [text for text in points(done.json) if "scale" in text]
    assert text.startswith("m: 1 of 12 scored replies (8.3 %) were on another scale, such as 7, and were")
    assert rederive(tmp_path / "r") == 0
    shown = cli("report", "r")
    assert "were on another scale" in " ".join(shown.stdout.split())


def test_a_judge_that_is_cut_off_or_is_several_models_is_told(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    said = {"json": {"reasoning": "r", "score": 0.5}}
    model = fake_model(
        [
            {"when": {"user": '"n": 3}'}, "finish_reason": "length", **said},
            {"when": {"user": '"n": 4}'}, "answered_by": "other", **said},
            said,
        ]
    )
    done = judged(cli, tmp_path, model.base)
    assert done.status == 0, done.stderr
    assert "m: 1 of 12 scored replies were cut off for their length. Raise max_tokens" in points(done.json)
    assert "The replies to m name several models: m 11, other 1" in points(done.json)
    (told,) = done.json["summary"]["replies"]
    assert (told["cut_off"], told["answered_by"]) == (1, {"m": 11, "other": 1})
    assert rederive(tmp_path / "r") == 0


def test_judges_that_are_one_model_are_told_and_a_judge_of_two_task_models_is_not(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"answered_by": "fallback", "json": {"reasoning": "r", "score": 0.5}}])
    done = judged(
        cli, tmp_path, model.base, "-e", "judge:openai/other", "--task-model", "a", "--task-model", "b"
    )
    assert done.status == 0, done.stderr
    one_model = [text for text in points(done.json) if "one model" in text]
    assert one_model == ["The replies to m a, m b, other a, other b all name one model: fallback"]
    assert done.json["summary"]["judges"] == {"m": "openai/m", "other": "openai/other"}
    assert rederive(tmp_path / "r") == 0
    again = ("-e", "strict=judge:openai/m", *JUDGE, "--candidate", "c.txt", "--dataset", "d.jsonl")
    more = ("--api-base", model.base, "--task-model", "a", "--task-model", "b", "--out", "same", "--json")
    assert not [text for text in points(cli("run", *again, *more).json) if "one model" in text]


def test_preflight_warns_of_a_judge_that_is_cut_off_or_is_several_models(
    cli: Cli, fake_model: StartModel
) -> None:
    said = {"json": {"reasoning": "r", "score": 0.5}}
    model = fake_model([{"times": 1, "finish_reason": "length", "answered_by": "other", **said}, said])
    done = cli("preflight", *JUDGE, "--api-base", model.base, "--json")
    checks = {one["name"]: (one["status"], one["message"]) for one in done.json["evaluators"][0]["checks"]}
    assert done.status == 0, checks
    assert checks["scale"] == ("pass", "scores are from 0 to 1")
    assert checks["length"] == ("warn", "1 of 2 replies were cut off for their length: raise max_tokens")
    said_by = "several models answered, by what they say of themselves: other, m"
    assert checks["answered by"] == ("warn", said_by)


def test_a_refused_limit_is_called_as_the_option_that_gives_it(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    told = "max_completion_tokens is too large: 9999"
    model = fake_model(
        [{"when": {"user": "0"}, "text": "", "finish_reason": "length"}, {"status": 400, "text": told}]
    )
    (tmp_path / "p.txt").write_text("Add {{n}}")
    named = ("--prompt", "p.txt", "--model", f"m=openai/o3@{model.base}", "-e", "@exact_match")
    hints = []
    for n in (0, 1):
        (tmp_path / "d.jsonl").write_text(f'{{"n": {n}, "target": "4"}}\n')
        done = cli("run", *named, "--dataset", "d.jsonl", "--max-tokens", "9999", "--out", f"r{n}")
        assert done.status == 4
        hints += [
            line.strip() for line in done.stderr.splitlines() if "max-tokens" in line and "try:" in line
        ]
    assert hints == [
        "try: raise --max-tokens: models that reason spend it on their thoughts first",
        "try: leave --max-tokens out, or give a value it takes",
    ]


def bench(cli: Cli, folder: Path, base: str, models: Sequence[str], *more: str) -> Result:
    arithmetic(folder, size=4)
    named = [word for name in models for word in ("--model", name)]
    return cli("bench", "sums.jsonl", *named, "--api-base", base, "--out", "b", *more)


def test_rows_of_a_board_that_one_model_answered_are_told(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"answered_by": "gpt-4o-2024", "text": "4", "finish_reason": "length"}])
    models = ["openai/gpt-4o", "openai/o3", "again=openai/o3"]
    board = bench(cli, tmp_path, model.base, models, "--json").json
    told = points(board)
    assert "The replies to openai/gpt-4o, openai/o3, again all name one model: gpt-4o-2024" in told
    assert "openai/o3: 4 of 4 scored replies were cut off for their length. Raise --max-tokens" in told
    assert [(one["cut_off"], one["answered_by"]) for one in board["models"]] == [(4, {"gpt-4o-2024": 4})] * 3
    assert rederive(tmp_path / "b") == 0
    shown = bench(cli, tmp_path, model.base, models, "--details")
    assert "all name one model" in " ".join(shown.stdout.split())


def test_rows_that_are_the_same_model_on_purpose_are_not_told(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"text": "4"}])
    board = bench(cli, tmp_path, model.base, ["openai/o3", "again=openai/o3"], "--json").json
    assert not [text for text in points(board) if "one model" in text]


def test_a_judge_of_a_bench_on_another_scale_ends_it_with_4(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"when": {"any": "You are a judge"}, "text": "85"}, {"text": "4"}])
    (tmp_path / "rubric.json").write_text(json.dumps({"objective": "o"}))
    done = bench(cli, tmp_path, model.base, ["toy"], "--json")
    assert done.status == 0, done.stderr
    rescored = cli("rescore", "b", *JUDGE, "--api-base", model.base, "--json")
    assert rescored.status == 4
    assert "toy.m: 4 of 4 scored replies (100 %) were on another scale, such as 85" in rescored.stderr


def test_models_whose_names_begin_alike_do_not_look_alike_on_a_board(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model([{"text": "4"}])
    names = [f"openrouter/meta-llama/llama-3.1-{size}-instruct" for size in ("70b", "8b", "405b")]
    env = {"COLUMNS": "80", "OPENROUTER_API_KEY": "k"}
    arithmetic(tmp_path, size=4)
    models = [word for name in names for word in ("--model", name)]
    done = cli("bench", "sums.jsonl", *models, "--api-base", model.base, "--out", "b", env=env)
    assert done.status == 0, done.stderr
    shown = {line.split()[0] for line in done.stdout.splitlines() if line.startswith(" …")}
    assert len(shown) == 3, done.stdout
    assert all(any(size in one for one in shown) for size in ("70b", "8b", "405b")), shown
    (titles,) = [line for line in done.stdout.splitlines() if line.startswith(" task")]
    assert len({*titles.split()[1:]}) == len(titles.split()) - 1, "titles of columns differ, too"
