"""The languages that `new evaluator` knows, and how an evaluator in each is built and run: one table.

The starters themselves ship in `evaluators/starters`, one file for each suffix. Writing files is new's
business.
"""

from optimize_eval.base import shipped
from optimize_eval.base.frozen import frozen

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
    one.name: one
    for one in (
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
