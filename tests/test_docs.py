"""Every command block in the docs is run as it stands, and what it prints is what the docs show."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from optimize_eval.cli.commands.new import LANGUAGES
from optimize_eval.tasks.dialects import POST_PROCESS, RULES
from tests.front_door import Cli
from tests.paths import PROGRAM, ROOT
from tests.tools import need, need_module, write_program

PAGES = [
    "README.md",
    "evaluators/README.md",
    "datasets/README.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STEP = re.compile(  # what readers do not see, such as a server, stands in a comment right above a block
    r"(?:^<!-- set-up\n((?:(?!-->)[^\n]*\n)*)-->\n+)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_SET_UP = re.compile(r"^## (?:Set up|Run the tests)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_WITHOUT_COMMANDS = {"docs/glossary.md", "docs/index.md", "docs/sentences.md"}
_WORKED = ["tests/tasks/worked/examples.md", "tests/tasks/worked/parts.md"]  # all parts of tasks, by hand
_RUNNING = [
    *(page for page in PAGES if page not in _WITHOUT_COMMANDS and "/reference/" not in page),
    *_WORKED,
]
_NEEDS = {"docs/cluster.md": need_module("ray")}
_SCRATCH = ("datasets", "evaluators")
_MISTAKE = re.compile(r"^\|[^|`]*\| `(-e [^`]*)` \| `(\w+)`: `([^`]*)` \|$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_SECONDS = re.compile(r'"seconds":[\d.e-]+|(?<=FAILED  )\d\.\d\d s|(?<=tokens, )[\d.]+ s')


@dataclass(frozen=True, slots=True)
class Step:
    """A block to run and, where the page shows it, what it prints."""

    language: str
    code: str
    shown: str | None


def steps_of(page: str) -> list[Step]:
    """Find what is to be run; the set-up section is `.ci/run`'s to run."""
    text = _SET_UP.sub("", (ROOT / page).read_text(encoding="utf-8"))
    blocks = _STEP.findall(text)
    following = [*blocks[1:], ("", "", "")]
    return [
        Step(language, set_up + code, after if kind in {"text", "json"} else None)
        for (set_up, language, code), (_, kind, after) in zip(blocks, following, strict=True)
        if language in {"sh", "python"}
    ]


@need("bash", "jq", "node")
@pytest.mark.timeout(300)  # a page is a hundred commands, and the machine may be busy
@pytest.mark.parametrize("page", [pytest.param(page, marks=_NEEDS.get(page, ())) for page in _RUNNING])
def test_the_commands_of_a_page_work_one_after_the_other(page: str, tmp_path: Path) -> None:
    for folder in _SCRATCH:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    steps = steps_of(page)
    assert steps
    for step in steps:
        command = ["bash", "-e"] if step.language == "sh" else [sys.executable, "-"]
        done = subprocess.run(
            command,
            input=step.code,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=_environment(),
            check=False,
        )
        assert done.returncode == 0, f"{step.code}\n{done.stdout}{done.stderr}"
        if step.shown is not None:
            assert _SECONDS.sub("", done.stdout) == _SECONDS.sub("", step.shown), step.code


def test_pages_share_a_scratch_folder_without_taking_each_other_s_runs() -> None:
    """The set-up of the README makes one folder, in which somebody reads page after page."""
    made = {
        page: {run for step in steps_of(page) for run in re.findall(r"\bruns/([\w-]+)", step.code)}
        for page in _RUNNING
    }
    pages_of = {
        run: [page for page in _RUNNING if run in made[page]] for runs in made.values() for run in runs
    }
    assert len(pages_of) > 20
    assert {run: pages for run, pages in pages_of.items() if len(pages) > 1} == {}


def test_no_page_reads_the_url_of_a_server_that_an_earlier_page_started() -> None:
    waits = [
        (re.search(rf"^rm -f {file}$.* > {file} & ", step.code, re.MULTILINE | re.DOTALL), page, file)
        for page in _RUNNING
        for step in steps_of(page)
        for file in re.findall(r"^until \[ -s (\S+) \]", step.code, re.MULTILINE)
    ]
    assert len(waits) > 3
    assert not [(page, file) for removed, page, file in waits if not removed]


def test_a_page_that_runs_a_metric_of_an_extra_says_how_to_install_it() -> None:
    metrics = re.findall(
        r"^\| `@(\w+)` .*needs `\[metrics\]` \|$", _read("evaluators/README.md"), re.MULTILINE
    )
    assert "bleu" in metrics
    used = re.compile(rf"@({'|'.join(metrics)})\b|type: bleu\b")
    running = [page for page in _RUNNING if any(used.search(step.code) for step in steps_of(page))]
    assert "tests/tasks/worked/parts.md" in running
    assert not [page for page in running if "pip install '.[metrics]'" not in _read(page)]


def _read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _environment() -> dict[str, str]:
    without_ci = {name: value for name, value in os.environ.items() if name != "CI"}
    paths = {"PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}", "SET_UP": str(ROOT / "tests/tools")}
    return {**without_ci, "COLUMNS": "80", **paths}


def test_the_quick_checks_of_the_contributing_page_are_those_of_ci_which_ends_where_one_fails() -> None:
    (step,) = steps_of("CONTRIBUTING.md")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    checks = step.code.strip().split(" && ")
    assert "set -euo pipefail" in ci[: ci.index(checks[0])]
    assert [line for line in ci if line in checks] == checks


def test_ci_installs_every_tool_that_a_test_needs() -> None:
    tools = re.search(r'^tools="\n(.*?)^"$', (ROOT / ".ci" / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert tools
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    needed = {
        name for text in texts for marks in re.findall(r"\bneed\((.*?)\)", text) for name in named(marks)
    }
    needed |= {name for language in LANGUAGES.values() for name in language.needs}
    assert "node" in needed
    assert needed <= {"python3", *(line.split()[0] for line in tools[1].splitlines())}


def named(arguments: str) -> list[str]:
    return re.findall(r'"([\w-]+)"', arguments)


def test_the_house_of_the_contributing_page_is_the_import_table() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(one["layers"] for one in contract["contracts"] if one["type"] == "layers")
    rooms = [
        (str(level), room) for level, layer in enumerate(layers, 1) for room in re.findall(r"\w+", layer)
    ]
    drawn = re.findall(r"^ ?(\d+)  (\w+) ", section_of("CONTRIBUTING.md", "The house"), re.MULTILINE)
    assert sorted(drawn) == sorted(rooms)


def test_every_path_that_the_contributing_page_names_is_there() -> None:
    paths = re.findall(r"`([\w.]+/[\w./]*|\w+\.py)`", without_code("CONTRIBUTING.md"))
    missing = [
        path for path in paths if not any((top / path).exists() for top in (ROOT, ROOT / "optimize_eval"))
    ]
    assert len(paths) > 40
    assert not missing


def test_every_name_that_the_contributing_page_looks_for_in_a_file_is_there() -> None:
    rows = re.findall(r"`([\w/]+\.py)`: (`\w+`(?:, `\w+`)*)", section_of("CONTRIBUTING.md", "Where is it?"))
    named = [(path, name) for path, names in rows for name in re.findall(r"\w+", names)]
    assert len(named) > 15
    missing = [
        (path, name)
        for path, name in named
        if not re.search(
            rf"^(?:def |class )?{name}\b", (ROOT / "optimize_eval" / path).read_text(), re.MULTILINE
        )
    ]
    assert not missing


def test_the_contributing_page_is_short() -> None:
    assert _read("CONTRIBUTING.md").count("\n") <= 165
    assert section_of("CONTRIBUTING.md", "Where is it?").count("\n|") <= 2 + 32


@need("bash")
def test_every_path_that_ci_names_is_there() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / ".ci" / "run", ROOT / ".ci" / "page")]
    paths = [
        path
        for text in texts
        for path in re.findall(r"\b(?:tests|optimize_eval)/[\w./{,}-]*\w}?[\w.]*", text)
    ]
    assert len(paths) > 3
    subprocess.run(["bash", "-c", f"ls -d {' '.join(paths)}"], cwd=ROOT, check=True, capture_output=True)


def test_the_set_up_is_two_blocks_of_one_line_each() -> None:
    sections = [section_of("README.md", title) for title in ("Set up", "Run the tests")]
    blocks = [
        [code for language, code in _BLOCK.findall(section) if language == "sh"] for section in sections
    ]
    assert [[code.count("\n") for code in codes] for codes in blocks] == [[1], [1]]


def test_the_scratch_copy_that_the_readme_names_is_the_one_in_which_pages_are_run() -> None:
    assert f"cp -r {' '.join(_SCRATCH)} ../try && cd ../try" in _read("README.md")


def test_the_readme_is_a_tour_of_at_most_200_lines_and_the_index_and_the_site_name_every_page() -> None:
    assert _read("README.md").count("\n") <= 200
    named = {os.path.normpath(f"docs/{path}") for path, _ in _LINK.findall(_read("docs/index.md"))}
    assert {*PAGES[1:]} - named == {"docs/index.md"}
    assert {*PAGES} == {*re.findall(r"[\w/-]+\.md$", _read("docs/site/mkdocs.yml"), re.MULTILINE)}


def test_what_readers_do_not_see_stands_right_above_what_it_is_for() -> None:
    for page in PAGES:
        hidden = [set_up for set_up, _, _ in _STEP.findall(_read(page)) if set_up]
        assert len(hidden) == _read(page).count("<!-- set-up"), page


@pytest.mark.parametrize("page", [*PAGES, *_WORKED, "CONTRIBUTING.md"])
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: str) -> None:
    links = _LINK.findall(without_code(page))
    missing = [
        f"{path}#{heading}"
        for path, heading in links
        if not (target := (ROOT / page).parent / path if path else ROOT / page).exists()
        or (heading and heading not in headings_of(target))
    ]
    assert links
    assert not missing


def without_code(page: str) -> str:
    return _BLOCK.sub("", (ROOT / page).read_text(encoding="utf-8"))


def headings_of(page: Path) -> set[str]:
    """Name headings as links do: small letters, hyphens for blanks, no punctuation."""
    lines = _BLOCK.sub("", page.read_text(encoding="utf-8")).splitlines()
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def test_every_symptom_is_something_that_is_said() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "optimize_eval").rglob("*.py"))
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # of a text that goes over two lines
    symptoms = re.findall(r"^\*\*(`[^*]*)\*\*", _read("docs/troubleshooting.md"), re.MULTILINE)
    parts = [
        part.strip() for line in symptoms for text in re.findall("`(.*?)`", line) for part in text.split("…")
    ]
    assert len(parts) > 15
    assert not [part for part in parts if part not in code]


def test_every_shipped_file_has_its_row() -> None:
    for folder, names in (("evaluators", evaluator_names()), ("datasets", names_in(ROOT / "datasets"))):
        page = (ROOT / folder / "README.md").read_text(encoding="utf-8")
        assert names
        assert not [name for name in names if f"`{name}`" not in page and f"`{folder_of(name)}`" not in page]


def folder_of(name: str) -> str:
    return f"{name.partition('/')[0]}/"


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name[0] != "_" and path.name != "README.md"]


def evaluator_names() -> list[str]:
    """Name metrics as `-e` takes them, and what is in a folder, which is no metric, with the folder."""
    folder = ROOT / "evaluators"
    return [
        f"{name}/{inside}" if (folder / name).is_dir() else f"@{Path(name).stem}"
        for name in names_in(folder)
        for inside in (names_in(folder / name) if (folder / name).is_dir() else [""])
    ]


@need("jq")
def test_every_common_mistake_gives_the_message_that_the_page_shows(cli: Cli, tmp_path: Path) -> None:
    write_program(tmp_path / "judge.sh", ["#!/bin/sh"]).chmod(0o644)
    write_program(tmp_path / "no_first_line", ["echo 1"])
    (tmp_path / "x.json").write_text('{"score": 1}\n')
    rows = _MISTAKE.findall(section_of("docs/protocol.md", "Common mistakes"))
    assert len(rows) > 15
    for options, kind, message in rows:
        said = cli("score", "-", *shlex.split(options), stdin=b"Hello!\n", env={"LC_ALL": "C"}).json
        assert (said["kind"], said["message"]) == (kind, message.replace("DIR", str(tmp_path))), options
        assert said["hint"]


def test_the_commands_of_the_workflow_are_those_that_are_run_on_the_page() -> None:
    blocks = _BLOCK.findall((ROOT / "docs" / "ci.md").read_text(encoding="utf-8"))
    (workflow,) = (code for language, code in blocks if language == "yaml")
    run = "".join(code for language, code in blocks if language == "sh").splitlines()
    commands = re.findall(r"run: (optimize-eval .*)", workflow)
    assert len(commands) == 3
    assert all(command in run for command in commands)


def test_every_rule_of_task_files_is_documented() -> None:
    page = (ROOT / "datasets" / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{rule}` |" in page for rule in (*RULES, *POST_PROCESS))


def test_the_words_of_the_glossary_are_in_order_and_each_has_one_row() -> None:
    things = section_of("docs/glossary.md", "Things")
    words = re.findall(r"^\| ([a-z ]+) \|", things, re.MULTILINE)[1:]
    assert len(words) > 40
    assert words == sorted(set(words))


def section_of(page: str, title: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_docstrings_with_examples_stand_in_the_package_only() -> None:
    files = (ROOT / "tests").rglob("*.py")
    assert not [file for file in files if re.search(r"^\s*>>> ", file.read_text(), re.MULTILINE)]
