"""The page of a run as a file: what stands in it, how large it gets, what its options say.

What it does in a browser is tests/page, which CI runs in a step of its own.
"""

import json
import math
import re
import struct
from pathlib import Path

import orjson
import pytest

from optimize_eval.reports.page import document
from optimize_eval.reports.page.document import commands_of, with_texts_that_fit
from tests.cli.benches import model
from tests.cli.prompted import command, two_prompts
from tests.findings.made import made
from tests.front_door import Cli, in_this_process
from tests.page.made import HOSTILE, make_run, report
from tests.reports.pages import PART, details, opened, parts

_LARGEST_SMALL = 300_000  # bytes, of 40 records


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("page"), train=50, val=10)


@pytest.fixture(scope="module")
def page(run: Path) -> bytes:
    done = report(run)
    assert (done.status, done.stdout.strip()) == (0, "tickets/report.html"), done.stderr
    return (run / "report.html").read_bytes()


def test_the_head_is_run_json_and_summary_json_as_they_stand(run: Path, page: bytes) -> None:
    head = json.loads(parts(page)["head"])
    assert head["summary"] == orjson.loads((run / "summary.json").read_bytes())
    manifest = orjson.loads((run / "run.json").read_bytes())
    assert head["run"]["candidates"] == manifest["candidates"]
    assert not any("lines" in split or "inputs" in split for split in head["run"]["splits"])


def test_the_columns_are_the_records_bit_by_bit(run: Path, page: bytes, cli: Cli) -> None:
    head, columns = json.loads(parts(page)["head"]), opened(parts(page)["columns"])
    size = len(columns) // 13
    scores = struct.unpack(f"<{size}d", columns[: 8 * size])
    starts, start = {}, 0
    for key in head["cells"]:
        starts[tuple(key)] = start
        start += head["axes"]["sizes"][key[3]]
    assert start == size == 2 * 4 * 60
    axes = head["axes"]
    for line in cli("report", str(run), "--format", "jsonl").stdout.splitlines():
        record = json.loads(line)
        key = (
            axes["evaluators"].index(record["evaluator"]),
            axes["candidates"].index(record["candidate"]),
            0,
            axes["splits"].index(record["split"]),
        )
        at = starts[key] + record["line"] - 1
        outcome = {"scored": 1, "failed": 2, "skipped": 3}[record["outcome"]]
        assert columns[12 * size + at] == outcome
        assert math.isnan(scores[at]) if record["score"] is None else scores[at] == record["score"]


def test_numbers_of_side_information_are_counted_in_equal_steps(run: Path, page: bytes) -> None:
    head = json.loads(parts(page)["head"])
    told = in_this_process(run.parent)("report", run.name, "--format", "jsonl").stdout.splitlines()
    records = [record for record in map(json.loads, told) if record["outcome"] == "scored"]
    summary = {
        (one["evaluator"], one["candidate"], one["split"], key): values["numbers"]
        for one in head["summary"]["side_info"]
        for key, values in one["keys"].items()
        if "numbers" in values
    }
    axes, seen = head["axes"], set()
    for one in head["histograms"]:
        low, high = one["ends"]
        for candidate, split, counts in one["cells"]:
            names = axes["evaluators"][one["evaluator"]], axes["candidates"][candidate], axes["splits"][split]
            expected = [0] * len(counts)
            for record in records:
                value = record.get(f"side_info.{one['key']}")
                if (record["evaluator"], record["candidate"], record["split"]) == names and value is not None:
                    expected[min(len(counts) - 1, int((value - low) / (high - low) * len(counts)))] += 1
            assert counts == expected
            assert sum(counts) == summary[*names, one["key"]]["n"]
            seen.add((*names, one["key"]))
    assert seen == set(summary)
    assert len(seen) == 4 * 2 * 4  # candidates, splits, numbers that the judge says


def test_numbers_beyond_all_bounds_and_of_no_width_are_counted_too(cli: Cli, tmp_path: Path) -> None:
    said = '{"score": 1, "a.b": 1e308, "a": {"b": -1e308}, "same": 7, "huge": 1' + "0" * 400 + "}"
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "said.json").write_text(said)
    options = ["--candidate", "text.txt", "--out", "r", "--no-preflight"]
    assert cli("run", "-e", "e=sh -c 'cat said.json'", *options).status == 0
    report(tmp_path / "r")
    head = json.loads(parts((tmp_path / "r" / "report.html").read_bytes())["head"])
    counted = {one["key"]: sum(one["cells"][0][2]) for one in head["histograms"]}
    assert counted["same"] == 1
    assert counted["a.b"] >= 1


def test_every_example_is_told_in_full_with_its_own_fields(page: bytes) -> None:
    told = details(page)
    assert len(told) == 60
    third = told["0:2"]
    assert third["example"]["question"] == HOSTILE
    assert len(third["records"]) == 8
    failed = [record for *_, record in told["0:41"]["records"] if record.get("kind")]
    assert [record["kind"] for record in failed] == ["score_type"]


def test_a_failure_is_told_with_its_stderr(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("x")
    evaluator = "gone=sh -c 'echo KeyError >&2; exit 3'"
    assert (
        cli("run", "-e", evaluator, "--candidate", "text.txt", "--out", "gone", "--no-preflight").status == 4
    )
    report(tmp_path / "gone")
    (record,) = details((tmp_path / "gone" / "report.html").read_bytes())["0:0"]["records"]
    assert (record[4]["kind"], record[4]["stderr"].strip()) == ("exit_code", "KeyError")


def test_what_a_model_replied_to_a_prompt_is_told_with_each_record(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    used = "{'text': str(len(asked['prompt'])) + ' or so', 'usage': {'prompt_tokens': 9, 'cost': 0.5}}"
    model(tmp_path / "m", used)
    extracted = ("--extract", "last-number", "--limit", "3")
    assert cli(*command("-e", "@exact_match", "-e", "@f1", *extracted, "--no-preflight")).status == 0
    rows = [json.loads(line) for line in cli("report", "r", "--format", "jsonl").stdout.splitlines()]
    replies = {(row["candidate"], row["split"], row["line"]): row["reply"] for row in rows}
    assert report(tmp_path / "r").status == 0
    page = (tmp_path / "r" / "report.html").read_bytes()
    head = json.loads(parts(page)["head"])
    told = details(page)
    assert len(told) == sum(head["axes"]["sizes"])
    for example, one in told.items():
        split, place = map(int, example.split(":"))
        assert len(one["records"]) == 2 * 2  # evaluators and prompts
        for _, candidate, _, _, record in one["records"]:
            key = head["axes"]["candidates"][candidate], head["axes"]["splits"][split], place + 1
            assert record["reply"] == replies[key]
            assert record["extracted"] == replies[key].removesuffix(" or so")
    taken = [one for one in head["taken"] if one["calls"]]
    assert sum(one["calls"] for one in taken) == len(replies)
    assert {(one["cost"] / one["calls"], one["prompt_tokens"] / one["calls"]) for one in taken} == {(0.5, 9)}
    assert all(0 < one["p50"] <= one["p95"] for one in head["taken"])


def test_hostile_text_is_no_markup(page: bytes) -> None:
    assert b"</script><img" not in page
    text = PART.sub(b"", page)
    assert b"<img" not in text
    assert b"__pwned" not in text


def test_the_policy_names_the_digests_of_its_one_script_and_one_style(page: bytes) -> None:
    policy = re.search(rb'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].decode() == document.policy()
    assert b"default-src 'none'" in policy[1]
    assert b"connect-src" not in policy[1]
    assert page.count(b"<script>") == page.count(b"<style>") == 1


def test_the_same_run_gives_the_same_bytes(run: Path, page: bytes) -> None:
    report(run, "-o", "again.html")
    assert (run.parent / "again.html").read_bytes() == page


def test_forty_records_are_a_small_file(tmp_path: Path) -> None:
    run = make_run(tmp_path, train=6, val=4, candidates=["baseline", "v3-structured"])
    report(run)
    assert (run / "report.html").stat().st_size <= _LARGEST_SMALL


def test_what_has_no_room_is_left_out_but_no_number_and_failures_come_first(tmp_path: Path) -> None:
    run = make_run(tmp_path, train=150, val=30, words=3000)
    assert report(run, "--max-mb", "1", "-o", "small.html").status == 0
    small = (tmp_path / "small.html").read_bytes()
    assert len(small) <= 1_000_000
    told = details(small)
    index = struct.unpack("<180I", opened(parts(small)["index"]))
    assert 0 < len(told) < 180
    assert sum(place != 0xFFFFFFFF for place in index) == len(told)
    assert {f"0:{line - 1}" for line in (7, 42, 48, 89, 130, 139)} <= told.keys()  # which failed
    assert len(opened(parts(small)["columns"])) == 13 * 2 * 4 * 180
    report(run, "--full", "-o", "full.html")
    assert len(details((tmp_path / "full.html").read_bytes())) == 180


def test_examples_that_have_changed_are_not_shown_as_what_was_scored(tmp_path: Path) -> None:
    run = make_run(tmp_path, train=6, val=4, candidates=["baseline"])
    data = tmp_path / "val.jsonl"
    data.write_text(data.read_text().replace("topic", "theme", 1))
    report(run)
    told = details((run / "report.html").read_bytes())
    assert told["1:0"]["example"] is None
    assert told["1:1"]["example"]["topic"]
    assert told["1:0"]["records"]


def test_the_command_for_one_example_names_the_files_that_were_named(page: bytes) -> None:
    commands = json.loads(parts(page)["head"])["commands"]
    assert commands["candidates"][0] == "prompts/baseline.md"
    assert commands["splits"] == ["train.jsonl", "val.jsonl"]
    run = {"candidates": [{"name": "a b"}, {"name": "c"}], "evaluators": [], "splits": []}
    settings = {"settings": {"paths": {"candidate": ["all/*.txt"]}}}
    assert commands_of({**run, **settings}, "r")["candidates"] == ["'all/a b.txt'", "all/c.txt"]


def test_texts_of_candidates_end_where_there_is_no_more_room() -> None:
    sizes = [64_000, 64_001, *[63_000] * 40]
    candidates = [{"name": f"c{n}", "sha256": "0", "text": "x" * size} for n, size in enumerate(sizes)]
    told = list(with_texts_that_fit(candidates))
    assert [one["name"] for one in told] == [one["name"] for one in candidates]
    kept = [len(one["text"]) for one in told if "text" in one]
    assert kept == [64_000, *[63_000] * 30]
    assert sum(kept) <= 2_000_000
    assert {one["sha256"] for one in told} == {"0"}


def test_of_201_candidates_all_have_their_numbers_and_none_a_pair_but_with_the_baseline(
    cli: Cli, tmp_path: Path
) -> None:
    cells = {f"c{n}": {"val": [n / 201, 0.5]} for n in range(201)}
    made({"judge": cells}).write(tmp_path / "r")
    assert cli("report", "r", "--format", "html").status == 0
    head = json.loads(parts((tmp_path / "r" / "report.html").read_bytes())["head"])
    rows = head["summary"]["rows"]
    assert [row["candidate"] for row in rows] == [*cells]
    assert sum(row["vs_baseline"] is not None for row in rows) == 200
    assert head["summary"]["pairs"] == []
    assert len(head["cells"]) == 201


def test_a_stale_summary_is_computed_anew(tmp_path: Path) -> None:
    run = make_run(tmp_path, train=6, val=4, candidates=["baseline"])
    summary = orjson.loads((run / "summary.json").read_bytes())
    (run / "summary.json").unlink()
    report(run)
    head = json.loads(parts((run / "report.html").read_bytes())["head"])
    assert head["summary"] == summary


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--format", "md", "-o", "x.html"],
            "-o belongs to --format html\n  try: add --format html, or redirect the report: … > FILE",
        ),
        (["--full"], "--full belongs to --format html"),
        (["--format", "html", "--max-mb", "0"], "--max-mb 0 is not a size"),
        (["--format", "html", "--max-mb", "nan"], "--max-mb nan is not a size"),
        (["--format", "html", "--max-mb", "2", "--full"], "exclude each other"),
        (["--format", "html", "-o", "nowhere/x.html"], "there is no folder 'nowhere'"),
        (["--format", "html", "-o", "."], "it is a folder"),
        (["--format", "html", "--check"], "--check has no format html"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_options_that_make_no_page_are_refused(run: Path, options: list[str], said: str) -> None:
    done = in_this_process(run.parent)("report", run.name, *options)
    assert done.status == 2
    assert said in done.stderr
    assert not [path for path in run.parent.iterdir() if path.name.startswith(".")]


def test_a_missed_gate_still_writes_the_page(run: Path) -> None:
    done = report(run, "--fail-under", "judge=0.99", "-o", "gated.html")
    assert (done.status, done.stdout.strip()) == (1, "gated.html")
    assert "judge" in done.stderr


def test_program_and_style_hold_nothing_that_ends_them_early() -> None:
    assert b"</" not in document.style()
    assert b"</script" not in document.program().lower()
    assert b"<!--" not in document.program()


def test_the_page_of_a_bench_has_its_boards(cli: Cli, tmp_path: Path) -> None:
    tasks = Path(__file__).parents[2] / "datasets" / "tasks" / "arithmetic.jsonl"
    assert cli("bench", tasks, "--model", "toy", "--out", "models").status == 0
    done = cli("report", "models", "--format", "html")
    assert (done.status, done.stdout) == (0, "models/report.html\n"), done.stderr
    head = json.loads(parts((tmp_path / "models" / "report.html").read_bytes())["head"])
    assert head["boards"][""] == orjson.loads((tmp_path / "models" / "leaderboard.json").read_bytes())
    assert (head["axes"]["evaluators"], head["axes"]["task_models"]) == (["toy"], [None])
    assert {one["evaluator"] for one in head["summary"]["side_info"]} == {"toy"}
    assert cli("rescore", "models", "-e", "@f1").status == 0
    assert cli("report", "models", "--format", "html").status == 0
    head = json.loads(parts((tmp_path / "models" / "report.html").read_bytes())["head"])
    assert head["axes"]["evaluators"] == ["toy", "toy.f1"]
    assert {(one["evaluator"], len(one["splits"])) for one in head["summary"]["rows"]} == {
        ("toy", 1),
        ("toy.f1", 1),
    }


def test_the_program_and_the_style_have_no_file_that_the_page_leaves_out() -> None:
    folder = Path(document.__file__).parent
    programs = {str(path.relative_to(folder / "program"))[:-3] for path in folder.rglob("program/**/*.js")}
    assert programs == set(document.PROGRAM)
    assert {path.stem for path in folder.glob("style/*.css")} == set(document.STYLE)
