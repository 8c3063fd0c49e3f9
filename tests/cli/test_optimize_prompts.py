"""`optimize --prompt … --model …`, through the front door: a model that counts, a proposer with a list."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import optimize
from tests.cli.prompt_searches import (
    BETTER,
    TRAIN,
    VAL,
    kills_after,
    project,
    prompts_sent,
    requests,
)
from tests.fake_model import StartModel
from tests.front_door import Cli, Result, in_this_process

COMMAND = (
    *("optimize", "--prompt", "seed.md", "--model", "m=cmd:python3 -S m.py", "--extract", "last-number"),
    *("-e", "@exact_match", "--dataset", "train.jsonl", "--valset", "val.jsonl", "--concurrency", "1"),
    *("--proposer", "python3 -S propose.py", "--budget", "100", "--out", "r", "-o", "best.md"),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = project(tmp_path_factory.mktemp("prompts"))
    done = in_this_process(folder)(*COMMAND, "--json")
    assert done.status == 0, done.stderr
    return folder, done


def test_a_prompt_is_improved_and_the_reply_is_what_is_scored(found: tuple[Path, Result]) -> None:
    folder, done = found

    assert (folder / "best.md").read_text() == done.json["best_artifact"] == BETTER
    assert done.json["verdict"]["state"] == "better"
    assert done.json["score_summary"]["best"] == 1.0


def test_the_model_replies_once_to_a_prompt_and_example(found: tuple[Path, Result]) -> None:
    folder, done = found

    sent = prompts_sent(folder)

    assert set(sent.values()) == {1}
    assert sent.total() == sum(done.json["calls"].values())


def test_the_same_command_again_calls_nothing(found: tuple[Path, Result]) -> None:
    folder, done = found
    before = prompts_sent(folder), len(requests(folder))

    again = in_this_process(folder)(*COMMAND, "--json")

    assert (prompts_sent(folder), len(requests(folder))) == before
    assert again.json["candidates"] == done.json["candidates"]


def test_proposers_learn_from_replies_of_train_alone(found: tuple[Path, Result]) -> None:
    asked = requests(found[0])

    records = [record for request in asked for record in request["records"]]
    assert {record["reply"] for record in records} >= {"That is 1", "That is 2"}
    assert all(record["example"]["id"].startswith("train-") for record in records)
    assert "val" not in (found[0] / "asked").read_text()
    assert "plus 5" in (found[0] / "asked").read_text()
    assert not any(f"{n} plus" in (found[0] / "asked").read_text() for n in range(50, 50 + VAL))


def test_templates_that_cannot_be_sent_are_refused_counted_and_told(found: tuple[Path, Result]) -> None:
    folder, done = found

    told = [request.get("refused", "") for request in requests(folder)]

    assert done.json["proposals"]["refused"] == {"bad_template": 2}
    assert "did you mean 'question'?" in told[1]
    assert told[2].startswith("unexpected end of template")
    assert told[0] == told[3] == ""
    assert not any("Say:" in prompt for prompt in prompts_sent(folder))


def test_the_final_sweep_is_a_run_of_prompts_and_a_model(found: tuple[Path, Result]) -> None:
    cli = in_this_process(found[0])

    records = [json.loads(line) for line in cli("report", "r", "--format", "jsonl").stdout.splitlines()]
    rescored = cli("rescore", "r", "-e", "@contains", "--quiet")

    assert {(record["task_model"], record["outcome"]) for record in records} == {("m", "scored")}
    assert {record["candidate"] for record in records} >= {"seed", "p1"}
    assert (rescored.status, "with m on all 12 examples" in rescored.stdout) == (0, True)


def test_scores_and_replies_of_another_search_are_reused(found: tuple[Path, Result], tmp_path: Path) -> None:
    folder = project(tmp_path)

    done = in_this_process(folder)(*COMMAND, "--reuse", str(found[0] / "r"), "--json")

    assert done.json["calls"]["search"] == 0
    assert not (folder / "called").exists()
    assert requests(folder) == requests(found[0])


@pytest.mark.parametrize("after", [5, 17])
def test_a_killed_search_calls_at_most_what_was_in_flight_again(
    program: Cli, tmp_path: Path, found: tuple[Path, Result], after: int
) -> None:
    folder = project(tmp_path, first=kills_after(after))
    assert program(*COMMAND).status == -signal.SIGKILL

    done = in_this_process(folder)(*COMMAND, "--json")

    assert done.json["verdict"] == found[1].json["verdict"]
    assert prompts_sent(folder).total() <= prompts_sent(found[0]).total() + 1
    assert len(requests(folder)) == len(requests(found[0]))


def test_what_is_wrong_for_val_alone_is_told_without_a_word_of_it(tmp_path: Path) -> None:
    folder = project(tmp_path, ["{{question}} {{hint}}", BETTER])
    for name, extra in (("train", {"hint": "sum"}), ("val", {"secret": "VALUE"})):
        rows = [json.loads(line) | extra for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    done = in_this_process(folder)(*COMMAND, "--json")

    assert done.json["proposals"]["refused"] == {"bad_template": 1}
    assert requests(folder)[1]["refused"] == "it cannot be rendered for some example that is held out"
    assert "secret" not in (folder / "asked").read_text()


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("seed.json", '{"system": "You add.", "user": "{{question}}"}'),
        ("seed.json", json.dumps({"messages": [
            {"role": "system", "content": "You add."}, {"role": "user", "content": "{{question}}"}
        ]})),
        ("seed.toml", 'system = "You add."\nuser = "{{question}}"\n'),
        ("seed.yaml", "- {role: system, content: You add.}\n- {role: user, content: '{{question}}'}\n"),
    ],
)  # fmt: skip
def test_messages_are_components_and_are_written_as_they_were(tmp_path: Path, name: str, seed: str) -> None:
    folder = project(tmp_path, [{"system": 'Give the "sum".\nBe brief.'}])
    (folder / name).write_text(seed)
    suffix = Path(name).suffix
    command = [word.replace("seed.md", name).replace("best.md", f"best{suffix}") for word in COMMAND]

    done = in_this_process(folder)(*command, "--json")

    assert done.json["best_artifact"] == {"system": 'Give the "sum".\nBe brief.', "user": "{{question}}"}
    assert requests(folder)[0]["components"] == ["system"]
    called = prompts_sent(folder)
    shown = in_this_process(folder)(
        *("run", "--prompt", f"best{suffix}", "--model", "m=cmd:python3 -S m.py", "--extract", "last-number"),
        *("-e", "@exact_match", "--valset", "val.jsonl", "--dataset", "train.jsonl", "--json"),
        *("--reuse", "r", "--out", "again"),
    )
    assert (shown.status, shown.json["summary"]["units"]["scored"]) == (0, TRAIN + VAL), shown.stderr
    assert prompts_sent(folder) == called, "scores and replies of the search are reused"
    assert shown.json["summary"]["rows"][0]["splits"]["val"]["mean"] == 1.0


def test_what_the_system_says_stays_as_it_is(tmp_path: Path) -> None:
    folder = project(tmp_path, [BETTER])
    (folder / "system.txt").write_text("You know numbers.")

    done = in_this_process(folder)(*COMMAND, "--system", "system.txt", "--json")

    assert (folder / "best.md").read_text() == done.json["best_artifact"] == BETTER
    assert all(prompt.startswith("You know numbers.") for prompt in prompts_sent(folder))


def test_a_failed_reply_teaches_and_is_no_score(tmp_path: Path) -> None:
    reply = """print('{"error": "no"}', flush=True)"""
    fails = f"if 'plus 3' in asked['prompt'] and 'sum' not in asked['prompt']: {reply}; continue"
    folder = project(tmp_path, [BETTER], first=fails)

    done = in_this_process(folder)(*COMMAND, "--minibatch", "8", "--json")

    assert done.json["best_artifact"] == BETTER
    (failed,) = [one for one in requests(folder)[0]["records"] if one["score"] is None]
    assert "reply" not in failed
    assert failed["error"].startswith("model_error: model: ")


def test_the_plan_says_how_often_the_model_is_called(tmp_path: Path) -> None:
    cli = in_this_process(project(tmp_path))

    told = cli(*COMMAND, "-e", "@contains", "--dry-run", "--json").json
    shown = cli(*COMMAND, "--dry-run").stdout

    assert told["replies"] == {"model": "m", "search": 50, "final": 4 * (TRAIN + VAL)}
    assert " replies      m is called at most 100 times in the search, 80 in the final" in shown
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--prompt", "seed.md", "--model", "toy", "--model", "cmd:./m"), "a search has one model, and 2"),
        (("seed.md", "--model", "toy"), "--model replies to a prompt, and none is named"),
        (("seed.md", "--system", "seed.md"), "--system is for prompts"),
        (("--prompt", "seed.md"), "no model is named that replies to the prompts"),
        (("seed.md", "--prompt", "seed.md", "--model", "toy"), "and so does a candidate"),
        (("--prompt", "seed.md", "--model", "cmd:./none"), "--model './none': no program ./none"),
        (("--prompt", "seed.md", "--model", "toy", "--task-model", "x"), "omit --task-model"),
        (("--prompt", "seed.md", "--model", "toy", "--components"), "omit --components"),
        (("--prompt", "seed.md", "--model", "toy", "--from-scratch"), "--prompt is the start"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_call(
    tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    folder = project(tmp_path)
    proposer = ("--proposer", "python3 -S propose.py", "--objective", "Be right.", "--out", "r")

    done = in_this_process(folder)(
        "optimize", *given, "-e", "@exact_match", "--dataset", "train.jsonl", *proposer
    )

    assert (done.status, words in done.stderr) == (2, True), done.stderr
    assert not (folder / "r").exists()


def test_another_model_is_another_search(found: tuple[Path, Result]) -> None:
    command = ["m=toy" if word.startswith("m=") else word for word in COMMAND]

    done = in_this_process(found[0])(*command)

    assert (done.status, "--model" in done.stderr) == (2, True)


def test_a_sweep_file_names_the_prompt_and_the_model(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "search.toml").write_text(
        '[run]\nprompts = ["seed.md"]\nmodels = ["m=cmd:python3 -S m.py"]\nextract = "last-number"\n'
        'dataset = "train.jsonl"\nvalset = "val.jsonl"\n[[evaluator]]\nuse = "@exact_match"\n'
        '[optimize]\nproposers = ["python3 -S propose.py"]\nbudget = 100\n'
    )

    done = in_this_process(folder)("optimize", "search.toml", "--out", "r", "--json")

    assert done.json["best_artifact"] == BETTER, done.stderr


def test_python_takes_prompts_models_and_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path))

    def right(reply: str, example: dict[str, Any]) -> float:
        return float(reply == example["target"])

    search = optimize(
        None,
        right,
        prompts="seed.md",
        models="m=cmd:python3 -S m.py",
        extract="last-number",
        proposer=lambda _request: BETTER,
        dataset="train.jsonl",
        valset="val.jsonl",
        budget=60,
        out="r",
    )

    assert (search.best, search.exit_code, search.verdict["state"]) == (BETTER, 0, "better")


def test_what_a_reply_took_is_the_searchs_or_the_final_sweeps(tmp_path: Path, fake_model: StartModel) -> None:
    project(tmp_path)
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    right = [
        {"when": {"user": f"sum of {n} plus"}, "text": str(2 * n + 1), "usage": usage}
        for n in (*range(TRAIN), *range(50, 50 + VAL))
    ]
    served = fake_model([*right, {"text": "1", "usage": usage}])
    told = in_this_process(tmp_path)(
        *(word.replace("m=cmd:python3 -S m.py", f"m=openai/m@{served.base}") for word in COMMAND),
        "--json",
    )
    assert told.status == 0, told.stderr
    final = json.loads((tmp_path / "r" / "summary.json").read_bytes())["spent"]
    of_search = told.json["spent"]["run"]["calls"]
    assert of_search + (final["run"]["calls"] if final else 0) == len(served.bodies())
