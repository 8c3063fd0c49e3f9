"""What models took: tokens, money and seconds of a run, and budgets of them that pause it."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import UsageError, load_run, sweep
from tests.cli.benches import arithmetic
from tests.fake_model import StartModel
from tests.front_door import Cli
from tests.run.projects import records
from tests.run.spending import KEY, NONSENSE, PRICES, USAGE, VERDICT, made


def total(calls: int, cost: float | None = None, **other: Any) -> dict[str, Any]:
    tokens = {"prompt_tokens": 1000 * calls, "completion_tokens": 100 * calls, "without_tokens": 0}
    priced = {"cost": cost or 0.0, "without_cost": calls if cost is None else 0}
    return {"calls": calls, **tokens, **priced, **other}


def spent(run: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((run / "summary.json").read_text())["spent"]
    seconds = [told["run"], *(one for axis in told if axis != "run" for one in told[axis].values())]
    assert all(one.pop("seconds") > 0 for one in seconds)
    return told


def test_totals_count_what_failed_and_what_was_called_again(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    """One call is unusable twice, and fails; the next session calls for it again."""
    nonsense = {**NONSENSE, "when": {"any": '"q": 1'}, "times": 2}
    command = (*made(tmp_path), "--api-base", fake_model([nonsense, VERDICT]).base)
    done = cli(*command, "--prices", "p.toml", "--details", env=KEY)
    assert done.status == 0, done.stderr
    assert " openai/m: 5 calls, 5,000 + 500 tokens, $0.0100, " in done.stdout
    assert " kind on train: half of the calls within " in done.stdout
    assert [len(record["usage"]) for record in records(tmp_path / "r")] == [1, 2, 1, 1]
    assert not any("waited" in record for record in records(tmp_path / "r")), "there was room at once"
    all_of_it = total(5, 0.01)
    one = {
        "models": {"openai/m": all_of_it},
        "evaluators": {"kind": all_of_it},
        "candidates": {"a": all_of_it},
    }
    assert spent(tmp_path / "r") == {"run": all_of_it, **one}
    assert cli("report", "r", "--check").status == 0
    again = cli(*command, "--json", env=KEY)
    assert again.json["summary"]["units"]["failed"] == 0
    assert again.json["summary"]["spent"]["run"]["calls"] == 6, "what failed was paid, too"
    assert again.json["summary"]["spent"]["run"]["without_cost"] == 1
    before = (tmp_path / "r" / "summary.json").read_bytes()
    assert cli("report", "r").status == cli("report", "r", "--check").status == 0
    assert (tmp_path / "r" / "summary.json").read_bytes() == before


def test_what_a_recheck_takes_counts_also_where_it_fails(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([{**VERDICT, "times": 5}, NONSENSE])
    command = (*made(tmp_path), "--api-base", server.base, "--prices", "p.toml")
    done = cli(*command, "--recheck", "3", "--json", env=KEY)
    assert done.status == 0, done.stderr
    rechecked = done.json["recheck"]
    assert [len(rechecked[part]) for part in ("changed", "failed")] == [0, 2]
    assert rechecked["spent"].pop("seconds") > 0
    assert rechecked["spent"] == total(5, 0.01), "two failed, after another try of each"
    assert "  it took 5 calls, 5,000 + 500 tokens, $0.0100, " in done.stderr
    assert len(server.requests()) == 9
    everything = spent(tmp_path / "r")
    assert everything["run"] == everything["evaluators"]["kind"] == total(9, 0.018)
    before = (tmp_path / "r" / "summary.json").read_bytes()
    assert cli("report", "r").status == cli("report", "r", "--check").status == 0
    assert (tmp_path / "r" / "summary.json").read_bytes() == before
    limited = cli(*command, "--recheck", "4", "--max-cost", "0.003", env=KEY)
    assert "recheck: 0 of 1 scores are the same; stopped before 4 were called" in limited.stderr


def test_a_server_that_tells_no_tokens_is_unknown_and_no_run_without_models_has_totals(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([{"body": json.dumps({"choices": [{"message": {"content": '{"score": 1}'}}]})}])
    done = cli(*made(tmp_path, 2), "--api-base", server.base, env=KEY)
    assert " openai/m: 2 calls, 0 + 0 tokens (2 calls told none), " in done.stdout
    assert spent(tmp_path / "r")["run"]["without_tokens"] == 2
    plain = cli("run", "-e", "@exact_match", "--candidate", "a.txt", "--out", "plain", "--json")
    assert plain.json["summary"]["spent"] is None


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (("--max-cost", "0.005", "--prices", "p.toml"), "over budget: $0.0060 are spent (--max-cost 0.005)"),
        (("--max-tokens-total", "3000"), "over budget: 3,300 tokens are used (--max-tokens-total 3000)"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_budget_pauses_a_run_which_goes_on_with_the_line_that_is_printed(
    cli: Cli, fake_model: StartModel, tmp_path: Path, budget: tuple[str, ...], words: str
) -> None:
    server = fake_model([VERDICT])
    command = (*made(tmp_path, 5), "--api-base", server.base, *budget)
    done = cli(*command, "--json", env=KEY)
    assert (done.status, done.json["status"]) == (3, "over_budget")
    assert f"{words}; 3 of 5 calls are done; to resume:\n  optimize-eval run " in done.stderr
    assert len(records(tmp_path / "r")) == len(server.requests()) == 3
    again = cli(*command, "--json", env=KEY)
    assert (again.status, again.json["status"]) == (0, "done"), "each session has a budget of its own"
    assert len(server.requests()) == 5
    assert again.json["summary"]["spent"]["run"]["calls"] == 5


def test_a_budget_of_money_needs_each_model_s_price(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model([VERDICT])
    command = (*made(tmp_path), "--api-base", server.base)
    unknown = cli(*command, "--max-cost", "1", env=KEY)
    assert unknown.status == 2
    assert "--max-cost cannot be kept: no price is known for openai/m" in unknown.stderr
    assert '[prices] "openai/m" = {input = 0.15, output = 0.6}' in unknown.stderr
    assert cli(*command, "--max-cost", "0", env=KEY).status == 2
    (tmp_path / "p.toml").write_text('[prices]\n"openai/m" = 3\n')
    wrong = cli(*command, "--prices", "p.toml", env=KEY)
    assert wrong.status == 2
    assert 'p.toml: prices: write what a million tokens cost: "PROVIDER/MODEL" = {input' in wrong.stderr
    assert server.requests() == []


def test_what_is_over_budget_is_told_with_the_calls_that_were_in_flight(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([VERDICT])
    budget = ("--max-cost", "0.005", "--prices", "p.toml", "--concurrency", "4")
    done = cli(*made(tmp_path, 20), "--api-base", server.base, *budget, "--json", env=KEY)
    cost = done.json["summary"]["spent"]["run"]["cost"]
    assert f"over budget: ${cost:.4f} are spent (--max-cost 0.005)" in done.stderr


def test_a_sweep_file_has_prices_and_budgets(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    made(tmp_path)
    server = fake_model([VERDICT])
    sweep = (
        '[run]\ndataset = "d.jsonl"\ncandidates = ["a.txt"]\nmax_cost = 0.003\nconcurrency = 1\nout = "r"\n'
        f'[[evaluator]]\njudge = "openai/m"\nobjective = "o"\napi_base = "{server.base}"\n{PRICES}'
    )
    (tmp_path / "s.toml").write_text(sweep)
    done = cli("run", "s.toml", "--no-preflight", env=KEY)
    assert done.status == 3, done.stderr
    assert "over budget: $0.0040 are spent" in done.stderr
    (tmp_path / "s.toml").write_text(sweep.replace("input = 1.0", "input = -1"))
    assert "s.toml:11: prices: write what" in cli("validate", "s.toml").stdout


def test_a_board_tells_what_its_models_took(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"id": "a", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    )
    (tmp_path / "p.toml").write_text(PRICES)
    server = fake_model([{"text": "2", "usage": USAGE}])
    bench = ("bench", "t.jsonl", "--model", f"openai/m@{server.base}", "--out", "r", "--prices", "p.toml")
    done = cli(*bench, env=KEY)
    assert " openai/m: 1 call, 1,000 + 100 tokens, $0.0020, " in done.stdout
    board = json.loads((tmp_path / "r" / "leaderboard.json").read_text())
    assert board["spent"]["models"]["openai/m"]["cost"] == pytest.approx(0.002)
    assert cli("report", "r", "--check").status == 0
    (tmp_path / "t.jsonl").write_text(
        "".join(
            f'{{"id": "{n}", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}}\n'
            for n in "abc"
        )
    )
    budget = cli(*bench[:-4], "--out", "s", "--max-tokens-total", "1000", "--concurrency", "1", env=KEY)
    assert budget.status == 3, budget.stderr


def test_a_sweep_from_python_has_budgets(
    fake_model: StartModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY["OPENAI_API_KEY"])
    judge = {"judge": f"openai/m@{fake_model([VERDICT]).base}", "objective": "o", "name": "kind"}
    budget: dict[str, Any] = {"max_cost": 0.003, "prices": {"openai/m": {"input": 1, "output": 10}}}
    ended = sweep(
        judge, "a.txt", dataset="d.jsonl", concurrency=1, no_preflight=True, patience="1m", rpm=6000, **budget
    )
    assert (ended.status, ended.exit_code) == ("over_budget", 3)
    assert load_run(ended.folder).exit_code == 3
    assert any("$0.0040 are spent (--max-cost 0.003)" in note for note in ended.notes)
    with pytest.raises(UsageError, match="no price is known for openai/m"):
        sweep(judge, "a.txt", dataset="d.jsonl", max_cost=1.0)


def test_totals_are_by_the_names_of_models_which_may_be_one_model_with_other_options(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    arithmetic(tmp_path, size=2)
    server = fake_model([{"text": "2", "usage": USAGE}])
    tables = [
        f'[[model]]\nname = "{name}"\nmodel = "openai/m"\nbase = "{server.base}"\ntemperature = {hot}\n'
        for name, hot in (("cold", 0), ("hot", 1))
    ]
    (tmp_path / "models.toml").write_text("".join(tables))
    (tmp_path / "p.toml").write_text(PRICES)
    bench = ("bench", "sums.jsonl", "--model", "models.toml", "--prices", "p.toml", "--out", "r")
    done = cli(*bench, "--details", env=KEY)
    assert done.status == 0, done.stderr
    assert "cold: 2 calls, 2,000 + 200 tokens, $0.0040, " in done.stdout
    board = json.loads((tmp_path / "r" / "leaderboard.json").read_text())
    assert {name: total["calls"] for name, total in board["spent"]["models"].items()} == {"cold": 2, "hot": 2}
    assert cli("report", "r", "--check").status == 0
