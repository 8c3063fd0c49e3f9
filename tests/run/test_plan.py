"""What a run is made of: candidates, splits, samples, the plan before it is asked, and its units."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.store.layout import Layout, Split
from tests.front_door import Cli
from tests.paths import PROGRAMS
from tests.run.projects import COUNTS, project, records
from tests.tools import need

WORKER = f"worker={PROGRAMS}/worker.pl good"


def recorded(folder: Path) -> None:
    """Write outputs of two systems for three questions, as a log would have them."""
    (folder / "outputs.jsonl").write_text(
        '{"targets": ["yes"], "old": "yes", "new": {"text": "yes"}}\n'
        '{"targets": ["no"], "old": "yes", "new": {"text": "no"}}\n'
        "\n"
        '{"targets": ["maybe"], "old": "maybe", "new": {"text": ""}}\n'
    )


def test_recorded_outputs_are_scored_without_a_candidate(cli: Cli, tmp_path: Path) -> None:
    recorded(tmp_path)
    command = ["run", "-e", "@exact_match", "--dataset", "outputs.jsonl", "--json"]
    one = cli(*command, "--candidate-field", "old")
    assert one.status == 0, one.stderr
    (row,) = one.json["summary"]["rows"]
    assert (row["candidate"], row["splits"]["train"]["mean"]) == ("old", pytest.approx(2 / 3))
    two = cli(*command, "--candidate-field", "old", "--candidate-field", "new.text", "--out", "two")
    assert two.status == 0, two.stderr
    assert [row["candidate"] for row in two.json["summary"]["rows"]] == ["old", "new.text"]
    (pair,) = two.json["summary"]["pairs"]
    assert (pair["n_pairs"], pair["wins"], pair["ties"], pair["losses"]) == (3, 1, 1, 1)
    assert {(r["candidate"], r["line"]): r["score"] for r in records(tmp_path / "two")} == {
        ("old", 1): 1,
        ("old", 2): 0,
        ("old", 4): 1,
        ("new.text", 1): 1,
        ("new.text", 2): 1,
        ("new.text", 4): 0,
    }


def test_each_example_without_text_in_the_field_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"out": "a"}\n{"out": 7}\n\n{"other": "b"}\n{"out": null}\n')
    result = cli("run", "-e", "true", "--candidate-field", "out", "--dataset", "d.jsonl", "--out", "r")
    assert (result.status, result.stdout, (tmp_path / "r").exists()) == (2, "", False)
    assert [line.partition(": ")[0] for line in result.stderr.splitlines()[:3]] == [
        "d.jsonl:2:1",
        "d.jsonl:4:1",
        "d.jsonl:5:1",
    ]
    assert "no text in the field 'out'" in result.stderr
    assert "it has 'other'" in result.stderr


MISUSE: dict[str, tuple[list[str], str]] = {
    "no candidate": (["--dataset", "d.jsonl"], "there is no candidate"),
    "a field and a file": (
        ["--candidate-field", "id", "--candidate", "a.txt", "--dataset", "d.jsonl"],
        "takes the candidates from the examples",
    ),
    "a field without examples": (["--candidate-field", "id"], "--dataset"),
    "a glob that matches nothing": (["--candidate", "*.prompt"], "no file matches '*.prompt'"),
    "no such baseline": (["--candidate", "a.txt", "--baseline", "z"], "the baseline 'z'"),
    "the same task model twice": (
        ["--candidate", "a.txt", "--dataset", "d.jsonl", "--task-model", "m", "--task-model", "m"],
        "task model",
    ),
    "clusters without examples": (["--candidate", "a.txt", "--cluster-by", "id"], "give --dataset"),
    "clusters that are not there": (
        ["--candidate", "a.txt", "--dataset", "d.jsonl", "--cluster-by", "topic"],
        "no example has a text or number at 'topic'",
    ),
}


@pytest.mark.parametrize(("options", "said"), MISUSE.values(), ids=MISUSE.keys())
def test_misuse_is_refused_before_anything_is_asked(
    cli: Cli, tmp_path: Path, options: list[str], said: str
) -> None:
    made = project(tmp_path)
    result = cli("run", "-e", "counts=./counts.sh", *options, "--out", "r", env=made.env())
    assert (result.status, result.stdout) == (2, ""), result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not made.asked()
    assert not (tmp_path / "r").exists()


def names(cli: Cli, *options: str, stdin: bytes = b"") -> list[str]:
    result = cli("run", "-e", "true", "--dataset", "d.jsonl", *options, "--dry-run", "--json", stdin=stdin)
    assert result.status == 0, result.stderr
    found: list[str] = result.json["candidates"]
    return found


def test_candidates_come_from_files_globs_lists_and_stdin_and_are_named_apart(
    cli: Cli, tmp_path: Path
) -> None:
    project(tmp_path)
    (tmp_path / "more").mkdir()
    for name in ("a.txt", "z.txt", "a-2.txt", "[odd].txt"):
        (tmp_path / "more" / name).write_text(name)
    (tmp_path / "list.jsonl").write_text('{"id": "v1", "candidate": ""}\n\n{"id": "a", "candidate": "x"}\n')
    assert names(cli, "--candidate", "*.txt") == ["a", "b"]
    assert names(cli, "--candidate", "more/*.txt", "--candidate", "a.txt") == [
        "[odd]",
        "a-2",
        "more/a",
        "z",
        "a",
    ]
    assert names(cli, "--candidate", "a.txt", "--candidate", "*.txt") == ["a", "b"], "a file counts once"
    (tmp_path / "a.md").write_text("other")
    assert names(cli, "--candidate", "a.*") == ["a.md", "a.txt"]
    assert names(cli, "--candidate", "more/[odd].txt") == ["[odd]"]
    assert names(cli, "--candidate", "**/z.txt", "--candidate", "-", stdin=b"text") == ["z", "stdin"]
    assert names(cli, "--candidates", "list.jsonl", "--candidate", "a.txt") == ["v1", "a", "a.txt"]
    assert names(
        cli, "--candidate-field", "id.x", "--candidate-field", "id.x", "--dataset", field(tmp_path)
    ) == ["id.x"]


def test_an_id_that_is_given_twice_is_refused(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    (tmp_path / "l.jsonl").write_text('{"id": "l", "candidate": "x"}\n{"id": "l", "candidate": "y"}\n')
    (tmp_path / "m.jsonl").write_text('{"id": "m", "candidate": "y"}\n')
    (tmp_path / "n.jsonl").write_text('{"id": "m", "candidate": "z"}\n')
    once = cli("run", "-e", COUNTS, "--candidates", "l.jsonl", env=made.env())
    assert (once.status, once.stdout) == (2, "")
    assert "l.jsonl:2:1: the id 'l' is that of line 1: give each an id of its own" in once.stderr
    both = cli("run", "-e", COUNTS, "--candidates", "m.jsonl", "--candidates", "n.jsonl", env=made.env())
    assert (both.status, "two candidates have the id 'm'" in both.stderr) == (2, True)
    assert not made.asked()


def test_files_of_one_stem_are_named_by_their_folders_in_reports(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "v1.txt").write_text(folder)
    (tmp_path / "s.toml").write_text(
        '[run]\ncandidates = ["*/v1.txt"]\nbaseline = "second/v1"\n[[evaluator]]\ncommand = "./counts.sh"\n'
    )
    assert cli("validate", "s.toml").status == 0
    done = cli("run", "-e", COUNTS, "--candidate", "*/v1.txt", "--out", "r", env=made.env())
    assert done.status == 0, done.stderr
    rows = cli("report", "r", "--json").json["rows"]
    assert [row["candidate"] for row in rows] == ["first/v1", "second/v1"]


def test_candidates_keep_the_order_in_which_they_are_written(cli: Cli, tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "l.jsonl").write_text('{"id": "l", "candidate": "x"}\n')
    (tmp_path / "m.jsonl").write_text('{"id": "m", "candidate": "y"}\n')
    written = ["--candidate=b.txt", "--candidates", "m.jsonl", "--candidate", "a.txt", "--candidates=l.jsonl"]
    assert names(cli, *written) == ["b", "m", "a", "l"]
    assert names(cli, *written[1:]) == ["m", "a", "l"]


def test_a_list_is_no_candidate_and_is_told_how_it_is_one(cli: Cli, tmp_path: Path) -> None:
    project(tmp_path)
    listed = '{"id": "v1", "candidate": "x", "note": 1}\n\n{"id": "v2", "candidate": "y"}\n'
    (tmp_path / "my list.txt").write_text(listed)
    done = cli("run", "-e", "true", "--candidate", "my list.txt", "--out", "r")
    assert (done.status, done.stdout) == (2, "")
    assert "error: my list.txt is a list of 2 candidates, not one candidate" in done.stderr
    assert "  try: --candidates 'my list.txt' takes each" in done.stderr
    assert names(cli, "--candidates", "my list.txt") == ["v1", "v2"]
    assert names(cli, "--candidate", "-", stdin=listed.encode()) == ["stdin"]
    one = cli("score", "my list.txt", "-e", "true")
    assert (one.status, one.stdout) == (2, "")
    assert "  try: run --candidates 'my list.txt' takes each" in one.stderr
    assert "score - < 'my list.txt'" in one.stderr


@pytest.mark.parametrize(
    "text", ['{"id": "v1", "candidate": 5}', '{"id": "v1", "candidate": "x"}\nand more', "{", '{"id": "v1"}']
)
def test_what_only_looks_like_a_list_is_a_candidate(cli: Cli, tmp_path: Path, text: str) -> None:
    project(tmp_path)
    (tmp_path / "c.jsonl").write_text(text)
    assert names(cli, "--candidate", "c.jsonl") == ["c"]


def field(folder: Path) -> str:
    (folder / "f.jsonl").write_text('{"id": {"x": "y"}}\n')
    return "f.jsonl"


def test_candidates_are_asked_about_byte_for_byte(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 1)
    text = "\n a\r\n \u202e\0🙂 \n\n"
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "l.jsonl").write_text(json.dumps({"id": "l", "candidate": text}) + "\n")
    echo = f"echo=python3 {PROGRAMS}/echoes_payload.py"
    command = ["run", "-e", echo, "--candidate", "a.txt", "--candidates", "l.jsonl", "--candidate", "-"]
    result = cli(*command, "--dataset", "d.jsonl", "--out", "r", stdin=text.encode(), env=made.env())
    assert result.status == 0, result.stderr
    said = {record["candidate"]: json.dumps(record["side_info"]) for record in records(tmp_path / "r")}
    assert set(said) == {"a", "stdin", "l"}
    assert len(set(said.values())) == 1


def test_bad_lines_of_a_list_are_named_all_at_once(cli: Cli, tmp_path: Path) -> None:
    project(tmp_path)
    long = "x" * 201
    lines = [
        '{"id": "v1", "candidate": "x"}',
        '{"id": "v2"}',
        '{"id": 3, "candidate": "x"}',
        "[]",
        '{"id": "", "candidate": "x"}',
        '{"id": "v6", "candidate": null}',
        "oops",
        f'{{"id": "{long}", "candidate": "x"}}',
        '{"id": "v9", "candidate": "\\ud800"}',
    ]
    (tmp_path / "list.jsonl").write_text("\n".join(lines) + "\n")
    result = cli("run", "-e", "true", "--candidates", "list.jsonl", "--out", "r")
    assert (result.status, result.stdout) == (2, "")
    said = [line.split(":")[:2] for line in result.stderr.splitlines()[:-1]]
    assert said == [["list.jsonl", str(number)] for number in range(2, 10)]
    assert "8 problems found. Nothing was run." in result.stderr


def lines_of(run: Path, split: str = "train") -> list[int]:
    manifest = json.loads((run / "run.json").read_bytes())
    found: list[int] = next(one["lines"] for one in manifest["splits"] if one["name"] == split)
    return found


def test_limits_and_samples_choose_the_same_examples_each_time(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 40)

    def chosen(out: str, *options: str) -> tuple[list[int], list[int]]:
        command = [*made.command, "--valset", "d.jsonl", "--out", out, *options]
        result = cli(*command, env=made.env())
        assert result.status == 0, result.stderr
        return lines_of(tmp_path / out), lines_of(tmp_path / out, "val")

    assert chosen("limit", "--limit", "3") == ([1, 2, 3], [1, 2, 3])
    train, val = chosen("s0", "--sample", "5")
    assert len(train) == len(val) == 5
    assert train == sorted(set(train)) != val == sorted(set(val))
    assert chosen("s0-again", "--sample", "5", "--seed", "0") == (train, val)
    assert chosen("s1", "--sample", "5", "--seed", "1") != (train, val)
    few, _ = chosen("both", "--limit", "6", "--sample", "5")
    assert max(few) <= 6


def test_a_dry_run_asks_nothing_and_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    before = sorted(tmp_path.iterdir())
    command = [*made.command, "--repeats", "2", "--dry-run"]
    text = cli(*command, env=made.env())
    told = cli(*command, "--json", "--concurrency", "6", env=made.env())
    assert (text.status, told.status) == (0, 0)
    assert "48 calls" in text.stdout
    assert "Nothing was called" in text.stdout
    assert (told.json["calls"], told.json["owed"], told.json["slots"], told.json["splits"]) == (
        48,
        48,
        6,
        {"train": 12},
    )
    assert told.json["run"] in text.stdout
    assert sorted(tmp_path.iterdir()) == before
    cli(*made.command, "--out", "r", env=made.env())
    assert cli(*made.command, "--out", "r", "--dry-run", "--json", env=made.env()).json["owed"] == 0


def test_a_text_is_compared_without_a_dataset(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    command = [
        *("run", "-e", "counts=./counts.sh", "--candidate", "a.txt"),
        *("--candidate", "b.txt", "--out", "r"),
    ]
    result = cli(*command, "--repeats", "3", "--json", env=made.env())
    assert result.status == 0, result.stderr
    assert [list(row["splits"]) for row in result.json["summary"]["rows"]] == [["single"], ["single"]]
    assert [row["splits"]["single"]["mean"] for row in result.json["summary"]["rows"]] == [0.01, 0.03]
    assert all("line" not in record for record in records(tmp_path / "r"))
    assert dict(made.asked()) == {"a:": 3, "bbb:": 3}
    again = cli(*command, "--repeats", "3", env=made.env())
    assert (again.status, made.asked().total()) == (0, 6)
    assert cli("report", "r").stdout == again.stdout
    assert cli("report", "r", "--check").status == 0


def test_one_text_without_a_dataset_is_scored(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    result = cli("run", "-e", "counts=./counts.sh", "--candidate", "b.txt", "--quiet", env=made.env())
    assert result.status == 0, result.stderr
    assert result.stdout.startswith("b scores 0.03")


@need("perl")
def test_a_thousand_candidates_and_one_example(cli: Cli, tmp_path: Path) -> None:
    lines = (f'{{"id": "c{n}", "candidate": "{n}"}}\n' for n in range(1000) if n % 7 != 3)
    (tmp_path / "list.jsonl").write_text("".join(lines))
    (tmp_path / "d.jsonl").write_text("{}\n")
    command = [
        *("run", "-e", WORKER, "--candidates", "list.jsonl"),
        *("--dataset", "d.jsonl", "--score-range", "any"),
    ]
    result = cli(*command, "--persistent", "--out", "r", "--json")
    assert result.status == 0, result.stderr
    rows = result.json["summary"]["rows"]
    assert len(rows) == len(records(tmp_path / "r")) == 857
    assert [row["splits"]["train"]["mean"] for row in rows] == [n / 100 for n in range(1000) if n % 7 != 3]
    again = cli(*command, "--persistent", "--out", "r")
    assert (again.status, cli("report", "r").stdout) == (0, again.stdout)


def test_a_secret_in_a_command_is_not_written_down(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 1)
    made.command[2] += " --api-key=hunter2"
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    assert all(b"hunter2" not in path.read_bytes() for path in (tmp_path / "r").iterdir())


def splits() -> st.SearchStrategy[tuple[Split, ...]]:
    lines = st.lists(st.integers(1, 1000), min_size=1, max_size=6, unique=True).map(sorted)
    several = st.dictionaries(st.sampled_from(["train", "val", "test"]), lines, min_size=1)
    return several.map(
        lambda named: tuple(
            Split(name=name, lines=tuple(at), sha256=("",) * len(at)) for name, at in named.items()
        )
    ) | st.just((Split(name="single", lines=(None,), sha256=("",)),))


NAMES = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4, unique=True).map(tuple)


def for_some(
    evaluators: Sequence[str], found: Sequence[Split], masks: Sequence[int]
) -> dict[str, tuple[str, ...]]:
    """Let evaluators be for some splits alone; a mask that leaves none lets one be for all."""
    chosen = {
        name: tuple(split.name for place, split in enumerate(found) if mask >> place & 1)
        for name, mask in zip(evaluators, masks, strict=False)
    }
    return {name: names for name, names in chosen.items() if names}


LAYOUTS = st.builds(
    lambda evaluators, candidates, models, found, repeats, masks: Layout(
        evaluators=evaluators,
        score_ranges=(ScoreRange.UNIT,) * len(evaluators),
        candidates=candidates,
        task_models=models,
        splits=found,
        repeats=repeats,
        baseline=candidates[0],
        seed=0,
        splits_of=for_some(evaluators, found, masks),
    ),
    NAMES,
    NAMES,
    NAMES | st.just((None,)),
    splits(),
    st.integers(1, 4),
    st.lists(st.integers(0, 7), min_size=4, max_size=4),
)


def coordinates(layout: Layout, number: int) -> dict[str, Any]:
    place = layout.place(number)
    cell = layout.cells[place.cell]
    told: dict[str, Any] = {"evaluator": cell.evaluator, "candidate": cell.candidate, "split": cell.split}
    line = layout.split(cell.split).lines[place.example]
    told |= {} if line is None else {"line": line}
    told |= {} if cell.task_model is None else {"task_model": cell.task_model}
    return {**told, "repeat": place.repeat + 1}


@given(layout=LAYOUTS)
def test_each_unit_has_one_number_and_each_number_one_unit(layout: Layout) -> None:
    all_of_them = [coordinates(layout, number) for number in range(layout.size)]
    assert [layout.number(one) for one in all_of_them] == list(range(layout.size))
    lines = [len(split.lines) for name in layout.evaluators for split in layout.splits_for(name)]
    assert layout.size == sum(lines) * layout.repeats * len(layout.candidates) * len(layout.task_models)
    counted = [number for name in layout.evaluators for number in layout.units_of(name)]
    assert counted == list(range(layout.size))


@given(
    layout=LAYOUTS,
    change=st.sampled_from(["evaluator", "candidate", "task_model", "split", "line", "repeat"]),
)
def test_a_record_of_another_run_has_no_number(layout: Layout, change: str) -> None:
    foreign = {
        **coordinates(layout, 0),
        change: 5_000 if change in {"line", "repeat"} else "\0foreign",
    }
    assert layout.number(foreign) is None
    lacking = {key: value for key, value in coordinates(layout, 0).items() if key != "repeat"}
    assert layout.number(lacking) is None
