"""Benches of models behind a URL, of whose token nothing is kept, and of models that think."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import arithmetic, board_in, served_model
from tests.fake_model import StartModel
from tests.front_door import Cli

TOKEN = "3f9a1c77e0d2"  # noqa: S105  of our own server


def test_a_model_behind_http_is_benched_and_its_token_is_nowhere(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    with served_model(TOKEN) as served:
        bench = [
            *("bench", "sums.jsonl", "--model", f"mine={served.url}/generate?version=2", "--model", "silent"),
            *("--header", "Authorization: Bearer ${MODEL_TOKEN}", "--out", "run"),
        ]
        done = cli(*bench, env={"MODEL_TOKEN": TOKEN})
        assert done.status == 0, done.stderr
        prompts = [text for _, body in served.requests for text in body.get("prompts", [body.get("prompt")])]
        assert sorted(prompts) == sorted(f"{n} + {n} =" for n in range(12))
        assert {sent for sent, _ in served.requests} == {f"Bearer {TOKEN}"}
        asked = len(served.requests)
        assert cli(*bench, env={"MODEL_TOKEN": TOKEN}).status == 0
        assert len(served.requests) == asked  # what is scored is not called again
    assert [(one["adapter"], one["overall_score"]) for one in board_in(tmp_path / "run")["models"]] == [
        ("mine", 1.0),
        ("silent", 0.0),
    ]
    rescored = cli("rescore", "run", "-e", "@length_limit --max 1", "--json")
    assert (rescored.status, len(rescored.json["models"])) == (0, 2), rescored.stderr
    for path in (tmp_path / "run").iterdir():
        assert TOKEN not in path.read_text()
        assert "version=2" not in path.read_text()


def test_urls_that_differ_in_their_query_only_are_two_models(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=3)
    with served_model() as served:
        models = [f"--model={served.url}/m?size=1", f"--model={served.url}/m?size=2"]
        assert cli("bench", "sums.jsonl", *models, "--out", "run").status == 0
        assert len({body["prompt"] for _, body in served.requests if "prompt" in body}) == 3
    assert [one["adapter"] for one in board_in(tmp_path / "run")["models"]] == [
        "127.0.0.1-m",
        "127.0.0.1-m-2",
    ]
    rescored = cli("rescore", "run", "-e", "@length_limit --max 1", "--json")
    assert [one["failed"] for one in rescored.json["models"]] == [0, 0]


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("wrong", "model 127.0.0.1 failed on every call (3), http_status: HTTP status 401: who is ***?"),
        (None, "needs the environment variable MODEL_TOKEN"),
    ],
    ids=["refused", "missing"],
)
def test_what_a_model_behind_http_refuses_is_told(
    cli: Cli, tmp_path: Path, token: str | None, told: str
) -> None:
    arithmetic(tmp_path)
    with served_model(TOKEN) as served:
        done = cli(
            *("bench", "sums.jsonl", "--model", served.url, "--out", "run"),
            *("--header", "Authorization: Bearer ${MODEL_TOKEN}"),
            env={"MODEL_TOKEN": token} if token else {},
        )
    assert done.status == (4 if token else 2), done.stderr
    assert told in done.stderr


TASKS = [
    {
        "task_id": f"choice-{number}",
        "category": "mcq",
        "prompt": f"{number}: A or B?",
        "targets": ["B"],
        "metric_name": "exact_match",
        "few_shot_examples": [],
        "post_process": "extract_letter",
    }
    for number in range(3)
]
RULES: list[dict[str, Any]] = [
    {"when": {"user": "^1:"}, "text": "Option A … So B.\n</think>\n\nB"},
    {"when": {"user": "^2:"}, "text": "B", "message": {"reasoning_content": "Option A … So B."}},
    {"text": "<think>Option A … So B.</think>\n\nB"},
]


def test_a_model_that_thinks_of_a_and_answers_b_answered_b(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    model = fake_model(RULES)
    bench = ("bench", "tasks.jsonl", "--model", "m=openai/m", "--api-base", model.base)
    assert cli(*bench, "--out", "r").status == 0
    (told,) = board_in(tmp_path / "r")["models"]
    assert told["overall_score"] == 1.0
    outputs = [json.loads(line) for line in (tmp_path / "r" / "outputs.jsonl").read_bytes().splitlines()[1:]]
    assert {(one["output"], one["reasoning"]) for one in outputs} == {("B", "Option A … So B.")}
    assert "Option A" not in (tmp_path / "r" / "journal.jsonl").read_text()
    assert cli(*bench, "--out", "r").status == 0
    shown = cli(*bench, "--out", "r", "--show", "choice-0")
    assert len(model.requests()) == 3, "thoughts are read back with the outputs"
    assert "  thoughts  │ Option A … So B.\n  output    │ B\n" in shown.stdout
    replayed = cli(
        "bench", "tasks.jsonl", "--model", "replay:r/outputs.jsonl", "--show", "choice-0", "--json"
    )
    assert replayed.json["models"][0]["thoughts"] == "Option A … So B."
    raw = cli(*bench, "--out", "raw", "--keep-thoughts", "--json").json
    assert (raw["models"][0]["overall_score"], raw["models"][0]["with_thoughts"]) == (1 / 3, 1)
    told = "m: 1 of 3 scored outputs begin with thoughts, which were scored as a part of the answer"
    assert told in [point["text"] for point in raw["verdict"]["points"]]
    assert rederive(tmp_path / "raw") == 0
