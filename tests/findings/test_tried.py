"""What was tried is counted: candidates, baselines, steps and looks, by whatever command."""

import random
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.findings.sessions import another_baseline, dropped, edited, equal_steps, looked, run_again
from tests.front_door import Cli

WAYS = {  # how a false claim is come by → its draws, and how many may be false: binom.ppf(.999, draws, .05)
    "dropped": (dropped(8), 8, 3),
    "5 edits, some verdict": (edited(5, at_any=True), 20, 5),
    "10 edits, some verdict": (edited(10, at_any=True), 3, 2),
    "the best alone, with scores of another folder": (run_again(4), 6, 3),
    "another baseline": (another_baseline(4), 8, 3),
    "looks in equal steps": (looked(*equal_steps(60, 6)), 12, 4),
    "looks at twice as much": (looked(10, 20, 40, 80), 12, 4),
}


VAL = ("--dataset", "t.jsonl", "--valset", "d.jsonl")


@pytest.mark.parametrize("way", WAYS)
def test_what_differs_in_nothing_is_rarely_called_better_whatever_is_tried(way: str) -> None:
    once, draws, allowed = WAYS[way]
    draw = random.Random(way)
    assert sum(once(draw) for _ in range(draws)) <= allowed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    """Write an evaluator that reads off the example what a candidate scores, and ten candidates."""
    (tmp_path / "scores.sh").write_text(
        "#!/bin/sh\nread -r line\nname=${line#*'\"candidate\":\"'}; name=${name%%'\"'*}; name=${name%'\\n'}\n"
        'score=${line#*"\\"$name\\":"}; score=${score#\'"\'}\n'
        'printf \'{"score": %s}\\n\' "${score%%[\\",\\}]*}"\n'
    )
    (tmp_path / "scores.sh").chmod(0o755)
    write_rows(tmp_path / "d.jsonl", 3)
    for name in ("base", "good", *(f"c{k}" for k in range(9))):
        (tmp_path / f"{name}.txt").write_text(name)
    return tmp_path


def write_rows(path: Path, seed: int) -> None:
    draw = random.Random(seed)
    with path.open("wb") as file:
        for n in range(24):
            base = draw.uniform(0.2, 0.6)
            row: dict[str, Any] = {
                "n": 100 * seed + n,
                "base": base,
                "good": base + 0.2 + draw.gauss(0, 0.01),
            }
            row |= {f"c{k}": base + draw.gauss(0, 0.1) for k in range(9)}
            file.write(orjson.dumps(row) + b"\n")


def run(cli: Cli, names: str, *options: str, out: str = "r") -> dict[str, Any]:
    named = [word for name in names.split() for word in ("--candidate", f"{name}.txt")]
    command = ["run", "-e", "s=./scores.sh", "--dataset", "d.jsonl", "--out", out, *named, *options]
    told = cli(*command, "--json")
    assert told.status == 0, told.stderr
    return dict(told.json["summary"])


def points(summary: dict[str, Any]) -> str:
    return "\n".join(f"{one['mark']} {one['text']}" for one in summary["verdict"]["points"])


def test_candidates_that_a_command_does_not_name_any_more_are_corrected_for(cli: Cli) -> None:
    names = "base good " + " ".join(f"c{k}" for k in range(5))
    assert run(cli, names)["tried"] == {
        "split": "train",
        "k": 6,
        "named": 6,
        "versions": 0,
        "baselines": 1,
        "steps": 0,
        "look": 1,
    }
    fewer = run(cli, "base good")
    assert (fewer["tried"]["k"], fewer["tried"]["versions"], fewer["selection"]["k"]) == (6, 5, 6)
    assert fewer["rows"][1]["vs_baseline"]["train"]["comparisons"] == 6
    assert "· 6 candidates were tried on these examples; the verdict corrects for 6 comparisons" in points(
        fewer
    )
    assert "6 candidates were tried" in cli("report", "r", "--format", "md").stdout


def test_a_first_look_is_what_it_was(cli: Cli) -> None:
    first = run(cli, "base good")
    assert (first["rows"][1]["vs_baseline"]["train"]["comparisons"], first["verdict"]["state"]) == (
        1,
        "better",
    )
    assert run(cli, "base good") == first


def test_versions_after_results_were_seen_are_decided_more_strictly(cli: Cli) -> None:
    run(cli, "base c0", "--limit", "20")
    first = run(cli, "base c1", "--limit", "20")
    assert (first["tried"]["k"], first["tried"]["steps"]) == (2, 1)
    assert "· 2 candidates were tried on these examples; the verdict corrects for 6 comparisons" in points(
        first
    )
    assert "! 1 version was made after these results were seen, so the verdict is stricter" in points(first)
    second = run(cli, "base good", "--limit", "20")
    assert (second["tried"]["k"], second["rows"][1]["vs_baseline"]["train"]["comparisons"]) == (3, 12)
    assert (second["selection"]["k"], second["verdict"]["state"]) == (3, "better")
    assert cli("report", "r", "--check").status == 0
    third = run(cli, "base good")
    assert (third["tried"]["look"], third["rows"][1]["vs_baseline"]["train"]["comparisons"]) == (2, 60)
    assert cli("report", "r", "--check").status == 0


def test_a_gain_is_bounded_at_the_first_verdict_alone(cli: Cli, folder: Path) -> None:
    write_rows(folder / "t.jsonl", 4)
    assert "largest_gain" in run(cli, "base c0", *VAL)
    assert "largest_gain" not in run(cli, "base c1", *VAL), "c1 may be another because of what c0 showed"
    assert cli("report", "r", "--check").status == 0


def test_more_than_five_versions_after_results_were_seen_have_no_verdict(cli: Cli) -> None:
    for k in range(6):
        run(cli, f"base c{k}", "--quiet")
    told = run(cli, "base c6")
    assert (told["tried"]["steps"], told["verdict"]["state"]) == (6, "steered")
    assert cli("report", "r", "--check").status == 0
    good = run(cli, "base good")
    assert good["verdict"] | {"points": []} == {
        "text": "No verdict: 7 versions were made after these results were seen. The numbers stand; "
        "a verdict needs fresh examples (--testset, or new rows)",
        "points": [],
        "state": "steered",
        "winner": None,
        "by": None,
    }
    assert good["rows"][1]["vs_baseline"]["train"]["mark"] == "hint_better"
    assert good["pairs"][0]["mark"] == "hint_better"
    gated = cli("report", "r", "--fail-under", "s@good=0.1")
    assert gated.status == 0
    assert "7 versions were made after results of these examples were seen" in gated.stdout + gated.stderr


def test_edited_bytes_are_another_version_and_what_a_fresh_start_deleted_counts(
    cli: Cli, folder: Path
) -> None:
    run(cli, "base c0")
    (folder / "c0.txt").write_text("good")
    assert run(cli, "base c0")["tried"]["k"] == 2
    fresh = run(cli, "base c0", "--fresh")
    assert (fresh["tried"]["k"], fresh["tried"]["steps"]) == (2, 1)
    ledger = orjson.loads((folder / "r" / "tried.json").read_bytes())
    assert [len(one["candidates"]) for one in ledger["entries"]] == [3]


def test_examples_that_say_the_same_in_other_bytes_are_the_same(cli: Cli, folder: Path) -> None:
    run(cli, "base c0")
    rows = [orjson.loads(line) for line in (folder / "d.jsonl").read_bytes().splitlines()]
    turned = [orjson.dumps({**dict(reversed(row.items()))}).replace(b",", b", ") for row in rows[::-1]]
    (folder / "d.jsonl").write_bytes(b"\n".join(turned))
    assert run(cli, "base c1")["tried"] | {"named": 1, "steps": 1} == run(cli, "base c1")["tried"]
    table = [",".join(map(str, row)) for row in ([*rows[0]], *(row.values() for row in rows))]
    (folder / "d.csv").write_text("\n".join(table))
    told = run(cli, "base good", "--dataset", "d.csv")["tried"]
    assert (told["k"], told["versions"], told["steps"]) == (3, 2, 2)
    assert cli("report", "r", "--check").status == 0
    document = orjson.loads((folder / "r" / "run.json").read_bytes())
    document["settings"]["overlaps"]["train"]["values"][3][1] = "0123456789abcdef"
    (folder / "r" / "run.json").write_bytes(orjson.dumps(document))
    assert "values[3][1]" in cli("report", "r", "--check").stdout, "else who was tried could be hidden"
    run(cli, "base c2", out="other")
    again = run(cli, "base good", "--dataset", "d.csv", out="new")
    assert "· other scored 1 other candidate on these examples, which do not count here" in points(again)
    write_rows(folder / "d.jsonl", 4)
    assert run(cli, "base good")["tried"]["k"] == 1, "these rows say something else"


def write_answers(folder: Path, edit: str = "", *, most: int = 24) -> None:
    """Write examples whose answers are scores, those of `a` with another digit at their end."""
    rows = [orjson.loads(line) for line in (folder / "d.jsonl").read_bytes().splitlines()]
    answers = [
        {"q": f"what is {n}", "a": f"{row['c0']:.6f}{edit}", "b": f"{row['base']:.6f}"}
        for n, row in enumerate(rows)
    ]
    (folder / "f.jsonl").write_bytes(b"\n".join(map(orjson.dumps, answers[:most])))


def run_answers(cli: Cli, *options: str, fields: str = "ba", out: str = "r") -> dict[str, Any]:
    named = [word for name in fields for word in ("--candidate-field", name)]
    command = ["run", "-e", "s=./answers.sh", "--dataset", "f.jsonl", "--out", out, *named, *options]
    told = cli(*command, "--json")
    assert told.status == 0, told.stderr
    return dict(told.json["summary"]["tried"])


@pytest.fixture
def answers(folder: Path) -> Path:
    (folder / "answers.sh").write_text(
        '#!/bin/sh\nread -r line\nscore=${line#*\'"candidate":"\'}\n'
        'printf \'{"score": %s}\\n\' "${score%%\\"*}"\n'
    )
    (folder / "answers.sh").chmod(0o755)
    write_answers(folder)
    return folder


def test_answers_that_are_edited_in_the_examples_are_other_versions(cli: Cli, answers: Path) -> None:
    told = run_answers(cli, "--limit", "20")
    assert (told["k"], told["steps"], told["look"]) == (1, 0, 1)
    for edits in (1, 2, 3):
        write_answers(answers, edit=str(edits))
        told = run_answers(cli, "--limit", "20")
        assert (told["k"], told["steps"], told["look"]) == (1 + edits, edits, 1)
        assert cli("report", "r", "--check").status == 0
    assert run_answers(cli, "--limit", "20") == told, "nothing was edited"
    assert "beside" not in run_answers(cli, "--limit", "20", out="same")
    write_answers(answers, edit="4")
    beside = run_answers(cli, "--limit", "20", out="alone")["beside"]
    assert beside == [{"run": "r", "candidates": 1}, {"run": "same", "candidates": 1}]
    shutil.rmtree(answers / "alone")
    write_answers(answers, edit="1")
    assert run_answers(cli, "--limit", "20")["k"] == 4, "as it was before"
    assert cli("report", "r", "--check").status == 0
    told = run_answers(cli)
    assert (told["k"], told["look"]) == (4, 2), "more examples are no version"
    fresh = run_answers(cli, "--fresh")
    assert (fresh["k"], fresh["versions"]) == (4, 3)
    assert cli("report", "r", "--check").status == 0


def test_what_was_edited_counts_when_another_field_is_a_candidate(cli: Cli, answers: Path) -> None:
    run_answers(cli, fields="a")
    write_answers(answers, edit="1")
    assert run_answers(cli, fields="a")["versions"] == 1
    told = run_answers(cli)
    assert (told["k"], told["named"], told["versions"]) == (2, 1, 1)
    assert cli("report", "r", "--check").status == 0
    tried = answers / "r" / "tried.json"
    for texts in (["x"], {"x": "y"}, {"x": ["", 7]}):
        document = orjson.loads(tried.read_bytes())
        document["entries"][0]["texts"] = texts
        tried.write_bytes(orjson.dumps(document))
        assert run_answers(cli)["named"] == 1, "what was edited by hand is passed over"


def test_answers_that_stay_are_one_version_whatever_else_is_edited(cli: Cli, answers: Path) -> None:
    write_answers(answers, most=10)
    first = run_answers(cli)
    write_answers(answers)
    assert run_answers(cli, "--fresh")["k"] == first["k"] == 1
    text = (answers / "f.jsonl").read_text()
    (answers / "f.jsonl").write_text(text.replace("what is 3", "what was 3"))
    assert run_answers(cli)["k"] == 1
    (answers / "f.jsonl").write_text(text.replace('"q"', '"c":"0.5","q"'))
    told = run_answers(cli, fields="bac")
    assert (told["k"], told["versions"], told["baselines"]) == (2, 0, 1)
    assert cli("report", "r", "--check").status == 0


def test_a_newline_at_the_end_is_no_version(cli: Cli, folder: Path) -> None:
    run(cli, "base good")
    for name in ("base", "good"):
        (folder / f"{name}.txt").write_text(f"{name}\n")
    told = run(cli, "base good")["tried"]
    assert (told["k"], told["baselines"], told["steps"]) == (1, 1, 0)
    assert cli("report", "r", "--check").status == 0


def test_new_rows_begin_the_count_anew_and_edits_of_half_do_not(cli: Cli) -> None:
    run(cli, "base c0", "--limit", "10")
    assert run(cli, "base good", "--limit", "20")["tried"]["steps"] == 1
    assert run(cli, "base c1")["tried"]["steps"] == 1, "ten rows of 24 had been seen when good came"


def test_candidates_of_a_folder_that_scores_were_taken_from_count(cli: Cli, folder: Path) -> None:
    run(cli, "base good c0 c1 c2", out="searched")
    alone = run(cli, "base good", "--reuse", "searched", out="alone")
    assert (alone["tried"]["k"], alone["tried"]["steps"]) == (4, 0)
    assert "not counted" not in points(alone), "these are"
    shutil.rmtree(folder / "searched")
    assert cli("report", "alone", "--check").status == 0


def test_folders_beside_that_scored_others_are_named_and_not_counted(cli: Cli, folder: Path) -> None:
    run(cli, "base c0 c1", out="other")
    told = run(cli, "base good")
    assert told["tried"]["k"] == 1
    assert cli("report", "r", "--check").status == 0
    assert "· other scored 2 other candidates on these examples, which do not count here" in points(told)
    shutil.rmtree(folder / "other")
    assert orjson.dumps(cli("report", "r", "--json").json) == orjson.dumps(told)


def test_another_baseline_was_one_of_all_pairs(cli: Cli) -> None:
    run(cli, "base c0 c1")
    told = run(cli, "base c0 c1", "--baseline", "c1")
    assert (told["tried"]["k"], told["tried"]["baselines"]) == (6, 2)
    assert cli("report", "r", "--check").status == 0
    assert "3 candidates make 6 ordered pairs; the verdict corrects" in points(told)


def test_looks_at_growing_data_are_decided_more_strictly(cli: Cli) -> None:
    looks = [run(cli, "base good", "--limit", str(rows))["tried"]["look"] for rows in (4, 8, 8, 12, 24)]
    assert looks == [1, 1, 1, 2, 3], "four rows could not decide anything"
    told = run(cli, "base good")
    assert cli("report", "r", "--check").status == 0
    assert told["rows"][1]["vs_baseline"]["train"]["comparisons"] == 12
    assert "! Results were read 3 times while the data grew, so the verdict is stricter" in points(told)


def test_settings_that_changed_after_results_are_said_with_their_date(cli: Cli) -> None:
    run(cli, "base c0")
    told = run(cli, "base c0", "--cluster-by", "n", "--margin", "s=0.1")
    assert "had another cluster_by: none" in points(told)
    assert cli("report", "r", "--check").status == 0
    assert "had another margin: none" in points(told)


def test_another_program_of_the_same_name_is_said_with_its_date(cli: Cli, folder: Path) -> None:
    run(cli, "base c0")
    with (folder / "scores.sh").open("a") as program:
        program.write("# other bytes\n")
    told = run(cli, "base c0", "--replace", "s")
    assert "had another first evaluator: another program" in points(told)
    assert cli("report", "r", "--check").status == 0


def test_what_was_tried_on_examples_counts_when_they_are_another_split(cli: Cli, folder: Path) -> None:
    run(cli, "base c0")
    run(cli, "base c1")
    (folder / "v.jsonl").write_bytes((folder / "d.jsonl").read_bytes())
    write_rows(folder / "d.jsonl", 4)
    told = run(cli, "base good", "--valset", "v.jsonl")
    assert told["tried"] | {"split": "val", "k": 3, "steps": 2} == told["tried"]
    assert cli("report", "r", "--check").status == 0


def test_where_val_chooses_only_winners_were_held_against_test(cli: Cli, folder: Path) -> None:
    write_rows(folder / "v.jsonl", 4)
    write_rows(folder / "t.jsonl", 5)
    splits = "--valset", "v.jsonl", "--testset", "t.jsonl"
    told = run(cli, "base good c0 c1 c2", *splits)
    assert (told["tried"]["split"], told["tried"]["k"], told["verdict"]["by"]["from"]) == ("test", 1, "test")
    assert cli("report", "r", "--check").status == 0


def test_a_part_that_was_chosen_afterwards_has_numbers_and_no_verdict(cli: Cli) -> None:
    run(cli, "base good")
    told = cli("report", "r", "--filter", "n=303", "--json").json
    part = told["verdict"]
    assert part["text"].endswith("No verdict: this part was chosen afterwards. --group-by corrects for that")
    assert (part["state"], part["points"]) == (None, [])


def test_a_journal_tells_what_was_shown_before_it_is_shown(cli: Cli, folder: Path) -> None:
    told = run(cli, "base good")
    (folder / "r" / "summary.json").unlink()
    assert run(cli, "base good") == told
    assert (folder / "r" / "journal.jsonl").read_bytes().count(b'"judged":{') == 1


def diff(cli: Cli, *options: str) -> dict[str, Any]:
    told = cli("diff", "a", "r", *options, "--json")
    assert told.status == 0, told.stderr
    return dict(told.json)


def test_a_diff_is_corrected_for_what_either_run_tried(cli: Cli) -> None:
    run(cli, "base", out="a")
    many = run(cli, " ".join(f"c{k}" for k in range(8)), out="many")
    best = max(many["rows"], key=lambda row: row["splits"]["train"]["mean"])["candidate"]
    run(cli, best, "--reuse", "many")
    (row,) = (told := diff(cli))["rows"]
    plain = row["for_gates"]
    assert (row["comparisons"], plain["comparisons"]) == (8, 1)
    assert (row["p_holm"], plain["p_holm"]) == pytest.approx((min(1, 8 * row["p"]), row["p"]))
    assert "The p values correct for 8 candidates tried on train in B" in told["caveats"]
    (row, *_) = cli("diff", "many", "many", "--json").json["rows"]
    assert "for_gates" not in row  # all that was tried is compared


def test_a_diff_says_nothing_is_better_where_a_run_is_steered_and_its_gate_is_as_before(cli: Cli) -> None:
    run(cli, "base", out="a")
    for k in range(7):
        run(cli, f"base c{k}", "--quiet")
    run(cli, "good")
    (row,) = (told := diff(cli))["rows"]
    assert (row["mark"], row["for_gates"]["mark"]) == ("hint_better", "better")
    assert told["verdict"]["text"].startswith("good may be better on train by 0.197 ")
    assert "train confirms nothing in B: 6 versions were made after its results were seen" in "\n".join(
        told["caveats"]
    )
    assert "▲" not in cli("diff", "a", "r").stdout
    (back,) = cli("diff", "r", "a", "--json").json["rows"]
    assert back["is_regression"]
    gate = cli("diff", "r", "a", "--no-regression-against", "r")
    assert gate.status == 1
    assert "may be worse on train" in gate.stdout
    assert "does not correct for what was tried" in gate.stdout + gate.stderr
