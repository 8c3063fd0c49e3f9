"""`bench` of tasks in YAML: boards of models, datasets without a model, and what is refused."""

import json
from pathlib import Path

import pytest

from optimize_eval import bench
from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import board_in, model
from tests.cli.defined import SAMPLES, SNIPPET, SOLVED, TASK, WITH_BLEU, task
from tests.cli.prompted import COUNTED, calls
from tests.front_door import Cli
from tests.paths import ROOT

SHIPPED = ROOT / "datasets" / "yaml-tasks"
MODELS = ("--model", "m=cmd:./m", "--model", "w=cmd:./w")


def two_models(folder: Path, text: str = TASK) -> None:
    task(folder, text)
    model(folder / "w", "'I do not know'")


def test_models_are_ranked_by_the_first_scorer_that_ranks_and_all_scorers_share_replies(
    cli: Cli, tmp_path: Path
) -> None:
    two_models(
        tmp_path,
        WITH_BLEU.replace("{key: right,", "{key: right, purpose: qa,").replace("qa, ground", "score, ground"),
    )
    done = cli("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED)
    assert done.status == 0, done.stderr
    board = board_in(tmp_path / "r")
    assert [(one["adapter"], one["overall_score"]) for one in board["models"]] == [("m", 1.0), ("w", 0.0)]
    assert "Sums: right (sums.right): metrics on sums" in done.stdout, "what the board does not have"
    assert calls(tmp_path) == 2 * SAMPLES
    (tmp_path / "sums.yaml").write_text(WITH_BLEU + SNIPPET)
    again = cli("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED)
    assert (again.status, calls(tmp_path)) == (0, 2 * SAMPLES), again.stderr
    assert "nothing is left to call" not in again.stderr
    same = cli("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED)
    assert same.stderr.startswith("note: nothing is left to call: all 36 calls are done\n"), same.stderr
    planned = cli("bench", "sums.yaml", *MODELS, "--out", "r", "--dry-run").stdout
    assert " cost        36 calls, all of them done\n" in planned
    assert rederive(tmp_path / "r") == 0
    for format_ in ("terminal", "md", "csv", "jsonl", "junit", "json", "html"):
        assert cli("report", "r", "--format", format_).status == 0, format_


def test_a_task_that_changed_is_told_as_a_task_and_may_be_scored_anew(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path)
    bench = ("bench", "my sums.yaml", *MODELS, "--out", "r")
    (tmp_path / "sums.yaml").rename(tmp_path / "my sums.yaml")
    assert cli(*bench, env=COUNTED).status == 0
    (tmp_path / "my sums.yaml").write_text(TASK.replace('purpose: qa, ground_truth: "', 'ground_truth: "is '))
    refused = cli(*bench)
    assert (refused.status, refused.stderr) == (
        2,
        (
            "error: the task my sums.yaml has changed since these scores were made:\n"
            "  scorer sums.wording has changed\n"
            "  try: score by what is there now with --replace sums.wording, choose another folder with "
            "--out, or start over with --fresh\n"
        ),
    )
    anew = cli(*bench, "--replace", "sums.wording", env=COUNTED)
    assert anew.status == 0, anew.stderr
    assert calls(tmp_path) == 2 * SAMPLES, "the replies are those that were there"


def test_rows_for_a_dataset_that_no_task_has_are_refused(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path)
    for key, hint in (("sum", "did you mean sums?"), ("other", "its tasks have sums")):
        told = cli("bench", "sums.yaml", *MODELS, "--data", f"{key}=sums.jsonl", "--out", "r")
        said = f"error: --data {key}: no task has this dataset\n  try: {hint}\n"
        assert (told.status, told.stderr) == (2, said)
    assert not (tmp_path / "r").exists()


def test_numbers_beyond_0_and_1_rank_nobody(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path, SOLVED + SNIPPET)
    done = cli("bench", "sums.yaml", *MODELS, "--out", "r")
    assert done.status == 0, done.stderr
    assert "no model is ranked: sums.long gives no numbers from 0 to 1" in " ".join(done.stderr.split())
    assert not (tmp_path / "r" / "leaderboard.json").exists()
    assert "13.000" in done.stdout, "the letters of w's replies"
    assert cli("report", "r").stdout == done.stdout
    assert cli("bench", "sums.yaml", *MODELS, "--out", "r", "--json").json["models"] == []
    gates = ("--fail-under", "sums.long.letters_mean@w=13", "--fail-under", "sums.long.letters_mean@m=13")
    judged = cli("bench", "sums.yaml", *MODELS, "--out", "r", *gates, "--json")
    assert (judged.status, [one["met"] for one in judged.json["gates"]]) == (1, [True, False]), judged.stderr
    assert [one["met"] for one in cli("report", "r", *gates, "--json").json["gates"]] == [True, False]


def test_a_task_that_ranks_nobody_is_left_off_the_board_of_the_others(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path)
    other = (SOLVED + SNIPPET).replace("key: sums\ndisplay_name: Sums", "key: letters\ndisplay_name: Letters")
    (tmp_path / "letters.yaml").write_text(other)
    bench = ("bench", "letters.yaml", "sums.yaml", *MODELS, "--out", "r")
    done = cli(*bench, "--include-per-example", env=COUNTED)
    told = " ".join(done.stderr.split())
    assert (done.status, calls(tmp_path)) == (0, 2 * SAMPLES), told
    assert "the board is without letters: letters.long gives no numbers from 0 to 1" in told
    assert "! Letters is not on the board: letters.long gives" in done.stdout
    assert "13.000" in done.stdout, "the letters of w's replies"
    board = board_in(tmp_path / "r")
    assert [(one["adapter"], one["overall_score"]) for one in board["models"]] == [("m", 1.0), ("w", 0.0)]
    assert ([one["task"] for one in board["tasks"]], board["models"][0]["total"]) == (["sums"], SAMPLES)
    assert board["left_out"] == [
        {
            "task": "letters",
            "evaluator": "letters.long",
            "why": "gives no numbers from 0 to 1",
            "display_name": "Letters",
        }
    ]
    assert rederive(tmp_path / "r") == 0
    gates = ("--fail-under", "sums=0", "--fail-under", "m@letters=0", "--fail-under", "letters.long@m=0")
    judged = cli(*bench, *gates, "--json")
    assert [one["met"] for one in judged.json["gates"]] == [True, True, False, True], judged.stderr
    later = cli("report", "r", *gates, "--json")
    assert (later.status, later.json["gates"]) == (1, judged.json["gates"]), later.stderr
    for format_ in ("terminal", "md", "csv", "jsonl", "junit", "json", "html"):
        assert cli("report", "r", "--format", format_).status == 0, format_
    same = cli("diff", "r", "r")
    assert (same.status, "m" in same.stdout) == (0, True), same.stderr
    text = (tmp_path / "sums.yaml").read_text()
    metrics = "key: right, metrics: [{type: max, field: is_correct}],"
    (tmp_path / "sums.yaml").write_text(text.replace("key: right,", metrics))
    again = cli("rescore", "r", "--metrics", ".")
    assert again.status == 0, again.stderr
    assert board_in(tmp_path / "r")["left_out"] == board["left_out"]


def test_a_task_with_quality_checks_alone_ranks_nobody(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path)
    checks = TASK.replace("key: sums\n", "key: checks\n", 1).replace(
        "{key: right,", "{key: right, purpose: qa,"
    )
    (tmp_path / "checks.yaml").write_text(checks)
    for files, words in (
        (("checks.yaml",), "no model is ranked: checks.right has the purpose qa"),
        (
            ("checks.yaml", "sums.yaml"),
            "the board is without checks: checks.right has the purpose qa",
        ),
    ):
        done = cli("bench", *files, *MODELS, "--out", f"r{len(files)}")
        assert (done.status, words in " ".join(done.stderr.split())) == (0, True), done.stderr
        assert (tmp_path / f"r{len(files)}" / "leaderboard.json").exists() == (len(files) > 1)
        assert cli("report", f"r{len(files)}").stdout == done.stdout
    assert [one["task"] for one in board_in(tmp_path / "r2")["tasks"]] == ["sums"]
    assert rederive(tmp_path / "r2") == 0


def test_a_scorer_that_becomes_a_quality_check_ranks_nobody_any_more(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path)
    assert cli("bench", "sums.yaml", *MODELS, "--out", "r").status == 0
    task(tmp_path, TASK.replace("{key: right,", "{key: right, purpose: qa,"))
    done = cli("rescore", "r", "--metrics", "sums.yaml")
    assert (done.status, (tmp_path / "r" / "leaderboard.json").exists()) == (0, False), done.stderr
    assert "no model is ranked: sums.right has the purpose qa" in " ".join(done.stderr.split())


def test_a_task_that_joins_the_board_has_the_scorer_there_that_the_bench_gives_it(
    cli: Cli, tmp_path: Path
) -> None:
    two_models(tmp_path)
    checks = TASK.replace("key: sums\n", "key: checks\n", 1)
    (tmp_path / "checks.yaml").write_text(checks.replace("{key: right,", "{key: right, purpose: qa,"))
    bench = ("bench", "checks.yaml", "sums.yaml", *MODELS, "--out", "r")
    assert cli(*bench).status == 0
    (tmp_path / "checks.yaml").write_text(checks)
    done = cli("rescore", "r", "--metrics", "checks.yaml")
    assert done.status == 0, done.stderr

    def joined() -> list[tuple[str, str]]:
        return [(one["task"], one["metric_id"]) for one in board_in(tmp_path / "r")["tasks"]]

    assert joined() == [("checks", "right"), ("sums", "right")]
    assert cli(*bench).status == 0
    assert joined() == [("checks", "right"), ("sums", "right")]


def test_no_model_is_to_be_replaced_where_a_scorer_failed(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path, TASK.replace("{{ sample.target }}", "{{ sample['missing'] }}"))
    told = cli("bench", "sums.yaml", *MODELS, "--out", "r")
    assert (told.status, "stopped before the other 18 calls" in told.stderr) == (4, True), told.stderr
    assert "after fixing it, run:" in told.stderr
    assert "--replace" not in told.stderr


def test_what_ships_runs_as_its_numbers_say(cli: Cli, tmp_path: Path) -> None:
    toy = cli("bench", SHIPPED / "sums.yaml", "--model", "toy", "--out", "sums", "--json")
    assert toy.json["overall_score"] == 0.75
    tools = cli("bench", SHIPPED / "tools.yaml", "--out", "tools", "--json")
    means = {row["evaluator"]: row["splits"]["tools"]["mean"] for row in tools.json["summary"]["rows"]}
    assert means == {"tools.calls": 0.75, "tools.closes": 1.0}
    (tmp_path / "rows.csv").write_text("id,mail\n1,a@x\n2,b@x\n3,a@x\n")
    given = ("--data", "dataset=rows.csv", "--config", "field=mail", "--out", "rows", "--json")
    unique = cli("bench", SHIPPED / "uniqueness.yaml", *given)
    assert unique.json["summary"]["rows"][0]["splits"]["uniqueness"]["mean"] == 1 / 3


def test_tasks_about_one_dataset_leak_nothing(cli: Cli, tmp_path: Path) -> None:
    text = SOLVED[: SOLVED.index("  solver:")] + "  scorers:\n" + SNIPPET.replace(", solver_output", "")
    text = text.replace("solver_output.output", 'sample["question"]')
    task(tmp_path, text)
    (tmp_path / "more.yaml").write_text(text.replace("key: sums\n", "key: more\n", 1))
    done = cli("bench", "sums.yaml", "more.yaml", "--out", "r", "--json")
    assert done.status == 0, done.stderr
    assert done.json["summary"]["leakage"] == {}
    assert "leakage" not in cli("report", "r").stdout
    assert rederive(tmp_path / "r") == 0


def test_a_dataset_beside_a_task_may_have_filters(cli: Cli, tmp_path: Path) -> None:
    two_models(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes((tmp_path / "sums.jsonl").read_bytes())
    (tmp_path / "sums.jsonl").unlink()
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "sums.yaml").write_text(
        "key: sums\ndisplay_name: Sums\ndescription: Sums.\n"
        "source:\n  type: local\n  file_path: ../rows.jsonl\n"
        "  filters:\n    - {op: in, expression: '{{ id }}', values: [s1, s4]}\n"
    )
    done = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--json", env=COUNTED)
    assert done.status == 0, done.stderr
    assert (done.json["tasks"][0]["total"], calls(tmp_path)) == (2, 2)
    said = "4 of 6 rows are left out by datasets/sums.yaml: {{ id }} in [s1, s4] (4 rows)"
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("text", "further", "words"),
    [
        (TASK, (), "no model is named"),
        (
            TASK.replace("{{ sample.question }}", "{{ candidate }}"),
            MODELS,
            "it compares candidates, not models",
        ),
        (TASK, (*MODELS, "-e", "@f1"), "-e is for tasks in JSONL"),
        (TASK, (*MODELS, "sums.jsonl"), "sums.jsonl holds no task"),
        (TASK.replace("{key: sums}", "{key: sum}"), MODELS, "did you mean sums?"),
        (TASK, (*MODELS, str(SHIPPED / "tools.yaml")), "bench them apart"),
    ],
    ids=["no model", "candidate", "an evaluator", "jsonl", "no dataset", "no model in one"],
)
def test_what_does_not_fit_is_refused_before_any_call(
    cli: Cli, tmp_path: Path, text: str, further: tuple[str, ...], words: str
) -> None:
    two_models(tmp_path, text)
    told = cli("bench", "sums.yaml", *further, "--out", "r", env=COUNTED)
    assert (told.status, words in " ".join(told.stderr.split())) == (2, True), told.stderr
    assert not (tmp_path / "r").exists()
    assert calls(tmp_path) == 0


def test_a_model_is_not_blamed_for_scorers_that_fail_though_these_are_most_calls(
    cli: Cli, tmp_path: Path
) -> None:
    fails = SNIPPET.replace('{"letters": len(solver_output.output)}', "1 / 0")
    right = TASK.split("    - {key: wording")[0]
    task(tmp_path, right + fails + fails.replace("key: long", "key: other"))
    done = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "r")
    words = " ".join(done.stderr.split())
    assert done.status == 4
    assert f"error: sums.long failed on every call ({SAMPLES}), reported: scorer long: " in words
    assert f"error: sums.other failed on every call ({SAMPLES})" in words
    assert "error: m failed" not in words
    task(tmp_path, SOLVED + fails)
    alone = cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", "s")
    words = " ".join(alone.stderr.split())
    assert (alone.status, "stopped before the other 3 calls" in words) == (4, True), words
    assert "error: m failed" not in words


@pytest.mark.parametrize("broken_for", [SAMPLES, SAMPLES - 1], ids=["all", "most"])
def test_a_scorer_that_fails_is_told_of_though_the_board_is_about_another(
    cli: Cli, tmp_path: Path, broken_for: int
) -> None:
    fails = f"1 / 0 if sample['id'] < 's{broken_for}' else {{'letters': 1}}"
    two_models(tmp_path, TASK + SNIPPET.replace('{"letters": len(solver_output.output)}', fails))
    told = cli("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED)
    assert told.status == 4, "as in `run`"
    words = " ".join(told.stderr.split())
    often = f"{2 * broken_for} of {2 * SAMPLES} calls, more than half; the last one"
    share = f"every call ({2 * SAMPLES})" if broken_for == SAMPLES else often
    assert f"error: sums.long failed on {share}, reported: scorer long: compute_scores: ZeroDivision" in words
    assert [one["overall_score"] for one in board_in(tmp_path / "r")["models"]] == [1.0, 0.0]
    again = cli("bench", "sums.yaml", *MODELS, "--out", "r", env=COUNTED)
    assert (again.status, "sums.long failed" in again.stderr, calls(tmp_path)) == (4, True, 2 * SAMPLES)
    assert rederive(tmp_path / "r") == 0


def test_a_program_benches_tasks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_models(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = bench("sums.yaml", ["m=cmd:./m"], out="r")
    assert run.boards[""]["overall_score"] == 1.0


DATASET = """\
key: first
display_name: First
description: Rows that are right.
definition:
  evaluated_entity_type: dataset
  dataset: {key: sums}
  scorers:
    - {key: right, type: string_equals, value: "{{ sample.target }}", ground_truth: "{{ sample.target }}"}
"""


def test_a_bench_of_datasets_grows_task_by_task_and_sums_up_as_the_last_command_alone(
    cli: Cli, tmp_path: Path
) -> None:
    task(tmp_path)
    (tmp_path / "first.yaml").write_text(DATASET)
    (tmp_path / "second.yaml").write_text(DATASET.replace("first", "second"))
    for named in (["first.yaml"], ["first.yaml", "second.yaml"], ["second.yaml"], ["first.yaml"]):
        grown = cli("bench", *named, "--out", "r", "--json")
        alone = cli("bench", *named, "--out", "alone", "--fresh", "--json")
        assert grown.json["status"] == "done", grown.stderr
        assert "is the same evaluator as" not in grown.stderr, "each is about rows of its own"
        assert grown.json["summary"]["rows"] == alone.json["summary"]["rows"]
        assert rederive(tmp_path / "r") == 0
    cells = json.loads((tmp_path / "r" / "run.json").read_text())["cells"]
    assert [(cell["evaluator"], cell["split"]) for cell in cells] == [
        ("first.right", "first"),
        ("second.right", "second"),
    ]
    unknown = cli("bench", "first.yaml", "--out", "r", "--show", "99")
    assert (unknown.status, "the line of an example, 7 or first:7" in unknown.stderr) == (2, True)
    everything = cli("report", "r", "--all", "--json").json
    assert {row["evaluator"]: list(row["splits"]) for row in everything["rows"]} == {
        "first.right": ["first"],
        "second.right": ["second"],
    }


def test_code_that_looks_at_all_samples_of_a_dataset_is_not_called_again_for_another_task(
    cli: Cli, tmp_path: Path
) -> None:
    task(tmp_path)
    counting = f"""\
    - key: unique
      type: python_all_samples
      compute_scores_snippet: |
        def compute_scores(samples):
            with open({str(tmp_path / "called")!r}, "a") as file:
                file.write("x")
            return [{{"score": 1}} for _ in samples]
"""
    (tmp_path / "first.yaml").write_text(DATASET.split("    - {key: right", maxsplit=1)[0] + counting)
    (tmp_path / "second.yaml").write_text(DATASET.replace("first", "second"))
    for named in (["first.yaml"], ["first.yaml", "second.yaml"]):
        done = cli("bench", *named, "--out", "r")
        assert done.status == 0, done.stderr
    assert (tmp_path / "called").read_text() == "x"


def test_a_scorer_is_for_the_datasets_that_the_last_command_names(cli: Cli, tmp_path: Path) -> None:
    task(tmp_path)
    (tmp_path / "first.yaml").write_text(DATASET)
    commands = (
        ["bench", "first.yaml"],
        ["run", "-e", "task:first.yaml", "--dataset", "sums.jsonl"],
        ["bench", "first.yaml"],
    )
    for command_ in commands:
        grown = cli(*command_, "--out", "r", "--json")
        alone = cli(*command_, "--out", "alone", "--fresh", "--json")
        assert grown.json["status"] == "done", grown.stderr
        assert grown.json["summary"]["rows"] == alone.json["summary"]["rows"]
        assert rederive(tmp_path / "r") == 0
    everything = cli("report", "r", "--all", "--json").json
    assert list(everything["rows"][0]["splits"]) == ["first", "train"]
