"""`optimize-eval optimize`, through the front door: programs as evaluators and proposers, files as data."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.searches import (
    COMMAND,
    EVALUATE,
    TRAIN,
    VAL,
    WITH_VAL,
    called,
    joined,
    project,
    searched,
)
from tests.fake_model import StartModel
from tests.front_door import Result, in_this_process
from tests.paths import PROGRAM


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    return searched(tmp_path_factory.mktemp("optimize"))


def test_a_candidate_is_improved_and_told_honestly(found: tuple[Path, Result]) -> None:
    folder, done = found
    told = done.json

    last = len(told["candidates"]) - 1

    assert (folder / "best.txt").read_text() == told["best_artifact"] == str(last)
    assert told["verdict"]["state"] == "better"
    assert told["verdict"]["text"] == told["summary"]["verdict"]["text"]
    assert f"p{last} beats seed on held-out data" in told["verdict"]["text"]
    assert not [call for call, times in called(folder).items() if ":val-" in call and times > 1]
    assert told["lineage"] == ["seed", *[f"p{n}" for n in range(1, last + 1)]]
    assert told["diff"].splitlines()[:2] == ["--- seed", f"+++ p{last}"]
    assert told["calls"]["search"] == told["total_metric_calls"] <= 200


def test_the_document_has_the_fields_of_the_reference(found: tuple[Path, Result]) -> None:
    told = found[1].json

    assert told["score_summary"].keys() >= {
        "initial",
        "latest",
        "best",
        "delta_best_vs_initial",
        "num_candidates",
    }
    assert {"plateau_detected", "plateau_guidance", "early_stopped", "stopped_at_iteration"} <= told.keys()
    assert {"budget_utilization", "output_file", "run_dir", "top_diagnostics", "curve"} <= told.keys()
    assert told["output_file"] == "best.txt"
    assert told["summary"]["schema"] == "optimize-eval.summary.v2"


def test_nothing_is_called_twice_and_the_calls_are_those_that_are_told(found: tuple[Path, Result]) -> None:
    folder, done = found

    calls = called(folder)

    assert set(calls.values()) == {1}
    assert calls.total() == sum(done.json["calls"].values())


def test_no_byte_of_val_reaches_a_proposer(found: tuple[Path, Result]) -> None:
    asked = (found[0] / "asked").read_text()

    assert asked.count("SIDE of train-") > 10
    assert "val" not in asked


def test_a_folder_has_one_verdict_which_every_report_has(found: tuple[Path, Result]) -> None:
    folder, done = found
    cli = in_this_process(folder)
    among, verdict = len(done.json["candidates"]) - 1, done.json["verdict"]["text"]

    for format_ in ("terminal", "md", "junit", "json"):
        shown = cli("report", "r", "--format", format_)
        assert verdict in joined(shown), format_
        assert shown.stderr == ""
    as_json = cli("report", "r", "--json").json
    stored = json.loads((folder / "r" / "summary.json").read_bytes())
    assert stored["verdict"]["text"] == as_json["verdict"]["text"] == verdict
    assert as_json["verdict"] == done.json["verdict"]
    assert as_json["search"]["curve"] == done.json["curve"]
    assert cli("report", "r", "--json", "--check").status == 0
    page = Path(cli("report", "r", "--format", "html").stdout.strip())
    head = json.loads(re.findall(r'id="head">(.*?)</script>', (folder / page).read_text())[0])
    assert head["summary"]["verdict"]["text"] == done.json["verdict"]["text"]
    assert head["search"]["lineage"] == done.json["lineage"]
    assert len(head["search"]["curve"]) == len(head["search"]["candidates"]) == among + 1
    texts = [one["candidate"] for one in done.json["candidates"]]
    assert [one["text"] for one in head["search"]["candidates"]] == texts
    (listed,) = cli("runs", ".", "--json").json["runs"]
    assert listed["verdict"] == done.json["verdict"]["text"]
    (folder / "r" / "search.json").write_text("{}")
    assert "beats seed on held-out data" in cli("report", "r").stdout
    (folder / "r" / "search.json").write_text(json.dumps({**done.json, "verdict": 7, "notes": 7}))
    assert [cli("report", "r", "--format", name).status for name in ("md", "html")] == [0, 0]
    (folder / "r" / "search.json").write_text(json.dumps({**done.json, "verdict": {"text": "FORGED"}}))
    assert not [
        name for name in ("terminal", "md", "json") if "FORGED" in cli("report", "r", "--format", name).stdout
    ]
    (folder / "r" / "search.json").write_text(json.dumps(done.json))


def test_an_evaluator_that_scores_the_final_run_later_leaves_the_verdict_of_the_search(
    tmp_path: Path,
) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)
    verdict = cli(*WITH_VAL, "--budget", "60", "--json").json["verdict"]["text"]

    assert cli("rescore", "r", "-e", "other=python3 -S evaluate.py", "--quiet").status == 0

    assert verdict in joined(cli("report", "r"))
    assert cli("report", "r", "--json").json["verdict"]["text"] == verdict
    assert cli("runs", ".", "--json").json["runs"][0]["verdict"] == verdict
    assert cli("diff", "r", "r").status == 0


def test_train_alone_shows_nothing_and_no_held_out_data_are_spoken_of(tmp_path: Path) -> None:
    folder = project(tmp_path)
    lines = [json.dumps({"id": f"train-{n}", "worth": 0.5 + n / 80}) for n in range(1, 31)]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")
    cli = in_this_process(folder)

    done = cli(
        *(*COMMAND, "--details"),
        *("--proposer", "python3 -S propose.py", "--budget", "150", "--out", "r", "--require-better"),
    )

    assert done.status == 1
    assert "on the train data: " in joined(done)
    assert "No verdict: train steered this search. " in joined(done)
    assert "Proposers saw 15 train examples, and 15 other train examples chose the best" in joined(done)
    assert "held-out data" not in done.stdout
    assert "▲" not in done.stdout
    assert "beats" not in done.stdout
    stored = json.loads((folder / "r" / "summary.json").read_bytes())
    assert (stored["verdict"]["state"], stored["verdict"]["winner"]) == ("steered", None)
    assert cli("report", "r", "--json", "--check").status == 0
    for format_ in ("md", "junit", "html"):
        assert "▲" not in cli("report", "r", "--format", format_).stdout, format_


def test_val_that_chose_shows_nothing_and_a_later_run_does_not_forget_that(tmp_path: Path) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)

    done = cli(*WITH_VAL, "--val-chooses", "--budget", "200", "--require-better", "-o", "best.txt", "--json")

    words = "val steered this search"
    assert (done.status, done.json["verdict"]["state"], done.json["verdict"]["winner"]) == (
        1,
        "steered",
        None,
    )
    assert words in done.json["verdict"]["text"]
    assert "beats" not in done.stdout
    assert (folder / "best.txt").read_text() == "0"
    assert cli("report", "r", "--json", "--check").status == 0
    (folder / "nine.txt").write_text("9")
    again = cli(
        "run", *WITH_VAL[2:8], "--candidate", "seed.txt", "--candidate", "nine.txt", "--out", "r", "--json"
    )
    assert again.json["verdict"]["state"] == "steered"
    assert words in again.json["verdict"]["text"]
    checked = cli("report", "r", "--check")
    assert checked.status == 0, "nine.txt has the text of a proposal, which was scored before"
    (folder / "val.jsonl").write_text('{"id": "val-1"}\n{"id": "val-2"}\n')
    few = cli(*WITH_VAL[:-1], "few", "--val-chooses", "--budget", "30", "--json").json["verdict"]
    assert (few["state"], "held-out" in few["text"]) == ("too_few", False), few
    assert any(one["mark"] == "!" and one["text"].startswith(words) for one in few["points"])


def test_a_dataset_is_split_once_by_clusters_and_val_is_never_seen(tmp_path: Path) -> None:
    folder = project(tmp_path)
    lines = [
        json.dumps({"id": f"train-{n}", "of": "train", "doc": n // 4, "worth": 0.5 + n / 100})
        for n in range(48)
    ]
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")

    done = in_this_process(folder)(
        *WITH_VAL, "--cluster-by", "doc", "--budget", "150", "--choose-share", "0.25", "--json"
    )

    assert done.status == 2, "val has no such field"
    (folder / "val.jsonl").write_text("\n".join(line.replace("train", "val") for line in lines) + "\n")
    done = in_this_process(folder)(
        *WITH_VAL, "--cluster-by", "doc", "--budget", "150", "--choose-share", "0.25", "--top", "1", "--json"
    )
    requests = [json.loads(line) for line in (folder / "asked").read_text().splitlines()]
    taught = {record["example"]["doc"] for request in requests for record in request["records"]}
    assert "val-" not in (folder / "asked").read_text()
    assert len(taught) <= 9
    seen = {call.partition(":")[0] for call in called(folder) if ":val-" in call}
    assert seen == {"0", done.json["best_artifact"]}, "the seed and the best by choose"
    assert any("36 train examples, and 12 other" in one["text"] for one in done.json["verdict"]["points"])


@pytest.mark.parametrize("options", [(), ("--cluster-by", "id")])
def test_rows_that_say_the_same_in_other_bytes_learn_or_choose_together(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    folder = project(tmp_path)
    texts = [f"the question of number {n}" for n in range(40)]
    rows = [{"id": f"a{n}", "q": text, "worth": 1} for n, text in enumerate(texts)]
    rows += [{"q": f"{text.upper()} ", "worth": 1, "id": f"b{n}"} for n, text in enumerate(texts)]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "train.jsonl").write_text(lines)
    (folder / "val.jsonl").write_text(lines.replace("question", "answer"))

    assert in_this_process(folder)(*WITH_VAL, *options, "--budget", "200", "--json").status == 0

    records = [json.loads(line) for line in (folder / "r" / "evaluations.jsonl").read_text().splitlines()]
    chose = {record["line"] for record in records[:40]}  # the seed on all that choose comes first
    assert {(line + 39) % 80 + 1 for line in chose} == chose


@pytest.mark.parametrize(("worth", "state"), [("0.5", "seed_only"), ("0", "flat_scores")])
def test_a_search_that_found_nothing_says_so_in_both_documents(
    tmp_path: Path, worth: str, state: str
) -> None:
    folder = project(tmp_path)
    (folder / "evaluate.py").write_text(EVALUATE.replace("number / 10", worth))
    cli = in_this_process(folder)

    done = cli(*WITH_VAL, "--acceptance", "equal", "--budget", "60", "--json")

    stored = json.loads((folder / "r" / "summary.json").read_bytes())
    assert (done.json["verdict"]["state"], stored["verdict"]["state"]) == (state, state)
    assert stored["verdict"]["text"] == done.json["verdict"]["text"]
    assert done.json["best"] == "seed"
    assert cli("report", "r", "--json", "--check").status == 0


def test_a_call_that_failed_in_the_search_is_no_zero_in_the_headline(tmp_path: Path) -> None:
    folder = project(tmp_path)
    fails = """    if example.get("id") == "val-5" and not os.path.exists("mended"):
        print('{"error": "not yet"}', flush=True)
        continue
"""
    text = EVALUATE.replace("    score = min", f"{fails}    score = min")
    (folder / "evaluate.py").write_text(f"import os\n{text}")
    cli = in_this_process(folder)
    (folder / "seed.txt").write_text("3")

    failing = cli(*WITH_VAL, "--val-chooses", "--budget", "120", "--json")
    (folder / "mended").touch()
    done = cli(*WITH_VAL, "--val-chooses", "--budget", "120", "--json")

    assert failing.json["summary"]["rows"][0]["splits"]["val"]["failed"] == 1
    told, rows = done.json, {row["candidate"]: row for row in done.json["summary"]["rows"]}
    assert told["candidates"][0]["failed"] == 1, told["verdict"]
    assert rows["seed"]["splits"]["val"]["failed"] == 0, "called again in the final sweep"
    difference = rows[told["best"]]["vs_baseline"]["val"]["diff"]
    assert told["verdict"]["by"]["diff"] == difference
    assert difference > told["score_summary"]["best"] - told["score_summary"]["initial"]


def test_what_run_json_says_of_a_search_is_checked(tmp_path: Path, found: tuple[Path, Result]) -> None:
    shutil.copytree(found[0] / "r", tmp_path / "r")
    manifest = json.loads((tmp_path / "r" / "run.json").read_bytes())
    for edited in (7, {"steered_by": 7}, {"alone": {"state": 1, "text": "x"}}):
        manifest["settings"]["searched"] = edited
        (tmp_path / "r" / "run.json").write_text(json.dumps(manifest))
        done = in_this_process(tmp_path)("report", "r")
        assert (done.status, "or was edited" in done.stderr) == (2, True), done.stderr


def test_a_search_takes_tables_and_the_examples_that_are_chosen(tmp_path: Path) -> None:
    folder, run = project(tmp_path), in_this_process(tmp_path)
    rows = "".join(f"train-{n},{0.5 + n / 20},{'hard' if n % 2 else 'easy'}\n" for n in range(1, 9))
    (folder / "train.csv").write_text(f"id,worth,level\n{rows}")
    command = ("optimize", "seed.txt", "-e", "e=python3 -S evaluate.py", "--dataset", "train.csv")
    search = (*command, "--proposer", "python3 -S propose.py", "--budget", "30", "--filter", "level=hard")

    done = run(*search, "--json", "--out", "r")

    assert done.status == 0, done.stderr
    assert "note: train.csv: 4 of 8 examples take part: level=hard" in done.stderr
    assert {one.partition(":")[2] for one in called(folder)} == {"train-1", "train-3", "train-5", "train-7"}
    for wrong, words in {
        "--filter=levl=hard": "did you mean 'level'?",
        "--id=train-9": "no example has the id 'train-9'",
    }.items():
        refused = run(*command, wrong, "--out", "q", "--dry-run")
        assert (refused.status, words in refused.stderr) == (2, True), refused.stderr


def test_a_share_of_one_file_is_held_out(tmp_path: Path) -> None:
    folder = project(tmp_path)

    done = in_this_process(folder)(
        *(*COMMAND, "--val-share", "0.5", "--proposer", "python3 -S propose.py"),
        *("--budget", "60", "--json", "--out", "r"),
    )

    asked = [json.loads(line) for line in (folder / "asked").read_text().splitlines()]
    taught = {record["example"]["id"] for request in asked for record in request["records"]}
    assert len(taught) == 3
    assert done.json["summary"]["decided_on"] == "val"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*COMMAND,), "--proposer './propose.sh'"),
        ((*COMMAND,), "--reflection-model PROVIDER/MODEL"),
        ((*WITH_VAL, "--budget", "10"), "one accepted proposal takes up to 12 calls"),
        ((*WITH_VAL, "--climb", "other"), "no evaluator is named 'other'"),
        ((*WITH_VAL, "--goal", "e"), "not NAME=WEIGHT"),
        ((*WITH_VAL, "--goal", "e=1", "--score-range", "any"), "weights need scores from 0 to 1"),
        ((*WITH_VAL, "--merge"), "--merge joins components"),
        ((*WITH_VAL, "--components"), "components are one JSON object"),
        ((*WITH_VAL, "--val-share", "0.5"), "--val-share splits one file"),
        (
            ("optimize", *COMMAND[2:], "--proposer", "python3 -S propose.py"),
            "there is no candidate to improve",
        ),
        ((*WITH_VAL, "--from-scratch"), "--from-scratch starts from the objective"),
        ((*WITH_VAL, "--choose-share", "1.5"), "--choose-share 1.5 is not a share"),
        ((*WITH_VAL, "--choose-share", "0.5", "--val-chooses"), "val chooses here"),
    ],
)
def test_what_cannot_be_searched_is_refused_before_any_call(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    folder = project(tmp_path)

    done = in_this_process(folder)(*arguments, env={"OPTIMIZE_ANYTHING_MODEL": ""})

    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (folder / "called").exists()


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--proposer", "./propos.sh", "no program ./propos.sh in {} (did you mean 'sh ./propose.sh'?)"),
        (
            "--proposer",
            "python3 propos.py",
            "there is no file propos.py in {}; did you mean 'python3 propose.py'?",
        ),
        ("--proposer", "./propose.sh", "./propose.sh is not executable (chmod +x ./propose.sh"),
        ("-e", "./evaluate", "no program ./evaluate in {} (did you mean 'python3 ./evaluate.py'?)"),
    ],
)
def test_a_program_that_is_not_there_is_refused_before_any_call(
    tmp_path: Path, option: str, text: str, words: str
) -> None:
    folder = project(tmp_path)
    (folder / "propose.sh").write_text("#!/bin/sh\n")
    given = {"-e": "python3 -S evaluate.py", "--proposer": "python3 -S propose.py", option: text}

    done = in_this_process(folder)(
        *COMMAND[:2], *(word for one in given.items() for word in one), *COMMAND[4:], "--out", "r"
    )

    assert (done.status, done.stdout) == (2, "")
    assert f"error: {option} {text!r}: {words.format(folder)}" in done.stderr
    assert not (folder / "r").exists()


def test_where_no_gain_is_shown_the_seed_is_kept(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "val.jsonl").write_text('{"id": "val-1"}\n{"id": "val-2"}\n')

    done = in_this_process(folder)(*WITH_VAL, "--budget", "60", "-o", "best.txt", "--require-better")

    assert done.status == 1
    assert (folder / "best.txt").read_text() == "0"
    assert int((folder / "best.txt.unproven").read_text()) > 1
    assert "Too few examples for a verdict: 2 held-out examples" in joined(done)


@pytest.mark.parametrize("leaks", ["drop", "keep"])
def test_no_gain_is_shown_on_a_val_that_is_in_train(tmp_path: Path, leaks: str) -> None:
    folder = project(tmp_path)
    rows = (folder / "val.jsonl").read_text().splitlines()
    (folder / "train.jsonl").write_text("\n".join(rows) + "\n")
    cli = in_this_process(folder)

    done = cli(*WITH_VAL, "--budget", "60", "-o", "best.txt", "--require-better", "--leaks", leaks, "--json")

    assert done.status == 1
    assert "no clear gain (--require-better)" in done.stderr
    assert (folder / "best.txt").read_text() == "0"
    assert done.json["verdict"]["state"] == "leaked"
    assert "val is not held out: 12 of 12 examples are also in train" in done.json["verdict"]["text"]
    assert ("and count (--leaks keep)" in done.json["verdict"]["text"]) == (leaks == "keep")
    text = cli("report", "r").stdout
    assert not [word for word in ("held-out", "beats", "✓", "▲") if word in text]


def test_a_choice_among_one_candidate_is_not_told_as_a_choice(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "val.jsonl").write_text('{"id": "val-1"}\n{"id": "val-2"}\n')
    (folder / "propose.py").write_text('print(\'{"candidate": "1"}\')\n')
    done = in_this_process(folder)(*WITH_VAL, "--budget", "60")
    assert "2 held-out examples; a verdict takes at least 6, usually many more. " in joined(done), done.stdout


def test_an_evaluator_that_is_broken_ends_with_4(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "evaluate.py").write_text("raise ValueError('no such file')\n")

    done = in_this_process(folder)(*WITH_VAL)

    assert done.status == 4
    assert "e scored none of its first 3 calls" in done.stderr
    assert "ValueError: no such file" in done.stderr
    (folder / "evaluate.py").write_text(EVALUATE)
    assert in_this_process(folder)(*WITH_VAL, "--budget", "40").status == 0, "it may be fixed"


def test_a_proposer_that_fails_ends_with_4_and_its_own_words_made_inert(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "propose.py").write_text("raise ValueError('no key \\x1b[2J\\n::error::b')\n")

    done = in_this_process(folder)(*WITH_VAL, env={"CI": "1"})

    assert done.status == 4
    assert "failed 3 times in a row" in done.stderr
    assert "ValueError: no key" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\n::error" not in done.stdout + done.stderr


def test_a_language_model_proposes(tmp_path: Path, fake_model: StartModel) -> None:
    folder = project(tmp_path)
    rules = [{"when": {"user": f"```\n{n}\n```"}, "text": f"```\n{n + 1}\n```"} for n in range(9)]
    server = fake_model(rules)

    done = in_this_process(folder)(
        *COMMAND,
        *("--valset", "val.jsonl", "--reflection-model", "openai/fake", "--api-base", server.base),
        *("--objective", "a larger number", "--budget", "40", "--out", "r", "--json"),
        env={"OPENAI_API_KEY": "sk-canary-0123456789"},
    )

    assert done.status == 0, done.stderr
    prompts = [body["messages"][0]["content"] for body in server.bodies()]
    assert done.json["proposals"]["tokens"]
    assert all("a larger number" in prompt and "SIDE of train" in prompt for prompt in prompts)
    assert not any("val-" in prompt for prompt in prompts)


def test_a_dry_run_tells_calls_floor_and_power(tmp_path: Path) -> None:
    folder = project(tmp_path)
    cli = in_this_process(folder)

    told = cli(*WITH_VAL, "--dry-run", "--json").json
    text = cli(*WITH_VAL, "--concurrency", "8", "--dry-run").stdout

    assert told["calls"] == {
        "seed": 6,
        "per_accepted_proposal": 6,
        "floor": 12,
        "budget": 100,
        "final": 4 * (TRAIN + VAL),
    }
    assert told["examples"] == {
        "learn": TRAIN,
        "choose": TRAIN,
        "apart": False,
        "opened": VAL,
        "deciding": VAL,
        "split": "val",
        "steered_by": None,
        "leaks": None,
    }
    assert "12 of val are opened at the end" in " ".join(text.split())
    assert "at least 12 are needed" in " ".join(text.split())
    assert "if a call takes 100 ms, 2.5 s with 8 slots, and what proposals take" in " ".join(text.split())
    assert not (folder / "r").exists()
    assert cli(*WITH_VAL, "--like", "before").status == 2
    (folder / "one.txt").write_text("4")
    cli("run", *WITH_VAL[2:8], "--candidate", "seed.txt", "--candidate", "one.txt", "--out", "before")
    like = cli(*WITH_VAL, "--dry-run", "--like", "before", "--json").json
    assert (like["like"]["run"], like["cost"], like["seconds"] > 0) == ("before", None, True)
    assert "as in before" in joined(cli(*WITH_VAL, "--dry-run", "--like", "before"))


def test_a_sweep_file_says_what_options_say_and_flags_win(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "search.toml").write_text(
        """
[run]
dataset = "train.jsonl"
valset = "val.jsonl"
candidates = ["seed.txt"]
out = "r"

[[evaluator]]
name = "e"
command = "python3 -S evaluate.py"

[optimize]
proposers = ["python3 -S propose.py"]
objective = "a larger number"
budget = 60
minibatch = 2
output = "best.txt"
"""
    )
    cli = in_this_process(folder)

    told = cli("optimize", "search.toml", "--json").json
    dry = cli("optimize", "search.toml", "--budget", "90", "--dry-run", "--json").json
    run = cli("run", "search.toml", "--dry-run")

    assert (told["budget"], told["run"], told["output_file"]) == (60, "r", "best.txt")
    assert "a larger number" in (folder / "asked").read_text()
    assert (dry["calls"]["budget"], dry["minibatch"]) == (90, 2)
    assert run.status == 0, "what [optimize] says is none of its business"


def test_a_wrong_key_of_a_sweep_file_is_told_with_its_line(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "search.toml").write_text("[optimize]\nbudgt = 60\nselection = 'best'\n")

    done = in_this_process(folder)("optimize", "search.toml")

    assert done.status == 2
    assert "search.toml:2: unknown key 'budgt' in [optimize]: did you mean 'budget'?" in done.stderr
    assert "search.toml:3: selection: write one of" in done.stderr


def test_names_of_other_optimizers_work_or_are_told(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "search.toml").write_text('[optimize]\nproposers = ["python3 -S propose.py"]\nbudget = 40\n')
    cli = in_this_process(folder)

    done = cli(*COMMAND[:4], "--spec-file", "search.toml", "--run-dir", "r", "--cache", "--diff", "--json")
    told = {
        word: cli(*COMMAND, word, "x").stderr for word in ("--parallel", "--model", "--evaluator-command")
    }

    assert (done.status, done.json["run"], done.json["budget"]) == (0, "r", 40)
    assert "the journal is the cache" in done.stderr
    assert "--concurrency N" in told["--parallel"]
    assert "--reflection-model MODEL proposes" in told["--model"]
    assert "-e 'bash eval.sh'" in told["--evaluator-command"]


def test_a_test_split_is_called_in_the_final_sweep_only_and_told(tmp_path: Path) -> None:
    folder = project(tmp_path)
    lines = [json.dumps({"id": f"test-{n}", "of": "test", "worth": 0.5 + n / 20}) for n in range(1, 11)]
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n")

    done = in_this_process(folder)(*WITH_VAL, "--testset", "test.jsonl", "--budget", "80", "--json")

    tested = [call for call in called(folder) if "test-" in call]
    finalists = {row["candidate"] for row in done.json["summary"]["rows"]}
    assert len(tested) == 10 * len(finalists)
    assert finalists == {"seed", done.json["best"]}
    assert f"{done.json['best']}, picked on val, beats seed on test data" in done.json["verdict"]["text"]
    assert done.json["verdict"]["state"] == "better"
    assert called(folder)["0:val-1"] == 1, "val chose, and is called once"


def test_a_test_split_decides_where_there_is_no_val(tmp_path: Path) -> None:
    folder = project(tmp_path)
    test = ("--testset", "val.jsonl", "--proposer", "python3 -S propose.py", "--out", "r")

    done = in_this_process(folder)(*COMMAND, *test, "--budget", "60", "--json")

    assert f"{done.json['best']}, picked on train, beats seed on test data" in done.json["verdict"]["text"]
    assert {call.partition(":")[0] for call in called(folder) if ":val-" in call} == {
        "0",
        done.json["best_artifact"],
    }


@pytest.mark.parametrize("option", ["--choose-rows", "--search-val"])
def test_a_sample_of_val_chooses_and_all_of_it_is_in_the_final_sweep(tmp_path: Path, option: str) -> None:
    folder = project(tmp_path)

    done = in_this_process(folder)(
        *WITH_VAL, "--val-chooses", option, "5", "--budget", "80", "--repeats", "2", "--json"
    )

    sampled = {call.split(":")[1] for call in called(folder) if call.startswith("1:val")}
    row = done.json["summary"]["rows"][0]["splits"]["val"]
    assert len(sampled) == 5
    assert (row["n"], row["repeats"]) == (VAL, 2)


def test_a_report_is_plain_letters_where_the_terminal_has_no_others(found: tuple[Path, Result]) -> None:
    folder, _ = found
    done = subprocess.run(
        [PROGRAM, "report", "r"],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
        capture_output=True,
        check=True,
    )

    lines = done.stdout.decode("ascii").splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "\\u" in line]
    assert any("#" in line and line.startswith(" search") for line in lines)


def test_a_seed_may_be_named_as_proposals_are(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "p1.txt").write_text("0")

    told = in_this_process(folder)("optimize", "p1.txt", *WITH_VAL[2:], "--budget", "80", "--json").json

    assert told["lineage"][:2] == ["seed-p1", "p1"]
    assert told["summary"]["baseline"] == "seed-p1"
