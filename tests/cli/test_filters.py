"""--filter and --id: which examples take part, told when none does; what is chosen keeps its line."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.front_door import Cli, Result
from tests.run.projects import project, records, scored, summary, undisturbed

EXAMPLES = [
    {"id": "a", "team": "red", "meta": {"level": 1, "deep": {"er": None}}, "a.b": "dots"},
    {"id": "b", "team": "blue", "meta": {"level": 1.0, "tags": ["x", "y"]}},
    {"id": 3, "team": "red", "meta": {"level": 2, "ok": True}},
    {"team": "red", "meta": {"level": "1", "big": 12345678901234567890123}},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write four examples, each after an empty line, one for val, and an evaluator that counts its calls."""
    (tmp_path / "d.jsonl").write_text("".join(f"\n{json.dumps(one)}\n" for one in EXAMPLES))
    (tmp_path / "v.jsonl").write_text('{"id": "v", "team": "blue", "only": "val"}\n')
    (tmp_path / "c.txt").write_text("c")
    return tmp_path


COMMAND = (
    *("run", "-e", "e=true", "--candidate", "c.txt"),
    *("--out", "r", "--no-preflight", "--dataset", "d.jsonl"),
)


def run(cli: Cli, *words: str) -> Result:
    return cli(*COMMAND, *words, "--dry-run", "--json")


def lines(cli: Cli, folder: Path, *words: str) -> list[tuple[str, int]]:
    """Carry a run out and list which examples were asked about."""
    assert cli(*COMMAND, *words, "--fresh").status == 4
    return sorted((one["split"], one["line"]) for one in records(folder / "r"))


CHOSEN: dict[str, tuple[Sequence[str], list[int]]] = {
    "a text": (["--filter=team=red"], [2, 6, 8]),
    "a path": (["--filter=meta.level=2"], [6]),
    "a number as it is written": (["--filter=meta.level=1"], [2, 8]),
    "another spelling is another value": (["--filter=meta.level=1.0"], [4]),
    "true": (["--filter=meta.ok=true"], [6]),
    "null": (["--filter=meta.deep.er=null"], [2]),
    "a list": (['--filter=meta.tags=["x","y"]'], [4]),
    "an object": (['--filter=meta.deep={"er":null}'], [2]),
    "a long integer": (["--filter=meta.big=12345678901234567890123"], [8]),
    "a key with dots": (["--filter=a.b=dots"], [2]),
    "all must hold": (["--filter=team=red", "--filter=meta.level=1"], [2, 8]),
    "an id": (["--id=b"], [4]),
    "ids, texts and numbers, in the file's order": (["--id=3", "--id", "a"], [2, 6]),
    "both": (["--id=a", "--id=b", "--filter=team=blue"], [4]),
    "before the limit": (["--filter=team=red", "--limit=2"], [2, 6]),
}


@pytest.mark.parametrize(("words", "expected"), CHOSEN.values(), ids=CHOSEN.keys())
def test_examples_are_chosen_and_keep_their_lines(
    cli: Cli, data: Path, words: Sequence[str], expected: list[int]
) -> None:
    assert lines(cli, data, *words) == [("train", line) for line in expected]


def test_the_sample_is_drawn_of_what_is_chosen(cli: Cli, data: Path) -> None:
    (data / "d.jsonl").write_text("".join(f'{{"n": {n}, "even": "{n % 2 == 0}"}}\n' for n in range(1, 41)))
    chosen = lines(cli, data, "--filter=even=True", "--sample=5")
    assert len(chosen) == 5
    assert not [line for _, line in chosen if line % 2]


def test_what_takes_part_is_told_and_a_split_without_any_is_none(cli: Cli, data: Path) -> None:
    done = run(cli, "--valset", "v.jsonl", "--filter", "team=red")
    assert done.json["splits"] == {"train": 3}
    assert "note: d.jsonl: 3 of 4 examples take part: team=red" in done.stderr
    assert "note: v.jsonl: no example has team=red, so there is no val split" in done.stderr
    done = run(cli, "--valset", "v.jsonl", "--id", "v", "--id", "a")
    assert done.json["splits"] == {"train": 1, "val": 1}
    assert lines(cli, data, "--valset", "v.jsonl", "--filter=only=val") == [("val", 1)]


def test_run_json_keeps_what_was_asked_for(cli: Cli, data: Path) -> None:
    lines(cli, data, "--filter=team=red", "--id=a")
    settings = json.loads((data / "r" / "run.json").read_bytes())["settings"]
    assert (settings["filter"], settings["ids"]) == (["team=red"], ["a"])
    lines(cli, data)
    assert not {"filter", "ids"} & json.loads((data / "r" / "run.json").read_bytes())["settings"].keys()


REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "a field that nothing has": (
        ["--filter=tema=red"],
        "no example has the field 'tema'\n  try: did you mean 'team'?",
    ),
    "a path that nothing has": (["--filter=meta.levle=1"], "did you mean 'meta.level'?"),
    "a field like no other": (["--filter=xyzzy=1"], "try: fields: team, meta, meta.level, id, "),
    "a value that nothing has": (
        ["--filter=team=green"],
        "no example has team=green\n  try: team is red (3), blue (1)",
    ),
    "a value that is spelled otherwise": (["--filter=meta.ok=True"], "try: meta.ok is true (1)"),
    "values that exclude each other": (
        ["--filter=team=blue", "--filter=meta.ok=true"],
        "no example has team=blue, meta.ok=true\n  try: team is red (3), blue (1); meta.ok is true (1)",
    ),
    "an id that nothing has": (["--id=a", "--id=bb"], "no example has the id 'bb'\n  try: did you mean 'b'?"),
    "an id like no other": (["--id=xyzzy"], "try: ids: a, b, 3"),
    "an id without what the filter wants": (
        ["--id=a", "--filter=team=blue"],
        "no example has team=blue, id a",
    ),
    "no value": (["--filter=team"], "--filter 'team' is not FIELD=VALUE"),
    "no field": (["--filter==red"], "--filter '=red' is not FIELD=VALUE"),
    "nothing": (["--filter="], "is not FIELD=VALUE"),
}


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_chooses_nothing_is_refused_with_what_there_is(
    cli: Cli, tmp_path: Path, words: Sequence[str], said: str
) -> None:
    done = cli(*COMMAND, *words)
    assert (done.status, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "r").exists()


def test_ids_need_examples_that_have_some(cli: Cli, data: Path) -> None:
    (data / "d.jsonl").write_text('{"ident": "a"}\n')
    assert "no example has the field 'id'\n  try: fields: ident\n" in run(cli, "--id=a").stderr
    done = cli("run", "-e", "e=true", "--candidate", "c.txt", "--filter", "a=b")
    assert done.status == 2
    assert "choose examples, and the run has none" in done.stderr


def test_a_long_file_may_be_filtered_down(cli: Cli, data: Path) -> None:
    (data / "d.jsonl").write_text(
        "".join(f'{{"n": {n}, "few": {str(n < 5).lower()}}}\n' for n in range(10_050))
    )
    assert run(cli, "--filter=few=true").json["splits"] == {"train": 5}
    done = run(cli, "--filter=few=false")
    assert "10,045 records are too many for one run" in done.stderr


@pytest.mark.usefixtures("data")
def test_a_preflight_looks_at_the_examples_that_a_run_would_take(cli: Cli) -> None:
    done = cli(
        "preflight", "-e", "true", "--dataset", "d.jsonl", "--filter=team=blue", "--candidate", "c.txt"
    )
    assert "train 1 line ok" in done.stdout
    assert cli("preflight", "-e", "true", "--dataset", "d.jsonl", "--id=x").status == 2


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('filter = ["team=red", "meta.level=2"]', 1),
        ('filter = {team = "red", "meta.level" = 2}', 1),
        ('filter = {"meta.ok" = true}', 1),
        ('ids = ["a", 3]', 2),
        ('ids = ["a", 3]\nfilter = {team = "blue"}', None),
    ],
)
def test_a_sweep_file_chooses_too(cli: Cli, data: Path, keys: str, expected: int | None) -> None:
    sweep = f'[run]\n{keys}\ndataset = "d.jsonl"\ncandidates = ["c.txt"]\n[[evaluator]]\ncommand = "true"\n'
    (data / "s.toml").write_text(sweep)
    done = cli("run", "s.toml", "--dry-run", "--json")
    assert (done.status, done.json["splits"] if done.stdout else None) == (
        (0, {"train": expected}) if expected else (2, None)
    )
    checked = cli("preflight", "s.toml", "--json")
    assert checked.status == (1 if expected else 2)
    assert cli("run", "s.toml", "--id=b", "--filter=team=blue", "--dry-run", "--json").json["splits"] == {
        "train": 1
    }


@pytest.mark.parametrize(
    "keys", ["filter = {}", "filter = 3", 'filter = ["x"]', "filter = {a = []}", "ids = []", "ids = [1.5]"]
)
def test_a_sweep_file_with_another_form_is_refused(cli: Cli, data: Path, keys: str) -> None:
    (data / "s.toml").write_text(f"[run]\n{keys}\n")
    done = cli("run", "s.toml")
    assert done.status == 2
    assert f"s.toml:2: {keys.split(maxsplit=1)[0]}: " in done.stderr


def test_some_examples_first_then_all_then_some_calls_each_once(cli: Cli, tmp_path: Path) -> None:
    made, run = project(tmp_path), tmp_path / "r"
    some = ("--id=3", "--id=5", "--quiet")
    assert cli(*made.command, "--out", "r", *some, env=made.env()).status == 0
    assert (made.asked().total(), len(scored(run))) == (4, 4)
    before = summary(run)
    assert cli(*made.command, "--out", "r", "--quiet", env=made.env()).status == 0
    assert (made.asked().total(), summary(run)) == (24, undisturbed())
    assert cli(*made.command, "--out", "r", *some, env=made.env()).status == 0
    assert (made.asked().total(), summary(run)) == (24, before)
    assert cli("report", "r", "--check").status == 0
    assert "left out" in cli("report", "r").stderr
    told = cli("report", "r", "--all", "--id=7", "--json").json
    assert told["selected"] == {"why": "id 7", "examples": {"train": 1}, "of": {"train": 12}}
    assert "no example has the id '7'" in cli("report", "r", "--id=7").stderr


TASKS = [
    {"id": "one", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match", "kind": "sum"},
    {"id": "two", "prompt": "1 - 1 =", "targets": ["0"], "metric": "exact_match", "kind": "rest"},
    {"id": "six", "prompt": "2 + 1 =", "targets": ["3"], "metric": "exact_match", "kind": "sum"},
]


def test_a_bench_takes_tasks_by_their_ids_and_fields(cli: Cli, tmp_path: Path) -> None:
    for name, tasks in (("m", TASKS), ("n", TASKS[1:2])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in tasks))
    bench = (
        *("bench", "m.jsonl", "n.jsonl", "--model", "toy"),
        *("-e", "own=@exact_match", "--out", "r", "--json"),
    )
    done = cli(*bench, "--filter=kind=sum", "--include-per-example")
    assert done.status == 0, done.stderr
    assert [one["task"] for one in done.json["tasks"]] == ["m"]
    assert done.json["settings"]["filter"] == ["kind=sum"]
    assert {one["line"] for one in records(tmp_path / "r")} == {1, 3}
    assert "note: n.jsonl: no example has kind=sum, so there is no n split" in done.stderr
    assert cli("rescore", "r", "-e", "other=@contains", "--quiet").status == 0
    assert cli("report", "r", "--check").status == 0
    assert cli(*bench, "--fresh", "--id=two", "--limit=1").status == 0
    assert {(one["split"], one["line"]) for one in records(tmp_path / "r")} == {
        ("m.jsonl", 2),
        ("n.jsonl", 1),
    }
    done = cli(*bench, "--id=tow")
    assert done.status == 2
    assert "no example has the id 'tow'\n  try: did you mean 'two'?" in done.stderr
    assert "did you mean 'kind'?" in cli(*bench, "--filter=knd=sum").stderr
