"""Models of a search: what a judge looks for beside who proposes, and money that pauses the whole."""

from pathlib import Path

import pytest

from tests.cli.searches import project
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli, in_this_process

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
PRICES = '[prices]\n"openai/m" = {input = 1.0, output = 10.0}\n'  # 0.002 dollars a call
KEY = {"OPENAI_API_KEY": "sk-canary-0123456789abcdef"}
PROPOSES = [
    {"when": {"user": "^Improve", "any": f"```\n{n}\n```"}, "text": f"```\n{n + 1}\n```", "usage": USAGE}
    for n in range(9)
]
JUDGES = {"json": {"reasoning": "r", "score": 0.5}, "usage": USAGE}
JUDGED = ("optimize", "seed.txt", "--dataset", "train.jsonl", "--valset", "val.jsonl", "--out", "r")


@pytest.fixture
def server(fake_model: StartModel) -> FakeModel:
    return fake_model([*PROPOSES, JUDGES])


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    (project(tmp_path) / "p.toml").write_text(PRICES)
    return in_this_process(tmp_path)


def systems(server: FakeModel) -> set[str]:
    """Give what judges were told."""
    return {body["messages"][0]["content"] for body in server.bodies() if "Improve" not in str(body)[:200]}


@pytest.mark.parametrize(
    ("options", "objective", "is_told"),
    [
        (("-e", "judge:openai/m", "--objective", "WARM"), "WARM", True),
        (("-e", "judge:openai/m", "--objective", "WARM", "--judge-objective", "COLD"), "COLD", False),
        (("-e", "judge:openai/m", "--objective", "WARM", "--rubric", "rubric.json"), "TERSE", False),
        (("-e", "judge:openai/m", "--objective", "WARM", "--intake-file", "bare.json"), "WARM", True),
        (("-e", "judge:openai/m", "--intake-json", '{"objective": "TERSE"}'), "TERSE", False),
        (("own.toml", "--objective", "WARM"), "TERSE", False),
        (("own.toml", "--judge-objective", "COLD"), "COLD", False),
    ],
)
def test_the_objective_is_the_judge_s_where_that_has_none(
    cli: Cli, tmp_path: Path, server: FakeModel, options: tuple[str, ...], objective: str, *, is_told: bool
) -> None:
    (tmp_path / "rubric.json").write_text('{"objective": "TERSE"}')
    (tmp_path / "bare.json").write_text('{"dimensions": {"warmth": 1}}')
    judge = f'[[evaluator]]\njudge = "openai/m"\napi_base = "{server.base}"\nobjective = "TERSE"\n'
    (tmp_path / "own.toml").write_text(f"{judge}[optimize]\nminibatch = 3\n")
    in_front = options[:1] if options[0].endswith(".toml") else ()

    done = cli(
        *(JUDGED[0], *in_front, *JUDGED[1:], *options[len(in_front) :]),
        *("--reflection-model", "openai/m", "--api-base", server.base, "--budget", "30"),
        env=KEY,
    )

    assert done.status == (4 if "bare.json" in options else 0), "of dimensions the model says nothing"
    assert systems(server)
    assert all(f"Objective:\n{objective}\n" in system for system in systems(server))
    assert ("note: the judge looks for --objective, too" in done.stderr) == is_told


def test_no_judge_sees_what_people_judged(cli: Cli, tmp_path: Path, server: FakeModel) -> None:
    """Neither in the search nor in the final sweep, where the records of the search count."""
    for path in (tmp_path / "train.jsonl", tmp_path / "val.jsonl"):
        path.write_text(path.read_text().replace("}", ', "people": 0.8125}'))
    judge = f'[[evaluator]]\njudge = "openai/m"\napi_base = "{server.base}"\nobjective = "o"\n'
    judges = f'{judge}name = "measured"\nhuman = "people"\n{judge}name = "other"\n'
    (tmp_path / "own.toml").write_text(f"{judges}[optimize]\nminibatch = 3\n")
    proposes = ("--proposer", "python3 -S propose.py", "--budget", "60")
    done = cli(JUDGED[0], "own.toml", *JUDGED[1:], *proposes, env=KEY)
    assert done.status == 0, done.stderr
    assert server.bodies()
    assert not [body for body in server.bodies() if "0.8125" in str(body)]
    calls = len(server.bodies())
    assert cli(JUDGED[0], "own.toml", *JUDGED[1:], *proposes, env=KEY).status == done.status
    assert len(server.bodies()) == calls


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "--intake-json: not JSON"), ('{"objctive": "x"}', "did you mean 'objective'?")],
)
def test_a_rubric_in_a_flag_that_is_wrong_is_told(cli: Cli, text: str, words: str) -> None:
    done = cli(*JUDGED, "-e", "judge:openai/m", "--proposer", "python3 -S propose.py", "--intake-json", text)
    assert (done.status, words in done.stderr) == (2, True), done.stderr
    both = cli(*JUDGED, "-e", "judge:openai/m", "--rubric", "r.json", "--intake-json", "{}")
    assert both.status == 2


def test_money_pauses_a_search_as_ctrl_c_does_and_the_line_that_is_printed_resumes(
    cli: Cli, server: FakeModel
) -> None:
    command = (
        *JUDGED,
        *("-e", "judge:openai/m", "--objective", "o", "--reflection-model", "openai/m", "--concurrency", "1"),
        *("--api-base", server.base, "--prices", "p.toml", "--budget", "40", "--no-early-stop"),
        "--val-chooses",
    )

    done = cli(*command, "--max-cost", "0.033", "--json", env=KEY)

    assert (done.status, done.json["status"], done.json["verdict"]["state"]) == (3, "cost", "unfinished")
    assert len(server.requests()) == 17, "12 for the seed, 3 for a minibatch, a proposal, 1 more"
    made = done.json["calls"]["search"]
    words = f"over budget: $0.0340 are spent (--max-cost 0.033); {made} of at most 40 calls are done"
    assert f"{words}; to resume:\n  optimize-eval optimize seed.txt " in done.stderr
    assert done.json["spent"]["run"]["cost"] == pytest.approx(0.034)
    assert done.json["spent"]["evaluators"]["proposer openai/m"]["calls"] == 1
    (listed,) = cli("runs", ".", "--json").json["runs"]
    assert (listed["state"], listed["units"]["owed"]) == ("over_budget", 40 - made)
    more = cli(*command, "--max-cost", "0.2", "--json", env=KEY)
    assert more.status == 0, more.stderr
    assert (
        more.json["spent"]["run"]["calls"] == more.json["calls"]["search"] + more.json["proposals"]["calls"]
    )


def test_what_the_calls_of_a_final_run_took_is_what_its_journal_gives(
    cli: Cli, fake_model: StartModel
) -> None:
    """Which has records of the search, too, whose calls the search counts."""
    better = {"when": {"any": "candidate ---\n1\n"}, "json": {"reasoning": "r", "score": 1.0}, "usage": USAGE}
    server = fake_model([*PROPOSES, better, JUDGES])
    models = ("-e", "judge:openai/m", "--objective", "o", "--reflection-model", "openai/m")
    done = cli(*JUDGED, *models, "--api-base", server.base, "--budget", "31", "--json", env=KEY)
    assert done.status == 0, done.stderr
    in_final = cli("report", "r", "--format", "json").json["spent"]["run"]["calls"]
    assert done.json["spent"]["run"]["calls"] + in_final == len(server.requests())
    checked = cli("report", "r", "--check")
    assert checked.status == 0, checked.stdout + checked.stderr


def test_money_is_one_budget_for_the_search_and_its_final_sweep(cli: Cli, fake_model: StartModel) -> None:
    better = {"when": {"any": "candidate ---\n1\n"}, "json": {"reasoning": "r", "score": 1.0}, "usage": USAGE}
    same = {"when": {"any": "val-3"}, "json": {"reasoning": "r", "score": 0.7}, "usage": USAGE}
    server = fake_model([*PROPOSES, same, better, JUDGES])
    command = (
        *JUDGED,
        *("-e", "judge:openai/m", "--objective", "o", "--reflection-model", "openai/m", "--concurrency", "1"),
        *("--api-base", server.base, "--prices", "p.toml", "--budget", "31", "--max-cost", "0.072"),
    )

    done = cli(*command, "--json", env=KEY)

    assert (done.status, done.json["verdict"]["state"]) == (3, "unfinished")
    assert "over budget: $0.0720 are spent (--max-cost 0.072)" in done.stderr
    assert len(server.requests()) == 36
    assert cli(*command, "--json", env=KEY).json["verdict"]["state"] == "better"
    plan = cli(*command, "--dry-run", "--like", "r", "--json", env=KEY).json
    assert plan["cost"] == pytest.approx(0.002 * (31 + plan["calls"]["final"]))


@pytest.mark.parametrize(
    "models",
    [("-e", "judge:openai/m", "--objective", "o", "--proposer", "python3 -S propose.py")] * 1
    + [("-e", "python3 -S evaluate.py", "--reflection-model", "openai/m")],
)
def test_money_needs_the_price_of_each_model(cli: Cli, server: FakeModel, models: tuple[str, ...]) -> None:
    done = cli(*JUDGED, *models, "--api-base", server.base, "--max-cost", "1", env=KEY)

    assert (done.status, server.requests()) == (2, [])
    assert "--max-cost cannot be kept: no price is known for openai/m" in done.stderr


def test_a_program_and_a_model_that_are_named_take_turns_and_one_of_the_environment_gives_way(
    cli: Cli, server: FakeModel
) -> None:
    command = (*JUDGED[:-1], "both", "-e", "python3 -S evaluate.py", "--proposer", "python3 -S propose.py")
    more = ("--api-base", server.base, "--budget", "80", "--json")

    both = cli(*command, "--reflection-model", "openai/m", *more, env=KEY).json
    alone = cli(*JUDGED[:-1], "one", *command[-4:], *more, env=KEY | {"OPTIMIZE_ANYTHING_MODEL": "openai/m"})

    assert {one["proposer"] for one in both["candidates"]} == {None, "propose", "openai/m"}
    assert {one["proposer"] for one in alone.json["candidates"]} == {None, "propose"}


@pytest.mark.parametrize(
    "command",
    [
        (*JUDGED, "-e", "true", "--reflection-model", "openai/m"),
        ("bench", "tasks.jsonl", "--model", "openai/m", "--out", "r"),
    ],
)
def test_an_empty_base_is_refused_and_no_other_server_is_called(
    cli: Cli, server: FakeModel, command: tuple[str, ...]
) -> None:
    """A shell gives it where "$(cat url)" is read before the server has written its URL."""
    done = cli(*command, "--api-base", "", env=KEY | {"OPENAI_BASE_URL": server.base})

    assert (done.status, server.requests()) == (2, [])
    assert "--api-base is empty" in done.stderr
