"""The page of `diff` as a file: where it goes, and what is refused; in a browser it is tests/page."""

import json
from pathlib import Path

import pytest

from tests.front_door import Cli, in_this_process
from tests.page.made import HOSTILE, make_compared
from tests.reports.pages import details, parts


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    make_compared(folder, train=6, val=5, candidates=["baseline", "v2-fewshot"])
    return folder


@pytest.fixture
def there(project: Path) -> Cli:
    return in_this_process(project)


def test_the_page_goes_beside_the_second_run_or_where_o_says(project: Path, there: Cli) -> None:
    assert there("diff", "before", "after", "--force", "--format", "html").stdout == "after/diff.html\n"
    assert (
        there("diff", "before", "after", "--force", "--format", "html", "-o", "d.html").stdout == "d.html\n"
    )
    assert (project / "d.html").read_bytes() == (project / "after" / "diff.html").read_bytes()


def test_the_page_has_each_candidate_twice_and_what_both_runs_said(project: Path, there: Cli) -> None:
    there("diff", "before", "after", "--force", "--format", "html", "-o", "d.html")
    page = (project / "d.html").read_bytes()
    head = json.loads(parts(page)["head"])
    told = there("diff", "before", "after", "--force", "--json").json
    assert head["axes"]["candidates"] == [
        f"{side} · {name}" for name in ("baseline", "v2-fewshot") for side in "AB"
    ]
    assert head["summary"]["verdict"]["text"] == told["verdict"]["text"]
    assert {key: head["diff"][key] for key in told if key != "rows"} == {
        key: told[key] for key in told if key != "rows"
    }
    said = details(page)["1:2"]  # val was turned round: B's third line is A's third
    assert said["example"]["id"] == "v-00003"
    assert said["example"]["question"] == f"{HOSTILE} #3"
    sides = {(evaluator, candidate, repeat) for evaluator, candidate, _, repeat, _ in said["records"]}
    assert sides == {(e, c, r) for e in (0, 1) for c in range(4) for r in ((1, 2) if c % 2 else (1,))}


def test_a_page_that_cannot_be_written_says_what_may_help(there: Cli) -> None:
    options = ["--format", "html", "-o", "x" * 255]
    done = there("diff", "before", "after", "--force", *options)
    assert (done.status, done.stdout) == (3, "")
    assert "could not be written: File name too long" in done.stderr
    assert "name another file with -o" in done.stderr
    assert "journal" not in done.stderr, "nothing is called for a page"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "x.html"], "-o belongs to --format html"),
        (["--json", "--format", "html"], "--json and --format html exclude each other"),
        (["--format", "html", "--max-mb", "0.1"], "--max-mb 0.1 is not a size of a page"),
    ],
)
def test_options_of_the_page_alone_are_refused(there: Cli, options: list[str], words: str) -> None:
    done = there("diff", "before", "after", "--force", *options)
    assert done.status == 2
    assert words in done.stderr


def test_gates_are_judged_beside_the_page(there: Cli) -> None:
    done = there(
        "diff", "before", "after", "--force", "--format", "html", "--fail-under", "judge@baseline=0.99"
    )
    assert (done.status, done.stdout) == (1, "after/diff.html\n")
    assert "gate missed: judge on baseline" in done.stderr
