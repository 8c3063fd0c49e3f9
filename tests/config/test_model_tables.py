"""[[model]]: a model by a name of its own, with a base and options of its own, for judges and benches."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fake_model import StartModel
from tests.front_door import Cli

TASK = '{"id": "a", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
VERDICT = {
    "json": {"reasoning": "r", "score": 1.0},
    "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
}
OPTIONS = {
    "temperature": 0.5,
    "max_tokens": 30,
    "seed": 7,
    "reasoning_effort": "low",
    "top_p": 0.9,
    "stop": ["END"],
    "top_k": 40,
}
TENANT = "tenant-canary-0123456789"
TABLE = """
[[model]]
name = "mine"
model = "openai/q"
base = "{base}"
temperature = 0.5
max_tokens = 30
seed = 7
reasoning_effort = "low"
top_p = 0.9
stop = "END"
system = "Be brief."
extra = {{top_k = 40}}
headers = {{X-Tenant = "${{TENANT}}"}}
key_variable = "MY_KEY"
concurrency = 2
rpm = 6000
price = {{input = 1.0, output = 10.0}}
"""
SWEEP = """
[run]
candidates = ["a.txt"]
out = "r"
{table}
[[evaluator]]
judge = "mine"
objective = "o"
"""
ENV = {"MY_KEY": "sk-canary-0123456789abcdef", "TENANT": TENANT, "OPENAI_API_KEY": "sk-of-another-place"}


def sent(body: dict[str, Any]) -> dict[str, Any]:
    return {key: body.get(key) for key in OPTIONS}


def test_a_judge_is_called_as_its_table_says(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    headers = {"Authorization": ENV["MY_KEY"], "X-Tenant": TENANT}
    server = fake_model([{**VERDICT, "when": {"headers": headers}}])
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "s.toml").write_text(SWEEP.format(table=TABLE.format(base=server.base)))
    done = cli("run", "s.toml", "--json", "--max-cost", "1", env=ENV)
    assert done.status == 0, done.stderr
    (body,) = server.bodies()
    assert sent(body) == OPTIONS
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert done.json["summary"]["spent"]["models"]["openai/q"]["cost"] == pytest.approx(0.002)
    kept = "".join(path.read_text() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert not any(secret in kept + done.stdout + done.stderr for secret in ENV.values())
    again = cli("run", "s.toml", "--json", env=ENV)
    assert (again.status, len(server.bodies())) == (0, 1), "the same table is the same judge"
    (tmp_path / "s.toml").write_text(SWEEP.format(table=TABLE.format(base=server.base).replace("0.9", "0.8")))
    other = cli("run", "s.toml", "--json", env=ENV)
    assert other.status == 2, "another top_p is another judge"


def test_a_bench_takes_all_models_of_a_file(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model([{"text": "2"}])
    (tmp_path / "t.jsonl").write_text(TASK)
    other = f'[[model]]\nname = "plain"\nmodel = "vllm/q@{server.base}"\n'
    (tmp_path / "m.toml").write_text(TABLE.format(base=server.base) + other)
    done = cli("bench", "t.jsonl", "--model", "m.toml", "--model", "silent", "--out", "r", env=ENV)
    assert "silent" in done.stdout, done.stderr
    board = json.loads((tmp_path / "r" / "leaderboard.json").read_text())
    scores = {one["adapter"]: one["overall_score"] for one in board["models"]}
    assert scores == {"mine": 1, "plain": 1, "silent": 0}
    assert sorted(map(sent, server.bodies()), key=str) == sorted([OPTIONS, dict.fromkeys(OPTIONS)], key=str)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('name = "mine"', "a model has a name and a model"),
        ('name = "mine"\nmodel = "openai"', 'model: name a provider and its model: "openai/gpt-4o-mini"'),
        ('name = "mine"\nmodel = "openai/m"\ntemprature = 1', "unknown key 'temprature'"),
        ('name = "mine"\nmodel = "openai/m"\ntop_p = 2', "top_p: write a number above 0, at most 1"),
        ('name = "mine"\nmodel = "openai/m"\nprice = 3', "price: write what a million tokens cost"),
    ],
    ids=["no model", "no provider", "unknown key", "top_p", "price"],
)
def test_what_is_wrong_with_a_table_is_told(cli: Cli, tmp_path: Path, table: str, words: str) -> None:
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "s.toml").write_text(SWEEP.format(table=f"[[model]]\n{table}"))
    run = cli("run", "s.toml", env=ENV)
    (tmp_path / "m.toml").write_text(f"[[model]]\n{table}\n")
    (tmp_path / "t.jsonl").write_text(TASK)
    bench = cli("bench", "t.jsonl", "--model", "m.toml", env=ENV)
    assert (run.status, bench.status) == (2, 2)
    assert words in run.stderr
    assert words in bench.stderr
