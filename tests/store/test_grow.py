"""A run that grows: only what is owed is called, and its summary is that of a run that had it all at once."""

import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import orjson
import pytest

from optimize_eval.store.run_json import read_document, write_document
from tests.cli.benches import OFTEN_WRONG, arithmetic, model
from tests.front_door import Cli, in_this_process
from tests.run.projects import COUNTS, Project, copied, edit_example, finished, project, summary

AGAIN = "again=./counts.sh once-more"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"), 6)


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    """Give a run of two candidates over six examples, with nothing counted."""
    made = copied(original, tmp_path)
    (tmp_path / "c.txt").write_text("cc")
    return made


@cache
def at_once(*options: str, candidates: str = "a b c") -> bytes:
    """Give the summary of a run that had everything from the start."""
    with tempfile.TemporaryDirectory() as folder:
        made = project(Path(folder), 6)
        (Path(folder) / "c.txt").write_text("cc")
        named = [word for name in candidates.split() for word in ("--candidate", f"{name}.txt")]
        command = ["run", "-e", COUNTS, *named, "--dataset", "d.jsonl", "--out", "r", *options]
        assert in_this_process(Path(folder))(*command, env=made.env()).status == 0
        return summary(Path(folder) / "r")


def calls(text: str, examples: int = 6, start: int = 1) -> Counter[str]:
    return Counter(f"{text}:{n}" for n in range(start, examples + 1))


GROWS = {  # what is named now → the options, what is called
    "a candidate": (["--candidate", "c.txt"], calls("cc")),
    "an evaluator": (["-e", AGAIN], calls("a") + calls("bbb")),
    "a task model": (["--task-model", "m"], calls("a") + calls("bbb")),
    "repeats": (["--repeats", "2"], calls("a") + calls("bbb")),
    "another baseline": (["--baseline", "b"], Counter()),
    "another seed": (["--seed", "3"], Counter()),
    "fewer examples": (["--limit", "3"], Counter()),
    "clusters and groups": (["--cluster-by", "id", "--group-by", "id"], Counter()),
    "a split": (["--valset", "v.jsonl"], Counter({"a:99": 1, "bbb:99": 1})),
}


def test_what_a_run_json_says_is_written_as_it_was_read(cli: Cli, done: Project) -> None:
    (done.folder / "b.txt").write_text("other")
    edit_example(done)
    grown = [*done.command, "--out", "r", "-e", AGAIN, "--cluster-by", "id", "--note", "n"]
    assert cli(*grown, env=done.env()).status == 0
    before = (done.folder / "r" / "run.json").read_bytes()
    assert before.count(b'"superseded"') == 2, "a text and an example were replaced"
    document = read_document(done.folder / "r")
    assert document
    write_document(done.folder / "r", document)
    assert (done.folder / "r" / "run.json").read_bytes() == before


@pytest.mark.parametrize(("options", "called"), GROWS.values(), ids=GROWS.keys())
def test_only_what_is_owed_is_called(
    cli: Cli, done: Project, options: list[str], called: Counter[str]
) -> None:
    (done.folder / "v.jsonl").write_text('{"id":99}\n')
    result = cli(*done.command, "--out", "r", *options, env=done.env())
    assert result.status == 0, result.stderr
    assert done.asked() == called
    assert cli("report", "r", "--check").status == 0
    first = cli(*done.command, "--out", "other", *options, env=done.env())
    assert first.status == 0
    assert summary(done.folder / "r") == summary(done.folder / "other")
    done.forget()
    again = cli(*done.command, "--out", "r", *options, env=done.env())
    assert (again.stdout, done.asked().total()) == (result.stdout, 0)


def test_a_limit_first_and_then_all_asks_about_no_example_twice(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 20)
    for chosen in (["--limit", "5"], ["--sample", "8"], ["--sample", "12"], []):
        assert cli(*made.command, "--out", "r", *chosen, env=made.env()).status == 0
    assert made.asked() == calls("a", 20) + calls("bbb", 20)
    assert cli("report", "r", "--check").status == 0


def test_samples_nest(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 40)
    taken = []
    for size in ("5", "10", "20"):
        assert (
            cli(*made.command, "--out", size, "--sample", size, "--limit", "30", env=made.env()).status == 0
        )
        told = orjson.loads((tmp_path / size / "run.json").read_bytes())
        taken.append(set(told["splits"][0]["lines"]))
    assert taken[0] < taken[1] < taken[2] < set(range(1, 31))
    assert list(map(len, taken)) == [5, 10, 20]


def test_one_candidate_more_is_called_alone_without_out(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 20)
    (tmp_path / "c.txt").write_text("cc")
    assert cli(*made.command, env=made.env()).status == 0
    made.forget()
    grown = cli(*made.command, "--candidate", "c.txt", "--json", env=made.env())
    assert (grown.status, made.asked()) == (0, calls("cc", 20)), grown.stderr
    assert {row["candidate"] for row in grown.json["summary"]["rows"]} == {"a", "b", "c"}
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_one_model_more_is_benched_alone_without_out(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    often, calls = model(tmp_path / "often", OFTEN_WRONG), tmp_path / "calls"
    bench = ["bench", "sums.jsonl", "--model", often]
    assert cli(*bench, env={"CALLS": str(calls)}).status == 0
    before = calls.read_text()
    more = cli(*bench, "--model", "silent", "--json", env={"CALLS": str(calls)})
    assert (more.status, calls.read_text()) == (0, before), more.stderr
    assert {one["adapter"] for one in more.json["models"]} == {"often", "silent"}
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_candidate_with_new_bytes_is_called_anew_and_its_old_bytes_are_found_again(
    cli: Cli, done: Project
) -> None:
    before = summary(done.folder / "r")
    (done.folder / "b.txt").write_text("dddd")
    changed = cli(*done.command, "--out", "r", env=done.env())
    assert (changed.status, done.asked()) == (0, calls("dddd"))
    assert "note: candidate b has changed: the old one keeps its scores as b@3e744b9d" in changed.stderr
    assert cli("report", "r", "--check").status == 0
    every = cli("report", "r", "--all", "--json")
    assert {row["candidate"]: row["splits"]["train"]["scored"] for row in every.json["rows"]} == {
        "a": 6,
        "b": 6,
        "b@3e744b9d": 6,
    }
    done.forget()
    (done.folder / "b.txt").write_text("bbb")
    back = cli(*done.command, "--out", "r", env=done.env())
    assert (back.status, done.asked().total()) == (0, 0)
    assert "candidate b is what it was before" in back.stderr
    assert summary(done.folder / "r") == before
    assert cli("report", "r", "--check").status == 0


def test_an_example_with_new_bytes_is_called_anew_and_its_old_bytes_are_found_again(
    cli: Cli, done: Project
) -> None:
    before, text = summary(done.folder / "r"), (done.folder / "d.jsonl").read_text()
    edit_example(done)
    changed = cli(*done.command, "--out", "r", env=done.env())
    assert (changed.status, done.asked()) == (0, Counter(["a:33", "bbb:33"]))
    assert "note: 1 example of train changed (line 3): what was scored before stays" in changed.stderr
    assert cli("report", "r", "--check").status == 0
    done.forget()
    (done.folder / "d.jsonl").write_text(text)
    assert cli(*done.command, "--out", "r", env=done.env()).status == 0
    assert (done.asked().total(), summary(done.folder / "r")) == (0, before)


def test_an_evaluator_that_is_replaced_is_called_anew_and_its_old_program_is_found_again(
    cli: Cli, done: Project
) -> None:
    before, program = summary(done.folder / "r"), (done.folder / "counts.sh").read_text()
    (done.folder / "counts.sh").write_text(f"{program}# edited\n")
    refused = cli(*done.command, "--out", "r", env=done.env())
    assert (refused.status, done.asked().total()) == (2, 0)
    assert "call the new one with --replace counts, choose another folder" in refused.stderr
    anew = cli(*done.command, "--out", "r", "--replace", "counts", env=done.env())
    assert (anew.status, done.asked()) == (0, calls("a") + calls("bbb")), anew.stderr
    every = cli("report", "r", "--all", "--json")
    assert len({row["evaluator"] for row in every.json["rows"]}) == 2
    again = cli(*done.command, "--out", "r", "--replace", "counts", env=done.env())
    assert (again.stdout, done.asked().total()) == (anew.stdout, 12)
    assert "note: counts is what the run has already: --replace calls none of it again" in again.stderr
    (done.folder / "counts.sh").write_text(program)
    back = cli(*done.command, "--out", "r", "--replace", "evaluator:counts", env=done.env())
    assert (back.status, done.asked().total(), summary(done.folder / "r")) == (0, 12, before), back.stderr
    assert cli("report", "r", "--check").status == 0
    unknown = cli(*done.command, "--out", "r", "--replace", "other", env=done.env())
    assert (unknown.status, "--replace other: the command has no such evaluator" in unknown.stderr) == (
        2,
        True,
    )


def test_an_evaluator_of_another_range_or_that_changed_meanwhile_is_called_anew(
    cli: Cli, tmp_path: Path
) -> None:
    made = project(tmp_path, 6)
    program = made.folder / "counts.sh"
    text = program.read_text()
    program.write_text(f"{text}echo '# more' >> counts.sh\n")
    assert cli(*made.command, "--out", "r", env=made.env()).status == 3
    program.write_text(text)
    told = cli(*made.command, "--out", "r", "--replace", "counts", env=made.env())
    assert told.status == 0, told.stderr
    made.forget()
    options = ("--out", "r", "--score-range", "any", "--replace", "counts")
    assert cli(*made.command, *options, env=made.env()).status == 0
    assert made.asked() == calls("a") + calls("bbb")
    assert cli("report", "r", "--check").status == 0


def test_what_is_not_named_any_more_is_left_out_and_shown_by_all(cli: Cli, done: Project) -> None:
    whole = summary(done.folder / "r")
    less = cli(
        "run", "-e", COUNTS, "--candidate", "b.txt", *("--dataset", "d.jsonl", "--out", "r"), "--limit", "4"
    )
    assert less.status == 0, less.stderr
    assert "left out, as this command does not name it: candidate a; 2 examples of train;" in less.stderr
    assert summary(done.folder / "r") == at_once("--limit", "4", candidates="b")
    told = cli("report", "r")
    assert (told.stdout, told.stderr.count("note: left out")) == (less.stdout, 1)
    every = cli("report", "r", "--all", "--json")
    assert {row["candidate"]: row["splits"]["train"]["n"] for row in every.json["rows"]} == {"a": 6, "b": 6}
    assert cli(*done.command, "--out", "r", env=done.env()).status == 0
    assert (done.asked().total(), summary(done.folder / "r")) == (0, whole)
    assert cli("report", "r", "--all", "--check").status == 2


def test_candidates_that_are_fields_grow_by_examples_and_by_fields(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 1)
    rows = [{"id": n, "old": "x" * n, "new": "y" * n} for n in range(1, 5)]
    (tmp_path / "f.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    command = ["run", "-e", COUNTS, "--dataset", "f.jsonl", "--out", "r", "--candidate-field"]
    assert cli(*command, "old", "--limit", "2", env=made.env()).status == 0
    assert cli(*command, "old", "--candidate-field", "new", env=made.env()).status == 0
    assert made.asked().total() == 8
    rows[0]["new"] = "z"
    (tmp_path / "f.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    assert cli(*command, "old", "--candidate-field", "new", env=made.env()).status == 0
    assert made.asked().total() == 10, "the line is another one for both"
    assert cli("report", "r", "--check").status == 0
    texts = orjson.loads((tmp_path / "r" / "run.json").read_bytes())["candidates"][1]["texts"]["train"]
    assert len(texts) == 4


def test_run_json_counts_what_each_cell_has_come_to(cli: Cli, done: Project) -> None:
    assert cli(*done.command, "--out", "r", "--candidate", "c.txt", env=done.env(FAILS="cc:2")).status == 0
    told = orjson.loads((done.folder / "r" / "run.json").read_bytes())
    counts = [(cell["candidate"], cell["scored"], cell["failed"], cell["owed"]) for cell in told["cells"]]
    assert counts == [("a", 6, 0, 0), ("b", 6, 0, 0), ("c", 5, 1, 0)]
    assert told["schema"] == "optimize-eval.run.v2"
    assert told["ended_at"] >= told["created_at"]


def test_a_run_does_not_grow_into_a_bench_nor_a_bench_into_a_run(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 3)
    (made.folder / "tasks.jsonl").write_text(
        '{"id": "a", "prompt": "compute: 2 + 2", "targets": ["4"], "metric": "exact_match"}\n'
    )
    bench = "bench", "tasks.jsonl", "--model", "toy", "--out"
    assert cli(*bench, "b").status == 0
    assert orjson.loads((made.folder / "b" / "run.json").read_bytes())["kind"] == "bench"
    refused = cli(*made.command, "--out", "b", env=made.env())
    assert (refused.status, made.asked().total()) == (2, 0)
    assert "the folder has a bench, which a run cannot extend" in refused.stderr
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    assert "the folder has a run, which a bench cannot extend" in cli(*bench, "r").stderr


def test_all_of_a_run_whose_parts_had_other_examples_is_listed_part_by_part(cli: Cli, done: Project) -> None:
    (done.folder / "b.txt").write_text("dddd")
    assert cli(*done.command, "--limit", "4", "--out", "r", env=done.env()).status == 0
    every = cli("report", "r", "--all")
    assert every.status == 0
    told = [line.split() for line in every.stdout.splitlines()]
    rows = [(row[1], row[-3:]) for row in told if len(row) > 4 and row[2] == "train"]
    assert sorted(rows) == [("a", ["6", "6", "0"]), ("b", ["4", "4", "0"]), ("b@3e744b9d", ["6", "6", "0"])]
    assert "nothing is compared" in " ".join(every.stdout.split())
