"""`optimize-eval new`: files to start from, each with one line that tries it; nothing is ever overwritten.

What is written are the starters that ship, under a name of one's own.
LANGUAGES are those that `new evaluator` knows, and how an evaluator in each is built and run: one table.

The starters themselves ship in `evaluators/starters`, one file for each suffix.
"""

import re
import shlex
import shutil
import sys
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base import shipped
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.cli import output
from optimize_eval.cli.commands.schema import Document, schema_text

_STEM = "word_share"
_PROPOSER = "missing_word"
PROPOSER_LANGUAGES = ("python", "bash", "node")


@frozen
class Language:
    """How one language is written, built and run; in commands NAME stands for the evaluator's name."""

    name: str
    suffix: str
    spec: str  # what -e takes
    needs: tuple[str, ...]  # programs
    package: str  # of Debian and Ubuntu
    build: str = ""
    makes: str = ""  # what the build leaves beside the source


LANGUAGES = {
    language.name: language
    for language in (
        Language(name="python", suffix=".py", spec="python3 NAME.py", needs=("python3",), package="python3"),
        Language(name="bash", suffix=".sh", spec="bash NAME.sh", needs=("bash", "jq"), package="bash jq"),
        Language(name="node", suffix=".js", spec="node NAME.js", needs=("node",), package="nodejs"),
        Language(name="perl", suffix=".pl", spec="perl NAME.pl", needs=("perl",), package="perl"),
        Language(name="ruby", suffix=".rb", spec="ruby NAME.rb", needs=("ruby",), package="ruby"),
        Language(name="php", suffix=".php", spec="php NAME.php", needs=("php",), package="php-cli"),
        Language(name="lua", suffix=".lua", spec="lua NAME.lua", needs=("lua",), package="lua5.4"),
        Language(name="tcl", suffix=".tcl", spec="tclsh NAME.tcl", needs=("tclsh",), package="tcl"),
        Language(
            name="r",
            suffix=".R",
            spec="Rscript NAME.R",
            needs=("Rscript",),
            package="r-base-core r-cran-jsonlite",
        ),
        Language(
            name="c",
            suffix=".c",
            build="gcc -O2 -o NAME NAME.c",
            makes="NAME",
            spec="./NAME",
            needs=("gcc",),
            package="gcc libc6-dev",
        ),
        Language(
            name="rust",
            suffix=".rs",
            build="rustc -O --crate-name evaluator -o NAME NAME.rs",
            makes="NAME",
            spec="./NAME",
            needs=("rustc",),
            package="rustc",
        ),
        Language(
            name="go",
            suffix=".go",
            build="go build -o NAME NAME.go",
            makes="NAME",
            spec="./NAME",
            needs=("go",),
            package="golang-go",
        ),
        Language(
            name="java",
            suffix=".java",
            build="javac -d NAME.classes NAME.java",
            makes="NAME.classes",
            spec="NAME=java -cp NAME.classes Evaluator",
            needs=("javac", "java"),
            package="default-jdk-headless",
        ),
    )
}
ALIASES = {
    "javascript": "node",
    "js": "node",
    "nodejs": "node",
    "py": "python",
    "python3": "python",
    "sh": "bash",
    "golang": "go",
    "rs": "rust",
    "rb": "ruby",
    "pl": "perl",
}


def starter(suffix: str, name: str) -> str:
    """Read the starter with a suffix, under a name."""
    text = shipped.path(f"evaluators/starters/{_STEM}{suffix}").read_text(encoding="utf-8")
    return text.replace(_STEM, name)


def proposer(suffix: str, name: str) -> str:
    """Read the starter of a proposer with a suffix, under a name."""
    text = shipped.path(f"evaluators/proposers/{_PROPOSER}{suffix}").read_text(encoding="utf-8")
    return text.replace(_PROPOSER, name)


EXAMPLES = """\b
Examples:
  optimize-eval new evaluator mine --lang go
  optimize-eval new proposer better --lang bash
  optimize-eval new sweep nightly
  optimize-eval new dataset greetings
  optimize-eval new task arithmetic

\b
The first line of a sweep file or a task tells editors of its JSON Schema, and
that is written beside it. stdout has one line, which tries what was written:
bash -c "$(optimize-eval new evaluator mine)".
Exit codes: 0 written, 2 a name or language that cannot be, or a file that is
there already.
"""

_REQUEST = '{"candidate":"hello","records":[{"score":0.5,"example":{"target":"hello Ada"}}]}'
_SCHEMA = ".schema.json"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_GO_LEAVES_OUT = re.compile(r".*_(test|linux|darwin|windows|amd64|arm64)")

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    epilog=EXAMPLES,
    help="Write files to start from.",
)

FileName = Annotated[str, typer.Argument(metavar="NAME", help="What to call it; the suffix comes by itself.")]


@app.command()
def evaluator(
    name: FileName,
    lang: Annotated[
        str, typer.Option("--lang", metavar="LANGUAGE", help=f"One of {', '.join(LANGUAGES)}.")
    ] = "python",
) -> None:
    """Write an evaluator that works, NAME with its language's suffix, and examples for it, NAME.jsonl."""
    language = _language(lang)
    _check_name(name)
    _check_for_language(name, language)
    _refuse_existing(
        f"{name}{language.suffix}", *([language.makes.replace("NAME", name)] * bool(language.makes))
    )
    _write({f"{name}{language.suffix}": starter(language.suffix, name), **_data(name)})
    _tell_missing(language)
    spec = shlex.quote(language.spec.replace("NAME", name))
    build = f"{language.build.replace('NAME', name)} && " if language.build else ""
    tried = f"--dataset {name}.jsonl --candidate-field after --good target"
    output.emit(f"{build}optimize-eval preflight -e {spec} {tried}")


@app.command("proposer")
def new_proposer(
    name: FileName,
    lang: Annotated[
        str, typer.Option("--lang", metavar="LANGUAGE", help=f"One of {', '.join(PROPOSER_LANGUAGES)}.")
    ] = "python",
) -> None:
    """Write a proposer for `optimize` that works, NAME with its language's suffix."""
    language = _language(lang, PROPOSER_LANGUAGES)
    _check_name(name)
    _check_for_language(name, language)
    _refuse_existing(f"{name}{language.suffix}")
    _write({f"{name}{language.suffix}": proposer(language.suffix, name)})
    _tell_missing(language)
    output.emit(f"echo '{_REQUEST}' | {language.spec.replace('NAME', name)}")


@app.command()
def sweep(name: FileName) -> None:
    """Write a sweep file, NAME.toml, and examples for it, NAME.jsonl."""
    _check_name(name)
    _refuse_existing(f"{name}.toml")
    text = f"#:schema ./{Document.SWEEP}{_SCHEMA}\n{starter('.toml', name)}"
    _write({f"{name}.toml": text, **_data(name), **_schema(Document.SWEEP, Path())})
    output.emit(f"optimize-eval validate {name}.toml && optimize-eval run {name}.toml")


@app.command()
def dataset(name: FileName) -> None:
    """Write a small dataset, NAME.jsonl."""
    _check_name(name)
    _refuse_existing(f"{name}.jsonl")
    _write(_data(name))
    output.emit(f"optimize-eval validate {name}.jsonl")


@app.command()
def task(name: FileName) -> None:
    """Write a task in YAML that runs, in a folder NAME, with a dataset and with what its fields mean."""
    _check_name(name)
    _refuse_existing(name)
    Path(name).mkdir()
    about = f"# yaml-language-server: $schema={Document.TASK}{_SCHEMA}\n"
    texts = {".yaml": about + _task_starter(".yaml", name), ".jsonl": _task_starter(".jsonl", name)}
    named = {f"{name}/{name}{suffix}": text for suffix, text in texts.items()}
    _write({**named, **_schema(Document.TASK, Path(name))})
    path = f"{name}/{name}.yaml"
    output.emit(f"optimize-eval validate {path} && optimize-eval bench {path} --model toy")


def _task_starter(suffix: str, name: str) -> str:
    text = shipped.path(f"datasets/starters/task{suffix}").read_text(encoding="utf-8")
    return text.replace("NAME", name)


def _tell_missing(language: Language) -> None:
    if missing := [program for program in language.needs if shutil.which(program) is None]:
        output.say(
            f"note: {' and '.join(missing)} cannot be found on PATH; "
            f"install it first (Debian, Ubuntu: apt-get install {language.package})"
        )


def _language(said: str, among: Collection[str] = LANGUAGES) -> Language:
    aliases = {alias: name for alias, name in ALIASES.items() if name in among}
    known = {**{name: name for name in among}, **aliases}
    if said.lower() in known:
        return LANGUAGES[known[said.lower()]]
    close = get_close_matches(said.lower(), known, n=1)
    meant = f"did you mean {close[0]}? There are" if close else "name one of"
    raise UsageError(f"there is no starter in {said!r}", hint=f"{meant} {', '.join(among)}")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be a name here",
            hint="give a letter, then letters, digits, _ and -, without a folder or a suffix: mine",
        )


def _check_for_language(name: str, language: Language) -> None:
    """Refuse what the language itself would take for something else."""
    if language.name == "python" and name in sys.stdlib_module_names:
        raise UsageError(f"{name}.py would hide Python's own module {name}", hint=f"try my_{name}")
    if language.name == "go" and _GO_LEAVES_OUT.fullmatch(name):
        raise UsageError(
            f"go leaves {name}.go out of a build, for how its name ends", hint="end it otherwise"
        )


def _refuse_existing(*names: str) -> None:
    if there := [name for name in names if Path(name).exists() or Path(name).is_symlink()]:
        raise UsageError(
            f"{there[0]} is there already, and nothing is overwritten",
            hint="choose another name, or move it away",
        )


def _data(name: str) -> Mapping[str, str]:
    """Make the examples, unless a file of that name holds some."""
    path = f"{name}.jsonl"
    if Path(path).exists():
        output.say(f"note: {path} is there already; it stays as it is")
        return {}
    return {path: starter(".jsonl", name)}


def _schema(document: Document, folder: Path) -> Mapping[str, str]:
    """Make the schema that a file's first line tells editors of, unless it is there."""
    path = folder / f"{document}{_SCHEMA}"
    return {} if path.exists() else {str(path): f"{schema_text(document)}\n"}


def _write(texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        with Path(name).open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if text.startswith("#!"):
            Path(name).chmod(0o755)
    *others, last = texts
    output.say(f"wrote {', '.join(others)}{' and ' * bool(others)}{last}")
