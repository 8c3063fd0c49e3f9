"""How tests stand: folders are those of the package, and what several modules need is a helper of theirs."""

import ast
from pathlib import Path

from tests.paths import ROOT

TESTS, PACKAGE = ROOT / "tests", ROOT / "optimize_eval"
APART = {  # folders of tests that are about no room of the package
    "shipped": "the programs that ship",
    "faults": "what goes wrong, in whatever room",
    "cluster": "a cluster on this machine",
    "page": "the page of a run, in a browser",
}


def test_nothing_is_imported_from_a_module_of_tests() -> None:
    found = {str(path.relative_to(TESTS)): imported(path.read_text("utf-8")) for path in TESTS.rglob("*.py")}
    assert "tests.paths.ROOT" in found["test_tree.py"]
    of_tests = {path: {name for name in names if ".test_" in name} for path, names in found.items()}
    assert {path: names for path, names in of_tests.items() if names} == {}


def imported(text: str) -> set[str]:
    """Name what a module imports; what is taken from one may be a module, too."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found |= {one.name for one in names}
            case ast.ImportFrom(module=str(source), names=names):
                found |= {f"{source}.{one.name}" for one in names}
    return found


def test_imports_of_all_forms_are_found() -> None:
    text = "import tests.a.test_b\nfrom tests.a import test_c\ndef f():\n    from tests.test_d import g\n"
    assert imported(text) == {"tests.a.test_b", "tests.a.test_c", "tests.test_d.g"}


def test_folders_of_tests_are_rooms_of_the_package() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    rooms = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")}
    assert {str(folder) for folder in folders - rooms} == {*APART}
