"""`optimize -e task:…`, through the front door: a task in YAML whose texts hold the candidate."""

import signal
from pathlib import Path

import pytest

from optimize_eval import optimize
from optimize_eval.audit.__main__ import main as rederive
from tests.cli.defined import SOLVED
from tests.cli.prompt_searches import kills_after, project, prompts_sent, requests
from tests.front_door import Cli, Result, in_this_process

SCORERS = 3
_SAYS = """\
config_spec:
  - {key: says, type: string, display_name: How a right answer begins, default_value: That is}
definition:
"""
_SOLVED = SOLVED.replace("definition:\n", _SAYS).replace("{{ sample", "{{ candidate }} {{ sample")
TASK = (
    _SOLVED
    + """\
    - {key: wording, type: string_equals, purpose: qa, ground_truth: "{{ sample.target }}"}
    - {key: right, type: string_equals, ground_truth: "<< config.says >> {{ sample.target }}"}
"""
)
LABEL = """\
    - key: first
      type: python
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            return {"word": solver_output.output.split()[0]}
"""
RULE = """\
  actions:
    - key: unfair
      action: exclude_from_metrics
      filter:
        op: in
        expression: "{{ sample.id }}: {{ solver_output.output }}"
        values: ["train-3: That is 3", "val-51: That is 51", "val-51: That is 103"]
"""
COMMON, BETTER = "Well:", "The sum of"
COMMAND = (
    *("optimize", "-e", "task:sums.yaml", "--model", "m=cmd:python3 -S m.py", "--candidate", "seed.txt"),
    *("--dataset", "train.jsonl", "--valset", "val.jsonl", "--concurrency", "2", "--minibatch", "8"),
    *("--proposer", "python3 -S propose.py", "--budget", "400", "--out", "r", "-o", "best.txt"),
)


def task(folder: Path, text: str = TASK + LABEL + RULE, first: str = "", *proposals: str) -> Path:
    project(folder, proposals or (COMMON, BETTER), first)
    (folder / "sums.yaml").write_text(text)
    (folder / "seed.txt").write_text("Look:")
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = task(tmp_path_factory.mktemp("tasks"))
    done = in_this_process(folder)(*COMMAND, "--json")
    assert done.status == 0, done.stderr
    return folder, done


def test_the_text_that_a_task_holds_is_improved_by_its_first_scorer_that_ranks(
    found: tuple[Path, Result],
) -> None:
    folder, done = found

    assert (folder / "best.txt").read_text() == done.json["best_artifact"] == BETTER
    assert done.json["goal"] == {"sums.right": 1.0}
    assert done.json["verdict"]["state"] == "better"
    assert "on all 11 examples" in done.json["verdict"]["text"], "one of 12 is left out"


def test_all_scorers_share_one_reply_also_while_searching(found: tuple[Path, Result]) -> None:
    folder, done = found

    sent = prompts_sent(folder)

    assert set(sent.values()) == {1}
    assert sent.total() * SCORERS == sum(done.json["calls"].values())


def test_the_same_command_again_calls_nothing(found: tuple[Path, Result]) -> None:
    folder, done = found
    before = prompts_sent(folder), len(requests(folder))

    again = in_this_process(folder)(*COMMAND, "--json")

    assert (prompts_sent(folder), len(requests(folder))) == before
    assert again.json["candidates"] == done.json["candidates"]
    assert again.json["verdict"] == done.json["verdict"]


def test_proposers_see_replies_all_scores_and_why_but_nothing_of_val(found: tuple[Path, Result]) -> None:
    first = {one["example"]["id"]: one for one in requests(found[0])[0]["records"]}

    told = first["train-1"]
    assert (told["score"], told["reply"]) == (0.0, "That is 1")
    assert told["scores"] == {"sums.right": 0.0, "sums.first": None, "sums.wording": 0.0}
    assert told["side_info"]["sums.right"]["metadata"]["answer_gt"] == "That is 3"
    assert told["side_info"]["sums.first"] == {"scores": {"word": "That"}}
    assert "val-" not in (found[0] / "asked").read_text()


def test_a_row_that_a_rule_leaves_out_is_skipped_and_no_zero(found: tuple[Path, Result]) -> None:
    folder, done = found
    left = next(one for one in requests(folder)[0]["records"] if one["example"]["id"] == "train-3")

    assert (left["score"], left["scores"]["sums.right"]) == (None, None)
    assert "sums.right: skipped: left out by unfair" in left["error"]
    assert [one["search_mean"] for one in done.json["candidates"]] == [0.0, 1.0]
    rows = {(row["candidate"], row["evaluator"]): row for row in done.json["summary"]["rows"]}
    best = rows["p1", "sums.right"]["splits"]["val"]
    assert (best["mean"], best["skipped"]) == (1.0, 1)


def test_what_is_left_is_a_run_of_the_task_in_every_report(found: tuple[Path, Result]) -> None:
    cli = in_this_process(found[0])

    for format_ in ("terminal", "md", "csv", "jsonl", "junit", "json", "html"):
        assert cli("report", "r", "--format", format_).status == 0, format_
    assert rederive(found[0] / "r") == 0
    metrics = cli("report", "r", "--format", "json").json["metrics"]
    told = {(one["candidate"], one["split"]): (one["n_total"], one.get("n_excluded", 0)) for one in metrics}
    assert told == {
        ("seed", "train"): (8, 1),
        ("seed", "val"): (12, 1),
        ("p1", "train"): (8, 0),
        ("p1", "val"): (12, 1),
    }


def test_scores_labels_and_replies_of_another_search_are_reused(
    found: tuple[Path, Result], tmp_path: Path
) -> None:
    folder = task(tmp_path)

    done = in_this_process(folder)(*COMMAND, "--reuse", str(found[0] / "r"), "--json")

    assert done.json["calls"]["search"] == 0
    assert not (folder / "called").exists()
    assert requests(folder) == requests(found[0])


def test_a_killed_search_comes_to_the_same_result(
    program: Cli, tmp_path: Path, found: tuple[Path, Result]
) -> None:
    folder = task(tmp_path, first=kills_after(17))
    assert program(*COMMAND).status == -signal.SIGKILL
    cli = in_this_process(folder)
    assert cli("report", "r").status == 0, "it says how far it came"

    done = cli(*COMMAND, "--json")

    assert done.json["verdict"] == found[1].json["verdict"]
    assert prompts_sent(folder).total() <= prompts_sent(found[0]).total() + 2
    assert len(requests(folder)) == len(requests(found[0]))


def test_a_failure_says_its_stage_to_proposers(tmp_path: Path) -> None:
    reply = """print('{"error": "no"}', flush=True)"""
    first = f"if 'Look: 3 plus' in asked['prompt']: {reply}; continue"
    scorer = """\
    - key: odd
      type: evaluator
      purpose: qa
      command: "sh -c 'grep -q is.4 && exit 1; echo {\\\\\\"score\\\\\\": 1}'"
"""
    folder = task(tmp_path, TASK + scorer, first)

    done = in_this_process(folder)(*COMMAND, "--json")

    told = {one["example"]["id"]: one for one in requests(folder)[0]["records"]}
    assert told["train-3"]["error"].startswith("sums.right: model_error: model: ")
    assert "reply" not in told["train-3"]
    assert told["train-4"]["error"].startswith("sums.odd: exit_code: scorer odd: ")
    assert (told["train-4"]["score"], told["train-4"]["reply"]) == (0.0, "That is 4")
    assert done.json["best_artifact"] == BETTER


def test_a_sweep_file_names_the_task_its_model_and_parameters(tmp_path: Path) -> None:
    folder = task(tmp_path, TASK.replace("default_value: That is", 'default_value: "It is"'))
    (folder / "search.toml").write_text(
        '[run]\ncandidates = ["seed.txt"]\nmodels = ["m=cmd:python3 -S m.py"]\n'
        'dataset = "train.jsonl"\nvalset = "val.jsonl"\n'
        '[[evaluator]]\ntask = "sums.yaml"\nconfig = { says = "That is" }\n'
        '[optimize]\nproposers = ["python3 -S propose.py"]\nbudget = 200\nminibatch = 4\n'
    )

    done = in_this_process(folder)("optimize", "search.toml", "--out", "r", "--json")

    assert done.json["best_artifact"] == BETTER, done.stderr


def test_python_takes_a_task_beside_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task(tmp_path, TASK.replace("default_value: That is", 'default_value: "It is"')))

    def short(candidate: str, _example: dict[str, object]) -> float:
        return 1 / len(candidate)

    search = optimize(
        {"look": "Look:"},
        ["task:sums.yaml", short],
        models="m=cmd:python3 -S m.py",
        config={"says": "That is"},
        proposer=lambda _request: BETTER,
        dataset="train.jsonl",
        valset="val.jsonl",
        budget=130,
        out="r",
    )

    assert (search.best, search.exit_code, search.verdict["state"]) == (BETTER, 0, "better")
    assert search.run.summary.rows[-1].evaluator == "short"


def test_a_goal_without_any_number_ends_the_search_with_words(tmp_path: Path) -> None:
    folder = task(tmp_path, TASK + LABEL)

    done = in_this_process(folder)(*COMMAND, "--climb", "sums.first")

    assert done.status == 4
    assert "sums.first skipped all examples, the first: it gave no number" in done.stderr


def test_other_rules_are_another_search(found: tuple[Path, Result], tmp_path: Path) -> None:
    folder = task(tmp_path)
    cli = in_this_process(folder)
    assert cli(*COMMAND, "--reuse", str(found[0] / "r"), "--quiet").status == 0
    (folder / "sums.yaml").write_text(TASK + LABEL)

    done = cli(*COMMAND)

    assert (done.status, "had other rules" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("without", "further", "words"),
    [
        ("", ("--climb", "sums.wording"), "sums.wording ranks nobody: it gives labels, or its purpose is qa"),
        ("", ("--goal", "sums.wording=1"), "sums.wording ranks nobody"),
        ("", ("--model", "toy"), "a search has one model, and 2 are named"),
        ("--candidate", ("--prompt", "seed.txt"), "the task sums says itself what models are sent"),
        ("", ("--config", "say=x"), "say"),
        ("--model", (), "the task sums is about a model, and none is named"),
        ("--candidate", (), "holds {{ candidate }}, and no candidate is named"),
        ("--dataset --valset", (), "the task sums is about rows, and none are named"),
        ("-e", ("-e", "task:still.yaml"), "no text of the task sums holds {{ candidate }}"),
        ("-e", ("-e", "task:checks.yaml"), "nothing says which candidate is better: sums.wording"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_call(
    tmp_path: Path, without: str, further: tuple[str, ...], words: str
) -> None:
    folder = task(tmp_path, TASK)
    (folder / "still.yaml").write_text(TASK.replace("{{ candidate }} ", ""))
    (folder / "checks.yaml").write_text(TASK.replace("{key: right,", "{key: right, purpose: qa,"))
    command = [*COMMAND]
    for option in without.split():
        place = command.index(option)
        del command[place : place + 2]

    done = in_this_process(folder)(*command, *further)

    assert (done.status, words in done.stderr) == (2, True), done.stderr
    assert not (folder / "r").exists()
