"""A run in every format: what is read back is what summary.json has, and rows are the journal's records."""

import csv
import io
import math
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.summary_shape import summary_from
from optimize_eval.findings.wording import interval, number, signed
from optimize_eval.reports import junit, markdown
from optimize_eval.reports.row_formats import MOST_COLUMNS, csv_pieces, find_columns
from optimize_eval.store.records import FIELDS, RunRecord
from tests.findings.made import LEAD, Example, Fails, Made, No, Says, made, moved, noisy, on_val
from tests.front_door import Cli
from tests.paths import PROGRAM
from tests.reports.reading import cases_of, read_csv, read_jsonl, read_junit, tables_of, tokens_of

TRAIN, VAL = noisy(30, seed=3), noisy(40)
READERS = {"csv": read_csv, "jsonl": read_jsonl}
FORMATS = ["csv", "jsonl", "md", "junit"]
NOTE = (
    "note: side information beyond 200 keys, or with keys of more than 200 letters, is in the last column, "
    "side_info, as JSON; --format jsonl has every key\n"
)
HUGE = 100_000  # letters of a text of which a few records are enough
OUTCOMES = [
    Gate(name="--max-gap", is_met=True, text="gap fine"),
    Gate(name="--x", is_met=False, text="0.7 < 0.8"),
]


def twice(scores: list[float]) -> list[Example]:
    """Ask about each example two times."""
    return [(Says(one, {"dims": {"tone": one / 3}}), one / 2) for one in scores]


def whole() -> Made:
    """Make a run with repeats, failures, skipped units, two evaluators, and a better candidate."""
    cells: dict[str, Any] = {
        "baseline": {"train": twice(TRAIN), "val": twice(VAL)},
        "better_one": {"train": twice(moved(TRAIN, 0.1)), "val": twice(moved(VAL, 0.1, sd=0.1))},
        "fails": {
            "train": [(Fails("exit_code", "KeyError: 'dims'"), Fails()), *twice(TRAIN[1:])],
            "val": [(No.SKIPPED, No.SKIPPED), *twice(VAL[1:])],
        },
    }
    return made({LEAD: cells, "second": cells})


@pytest.fixture
def run(tmp_path: Path) -> Made:
    one = whole()
    one.write(tmp_path / "r")
    return one


@pytest.mark.parametrize("form", READERS)
def test_rows_are_the_journals_records_in_the_order_of_units(cli: Cli, run: Made, form: str) -> None:
    done = cli("report", "r", "--format", form)
    assert (done.status, done.stderr) == (0, "")
    rows = READERS[form](done.stdout)
    assert tuple(rows[0])[: len(FIELDS)] == FIELDS
    records = list(run.every_record())
    assert len(rows) == len(records) == run.layout.size
    for row, record in zip(rows, records, strict=True):
        assert all(row[name] == record.get(name) for name in FIELDS)
        assert (row["score"] is None) == (record["outcome"] != "scored")
        tone = record.get("side_info", {}).get("dims", {}).get("tone")
        assert row.get("side_info.dims.tone") in {tone, None if tone is None else repr(tone)}


@pytest.mark.parametrize("form", READERS)
def test_means_of_the_rows_are_those_of_the_summary(cli: Cli, run: Made, form: str) -> None:
    scores: dict[Any, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in READERS[form](cli("report", "r", "--format", form).stdout):
        if row["score"] is not None:
            scores[row["evaluator"], row["candidate"], row["split"]][row["line"]].append(row["score"])
    summary = run.summary()
    assert len(scores) == 12
    for row in summary["rows"]:
        for split, told in row["splits"].items():
            examples = scores[row["evaluator"], row["candidate"], split].values()
            means = [math.fsum(one) / len(one) for one in examples]
            assert math.fsum(means) / len(means) == told["mean"]


def test_the_tables_of_a_comment_have_the_rounded_numbers_of_the_summary(cli: Cli, run: Made) -> None:
    page = cli("report", "r", "--format", "md").stdout
    summary = run.summary()
    assert page.startswith(f"**{summary['verdict']['text']}.**".replace("<", "&#60;"))
    first, second, failures, worst = tables_of(page)
    for table, evaluator in ((first, LEAD), (second, "second")):
        told = {row["candidate"]: row for row in summary["rows"] if row["evaluator"] == evaluator}
        assert [row["candidate"] for row in table] == sorted(
            told, key=lambda name: -told[name]["splits"]["val"]["mean"]
        )
        for row in table:
            s, against = told[row["candidate"]]["splits"]["val"], told[row["candidate"]]["vs_baseline"]
            assert row["val"] == number(s["mean"])
            assert row["95 % CI"] == interval(s["ci"], number)
            assert (row["n"], row["failed"]) == (str(s["n"]), str(s["failed"]))
            assert row["coverage"] == "100 %"
            if against:
                assert row["Δ val"].endswith(signed(against["val"]["diff"]))
                ci = against["val"]["ci"]
                assert row["95 % CI of Δ"] == ("" if ci is None else interval(ci))
                assert signed(told[row["candidate"]]["overfit"]["value"]) in row["overfit?"]
    assert [(row["calls"], row["kind"], row["first"]) for row in failures[:2]] == [
        ("1", "exit_code", "train 1"),
        ("1", "timeout", "train 1"),
    ]
    assert [row["score"] for row in worst] == [number(one["score"]) for one in summary["rows"][1]["worst"]]
    assert page.rstrip().endswith("`optimize-eval report r`")


def test_the_properties_of_junit_have_every_digit_of_the_summary(cli: Cli, run: Made) -> None:
    root = read_junit(cli("report", "r", "--format", "junit").stdout)
    summary = run.summary()
    cases = {(asked, name): properties for asked, name, properties in cases_of(root)}
    for row in summary["rows"]:
        for split, s in row["splits"].items():
            told = cases[row["evaluator"], f"{row['candidate']} · {split}"]
            assert [float(told[name]) for name in ("mean", "se", "ci.low", "ci.high")] == [
                *(s["mean"], s["se"]),
                *s["ci"],
            ]
            assert [int(told[name]) for name in ("n", "scored", "failed", "skipped")] == [
                s[name] for name in ("n", "scored", "failed", "skipped")
            ]
            if row["vs_baseline"]:
                d = row["vs_baseline"][split]
                assert [float(told[f"vs_baseline.{name}"]) for name in ("diff", "p_holm")] == [
                    d["diff"],
                    d["p_holm"],
                ]
    assert cases[LEAD, "fails · train · exit_code"] == {"count": "1"}
    assert (root.get("errors"), root.get("failures")) == ("0", "0")  # the run's exit code was 0
    assert len([case for case in root.iter("testcase") if case.find("system-out") is not None]) == 4
    (said,) = {one.findtext("system-out") for one in root}
    assert said is not None
    assert said.startswith(summary["verdict"]["text"])


def test_gates_are_test_cases_and_lines_of_a_comment() -> None:
    summary = whole().summary()
    root = read_junit(junit.render(summary_from(summary), OUTCOMES, "r"))
    assert [(case.get("name"), case.findtext("failure")) for case in root[0]] == [
        ("--max-gap", None),
        ("--x", "0.7 < 0.8"),
    ]
    page = markdown.render(summary_from(summary), OUTCOMES, "r")
    assert "**Gates:** 1 of 2 missed\n\n- ✓ gap fine\n- ✕ missed: 0.7 &#60; 0.8\n" in page


@pytest.mark.parametrize("letter", ["x", "|"])
def test_a_comment_is_never_longer_than_github_takes(letter: str) -> None:
    names = [letter * 200 + f" {n}" for n in range(40)]
    cells: Any = {name: {"val": [Fails("exit_code", letter * 999), *moved(VAL, 0.1)[1:]]} for name in names}
    page = markdown.render(made({f"judge {n}": cells for n in range(12)}).findings(), (), "r")
    assert 20_000 < len(page) <= 65_536
    assert "_The rest does not fit into a comment: see summary.json._\n\nThe whole result" in page
    *matrices, failures = [len(table) for table in tables_of(page)]
    assert {*matrices} <= {6, 30}
    assert (30 in matrices, failures) == (True, 5)


def test_a_run_that_is_not_complete_has_rows_and_no_numbers(cli: Cli, tmp_path: Path) -> None:
    on_val(a=VAL, b=[No.OWED, Fails(), *VAL[2:]]).write(tmp_path / "r")
    rows = read_csv(cli("report", "r", "--format", "csv").stdout)
    assert len(rows) == 79
    page = cli("report", "r", "--format", "md").stdout
    assert "The verdict comes at the end" in page
    assert "candidate | val" not in page
    root = read_junit(cli("report", "r", "--format", "junit").stdout)
    assert all("mean" not in properties for _, _, properties in cases_of(root))
    assert [case.find("skipped") is not None for case in root.iter("testcase")] == [True, True, False]


def test_where_nothing_was_scored_nothing_is_a_number(cli: Cli, tmp_path: Path) -> None:
    on_val(a=[Fails()] * 12, b=[Fails()] * 12).write(tmp_path / "r")
    assert {row["score"] for row in read_csv(cli("report", "r", "--format", "csv").stdout)} == {None}
    root = read_junit(cli("report", "r", "--format", "junit").stdout)
    assert [one.get("message") for one in root.iter("skipped")] == ["nothing was scored"] * 2
    page = cli("report", "r", "--format", "md").stdout
    assert "| 24 | timeout | judge | a, b | val 1 | no answer within 10 s |" in page


def test_scores_that_are_too_large_for_a_mean_are_no_lack_of_scores(cli: Cli, tmp_path: Path) -> None:
    made({LEAD: {"v": {"val": [1e308] * 3}}}, score_range=ScoreRange.ANY).write(tmp_path / "r")
    root = read_junit(cli("report", "r", "--format", "junit").stdout)
    assert [one.get("message") for one in root.iter("skipped")] == ["3 scores, too large for a mean"]


def test_a_run_without_examples_has_empty_lines(cli: Cli, tmp_path: Path) -> None:
    made({LEAD: {"a": {"single": [0.5]}, "b": {"single": [0.7]}}}).write(tmp_path / "r")
    rows = read_csv(cli("report", "r", "--format", "csv").stdout)
    assert [(row["line"], row["score"]) for row in rows] == [(None, 0.5), (None, 0.7)]
    assert [row["single"] for row in tables_of(cli("report", "r", "--format", "md").stdout)[0]] == [
        "0.700",
        "0.500",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "csv", "--json"], "exclude each other"),
        (["--format", "terminal", "--json"], "exclude each other"),
        (["--format", "md", "--check"], "--check has no format md"),
        (["--format", "pdf"], "pdf"),
    ],
)
@pytest.mark.usefixtures("run")
def test_formats_that_do_not_fit_are_refused(cli: Cli, options: list[str], said: str) -> None:
    done = cli("report", "r", *options)
    assert (done.status, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.usefixtures("run")
def test_two_ways_to_say_json_and_the_terminal_are_one(cli: Cli) -> None:
    said = {
        cli("report", "r", *options).stdout
        for options in (["--json"], ["--format", "json"], ["--json", "--format=json"])
    }
    assert len(said) == 1
    assert cli("report", "r", "--format", "terminal").stdout == cli("report", "r").stdout


@pytest.mark.parametrize("form", FORMATS)
def test_where_there_is_no_run_every_format_says_so(cli: Cli, form: str) -> None:
    done = cli("report", "nowhere", "--format", form)
    assert (done.status, done.stdout) == (2, "")
    assert "there is no run in 'nowhere'" in done.stderr


def test_beyond_so_many_keys_the_rest_is_in_one_column(cli: Cli, tmp_path: Path) -> None:
    many = MOST_COLUMNS + 50
    on_val(a=[Says(0.5, {"same": n, f"key {n}": {"x": n}, "l" * 500: 1}) for n in range(many)]).write(
        tmp_path / "r"
    )
    done = cli("report", "r", "--format", "csv")
    assert done.stderr == NOTE
    rows = read_csv(done.stdout)
    assert len(rows[0]) == len(FIELDS) + MOST_COLUMNS + 1
    assert list(rows[0])[-1] == "side_info"
    long = '"' + "l" * 500 + '":1'
    assert rows[0]["side_info"] == f"{{{long}}}"
    assert rows[-1]["side_info"] == f'{{"key {many - 1}.x":{many - 1},{long}}}'
    assert {row["side_info.same"] for row in rows} == {str(n) for n in range(many)}
    assert (
        read_jsonl(cli("report", "r", "--format", "jsonl").stdout)[-1][f"side_info.key {many - 1}.x"]
        == many - 1
    )


def test_keys_that_are_spelled_alike_are_told_apart(cli: Cli, tmp_path: Path) -> None:
    on_val(a=[Says(0.5, {"a.b": 1, "a": {"b": 2, "c": {}, "d": [1, {"e": None}]}, "n": None})]).write(
        tmp_path / "r"
    )
    (row,) = read_jsonl(cli("report", "r", "--format", "jsonl").stdout)
    assert {name: value for name, value in row.items() if name.startswith("side_info")} == {
        "side_info.a.b": 1,
        "side_info.a.b-2": 2,
        "side_info.a.c": "{}",
        "side_info.a.d": '[1,{"e":null}]',
        "side_info.n": None,
    }


def record(side_info: dict[str, Any]) -> RunRecord:
    nothing: dict[str, Any] = dict.fromkeys(FIELDS)
    return RunRecord(**{**nothing, "outcome": "scored", "side_info": side_info})


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=5),
            st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False),
            max_size=4,
        ),
        max_size=5,
    )
)
def test_cells_are_written_as_the_csv_module_writes_them(told: list[dict[str, Any]]) -> None:
    records = [record(side_info) for side_info in told]
    text = "".join(csv_pieces(records, find_columns(records), ci=False))
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(rows) == len(records) + 1
    again = io.StringIO(newline="")
    csv.writer(again).writerows(rows)
    assert again.getvalue() == text
    for row, side_info in zip(rows[1:], told, strict=True):
        floats = [value for value in side_info.values() if type(value) is float]
        assert all(repr(value) in row for value in floats)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, form: str) -> None:
    on_val(a=[Says(0.5, {"text": "x" * 1000})] * 1500).write(tmp_path / "r")
    command = f"set -o pipefail; {PROGRAM} report r --format {form} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)


def test_where_the_reader_went_away_no_more_is_made() -> None:
    endless = "from itertools import repeat; from optimize_eval.cli.output import emit_pieces"
    command = (
        f"set -o pipefail; {sys.executable} -c '{endless}; emit_pieces(repeat(\"x\\n\" * 9999))' | head -n 1"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=50)
    assert (done.returncode, done.stdout) == (0, b"x\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the tool /dev/full")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.usefixtures("run")
def test_a_full_disk_is_told_and_exits_3(tmp_path: Path, form: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [PROGRAM, "report", "r", "--format", form],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 3
    assert b"the result could not be written: No space left" in done.stderr
    assert b"Traceback" not in done.stderr


HOSTILE = {
    "script": "<script>alert(1)</script><img src=x onerror=y>",
    "end of data": "a ]]> b --> c </details>",
    "escape": "\x1b[2J\x1b]0;owned\x07 red \x9b31m",
    "right to left": "abc\u202egnp.exe\u2066",
    "megabyte": "word | " * 150_000,
    "one word": "x" * 2**20,
    "command": "=cmd|' /C calc'!A0",
    "sum": "+1+1",
    "minus": "-2+3+cmd",
    "at": "@SUM(1)",
    "tab": "\t=1+1",
    "blank": " =1+1",
    "wide": "\uff1d1+1",
    "return": "\r=1+1",
    "ci": "::error::owned\n  ::set-output name=x::y\n##[error]owned\n##vso[task.complete]owned",
    "nul": "a\0b\ufffe\uffff",
    "mention": "@octocat/team #12 octo/repo#12 GH-7 a@b.example :tada: $x$ deadbeefcafe1234",
    "address": "https://evil.example/x www.evil.example <https://evil.example> [l](http://e) ![i](http://e)",
    "table": "a | b\n| --- |\n\n# head\n- item\n```\ncode\n    more",
    "markup": "**bold** _em_ ~~gone~~ `code` \\` [^1] &lt;b&gt; *",
    "quotes": 'say "no", or\r\nnot',
}


def hostile_run(text: str) -> Made:
    """Make a run in which an evaluator, a candidate, examples, keys and everything said are a text."""
    few = VAL[: 12 if len(text) < HUGE else 4]
    said = [Says(one - 0.001, {text[:300]: text[:2000], "said": text}) for one in few[1:3]]
    lead = [Fails("exit_code", text), *said, *moved(few[3:], 0.2)]
    cells: Any = {"base": {"val": few}, text: {"val": lead}}
    run = made({LEAD: cells, f"e{text}": {"base": {"val": few}, text: {"val": moved(few, 0.2)}}})
    (val,) = run.layout.splits
    val = replace(val, names=(text[:40],) * len(few), inputs=(text[:160],) * len(few))
    return replace(run, layout=replace(run.layout, splits=(val,)))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_stays_text_in_every_format(cli: Cli, tmp_path: Path, text: str) -> None:
    run = hostile_run(text)
    run.write(tmp_path / "r")
    shown = {form: cli("report", "r", "--format", form, env={"CI": "true"}) for form in FORMATS}
    for form, done in shown.items():
        assert done.status == 0
        assert not done.stderr.replace(NOTE, "")
        assert is_harmless(done.stdout)
        assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
        assert "##vso[" not in done.stdout
        assert form == "csv" or "\r" not in done.stdout
    check_cells(shown["csv"].stdout, run.layout.size)
    check_objects(shown["jsonl"].stdout, run)
    check_page(shown["md"].stdout)
    assert len(list(read_junit(shown["junit"].stdout).iter("testcase"))) == 5


@pytest.mark.parametrize("runner", ["CI", "TF_BUILD", "TEAMCITY_VERSION"])
def test_no_text_commands_the_runner_whose_log_shows_it(cli: Cli, tmp_path: Path, runner: str) -> None:
    hostile_run("::error::owned ##vso[task.complete]owned ##teamcity[x]").write(tmp_path / "r")
    for form in ("terminal", *FORMATS, "json"):
        shown = cli("report", "r", "--format", form, env={runner: "True"}).stdout
        assert "owned" in shown
        assert ("##vso[" in shown, "##teamcity[" in shown) == (False, False), form


def is_harmless(text: str) -> bool:
    """Tell whether no letter is a control or turns text around, but for the ends of lines and tabs."""
    for letter in "\r\n\t\ufffe\uffff":
        text = text.replace(letter, "")
    return text.isprintable()


def check_cells(text: str, records: int) -> None:
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(rows) == records
    for cell in [*header, *(cell for row in rows for cell in row)]:
        assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\uff1d", "\t", "\r"))
    assert text.count("\r") == text.count("\r\n") == len(rows) + 1


def check_objects(text: str, run: Made) -> None:
    for row, told in zip(read_jsonl(text), run.every_record(), strict=True):
        assert (row["candidate"], row["message"]) == (told["candidate"], told.get("message"))
        assert row.get("side_info.said") == told.get("side_info", {}).get("said")


def check_page(page: str) -> None:
    """Look at the page as it is rendered: paragraphs, lists, tables and one folded part, with plain text."""
    assert len(page) <= 65_536
    tokens = tokens_of(page)
    assert {token.type for token in tokens} <= {
        *(
            f"{name}_{end}"
            for name in ("paragraph", "bullet_list", "list_item", "strong")
            for end in ("open", "close")
        ),
        *(
            f"{name}_{end}"
            for name in ("table", "thead", "tbody", "tr", "th", "td")
            for end in ("open", "close")
        ),
        *("inline", "text", "text_special", "softbreak", "code_inline", "html_block"),
    }
    html = [token.content for token in tokens if token.type == "html_block"]
    assert all(
        (one.count("<") == 3 and one.startswith("<details><summary>")) or one == "</details>\n"
        for one in html
    )
    rendered = "".join(token.content for token in tokens if token.type in {"text", "text_special"})
    for obeyed in ("@octocat", "@b.ex", "#12", "GH-7", ":tada:", "https://", "www.", "deadbeef"):
        assert obeyed not in rendered
        assert obeyed not in page or obeyed == "#12"  # which entities have in them
    of_lead, of_second, failures, worst = tables_of(page)
    assert all(row["coverage"].endswith(" %") and row["n"].isdigit() for row in (*of_lead, *of_second))
    assert [(row["calls"], row["first"]) for row in failures] == [("1", "val 1")]
    assert [row["example"].split()[:2] for row in worst] in (
        [["val", "2"], ["val", "3"]],
        [["val", "3"], ["val", "2"]],
    )
    assert all(row["input"] and row["what was said"] and number(None) not in row["score"] for row in worst)
