"""`bench --model http://…`: a model behind a URL, with a token; nothing of the token is kept."""

from pathlib import Path

import pytest

from tests.cli.benches import arithmetic, board_in, served_model
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
        ("wrong", "http_status: model: HTTP status 401: who is ***?"),
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
