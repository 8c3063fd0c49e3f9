"""What the package is made of, and how it is called: each count may only fall.

A name says what a thing is; a function is a verb and its object, or the noun of a property. Who lowers a
count lowers its number here.
"""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import ROOT

PACKAGE = ROOT / "optimize_eval"
EMPTY_WORDS = {"one", "place", "told", "found"}
IRREGULAR = (
    "begun bound broken built chosen done drawn found given gone heard held hidden kept known left lost made "
    "meant paid said seen sent shown sought spent spoken taken told won worn written"
)  # read, cut and put are verbs as well
NO_PARTICIPLES = "need seed feed speed exceed proceed embed"
PARTICIPLE = re.compile(
    rf"_*(?!(?:{NO_PARTICIPLES.replace(' ', '|')})$)(?:[a-z]+ed|(?:un)?(?:{IRREGULAR.replace(' ', '|')}))"
)
MOST = {
    "folders": 25,
    "modules": 369,
    "file names that stand more than once": 15,
    "imports in functions": 101,  # it was 90, and 47 lines beside them that were not counted
}
MOST_NAMES = {
    "audit": Counter(found=1, participle=1),
    "base": Counter(place=1, participle=2),
    "cli": Counter(place=2, told=1, found=4, participle=10),
    "config": Counter(participle=5),
    "evaluators": Counter(participle=3),
    "fakes": Counter(one=2, participle=6),
    "findings": Counter(one=22, place=28, told=21, found=10, participle=58),
    "models": Counter(place=5, told=1, found=3, participle=15),
    "reports": Counter(one=13, place=18, told=7, found=2, participle=30),
    "run": Counter(one=24, told=2, found=4, participle=22),
    "store": Counter(found=1, participle=2),
    "tasks": Counter(one=7, place=9, told=4, found=13, participle=44),
}


class Module(NamedTuple):
    """What is counted of a module: names with their lines, and what is imported."""

    names: list[tuple[str, int]]
    imports: list[str]
    in_functions: list[int]  # lines of those that wait until they are needed


@cache
def modules() -> dict[Path, Module]:
    """Read each module, by its path in the package."""
    return {
        path.relative_to(PACKAGE): read_module(path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))
    }


def read_module(source: str | bytes) -> Module:
    module = Module([], [], [])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in EMPTY_WORDS and isinstance(node.ctx, ast.Store):
            module.names.append((node.id, node.lineno))
        elif isinstance(node, ast.FunctionDef) and PARTICIPLE.fullmatch(node.name) and not is_property(node):
            module.names.append(("participle", node.lineno))
        if isinstance(node, ast.FunctionDef):
            inner = (each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom))
            module.in_functions.extend(each.lineno for each in inner)
        elif isinstance(node, ast.Import):
            module.imports.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module.imports.extend(f"{node.module}.{alias.name}" for alias in node.names)
    return module


def is_property(function: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def names_by_room() -> dict[str, dict[str, list[str]]]:
    """Say of each room where it has the names that are counted."""
    rooms: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, module in modules().items():
        for name, line in module.names:
            rooms[path.parts[0]][name].append(f"{path}:{line}")
    return rooms


def test_no_room_has_more_variables_and_functions_whose_names_say_nothing() -> None:
    more = [
        f"{room} has {len(lines)} called {name}, and may have {most}: {', '.join(lines)}"
        for room, names in names_by_room().items()
        for name, lines in names.items()
        if len(lines) > (most := MOST_NAMES.get(room, Counter())[name])
    ]
    assert not more, "\n".join(more)


@pytest.mark.parametrize(
    "text", ["def told(): ...", "def _opened(a): ...", "[one for one in x]", "place: int = 1"]
)
def test_a_name_that_says_nothing_is_counted(text: str) -> None:
    assert len(read_module(text).names) == 1


@pytest.mark.parametrize(
    "text", ["def read(): ...", "def need(): ...", "@property\ndef failed(self): ...", "f(one)"]
)
def test_other_names_are_not_counted(text: str) -> None:
    assert read_module(text).names == []


def test_the_house_grows_no_folder_and_no_file_name_that_stands_twice() -> None:
    files = Counter(path.name for path in modules() if path.name != "__init__.py")
    twice = {name: count for name, count in files.items() if count > 1}
    assert len({path.parent for path in modules()} - {Path()}) <= MOST["folders"]
    assert len(modules()) <= MOST["modules"]
    assert len(twice) <= MOST["file names that stand more than once"], twice


def test_no_further_import_waits_within_a_function() -> None:
    """What few commands need stands in modules of its own, behind one import."""
    late = [f"{path}:{line}" for path, module in modules().items() for line in module.in_functions]
    assert len(late) <= MOST["imports in functions"], "\n".join(late)


def edges() -> Iterator[tuple[Path, Path]]:
    """Give who imports whom, both as paths in the package."""
    for path, module in modules().items():
        for target in filter(None, map(module_of, module.imports)):
            yield path, target


@cache
def module_of(name: str) -> Path | None:
    """Find the module that a dotted name stands in: itself, or what it is taken from."""
    package, *parts = name.split(".")
    stems = [f"{'/'.join(some)}{end}" for some in (parts, parts[:-1]) for end in (".py", "/__init__.py")]
    return (
        next((Path(stem) for stem in stems if Path(stem) in modules()), None)
        if package == PACKAGE.name
        else None
    )


def test_folders_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[Path, set[Path]] = defaultdict(set)
    for path, target in edges():
        if path.parent != target.parent and Path() not in {path.parent, target.parent}:
            graph[path.parent].add(target.parent)
    assert graph[Path("cli")] >= {Path("run"), Path("base")}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"folders import in a circle: {' ← '.join(map(str, error.args[1]))}")


def test_no_room_imports_one_above_it() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    depth = {
        room.strip(): at for at, layer in enumerate(contract["layers"]) for room in re.split("[|:]", layer)
    }
    between = {
        (path, path.with_suffix("").parts[0], target.with_suffix("").parts[0]) for path, target in edges()
    }
    known = {(path, room, other) for path, room, other in between if {room, other} <= depth.keys()}
    assert ("run", "base") in {(room, other) for _, room, other in known}
    assert [f"{path} imports {other}" for path, room, other in known if depth[other] < depth[room]] == []


def test_a_module_that_a_docstring_names_exists() -> None:
    rooms = "|".join({path.parts[0] for path in modules() if len(path.parts) > 1})
    named = re.compile(rf"(?<![\w./`-])({rooms})\.(?!json)([a-z_]+)")
    gone = [
        f"{path} names {room}.{name}"
        for path in modules()
        for room, name in named.findall(ast.get_docstring(ast.parse((PACKAGE / path).read_bytes())) or "")
        if not any((PACKAGE / room / f"{name}{end}").exists() for end in ("", ".py"))
    ]
    assert not gone, "\n".join(gone)
