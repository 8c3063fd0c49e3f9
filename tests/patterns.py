"""Every regular expression of the package: where it is, how it is called, and texts that are hard for it."""

import ast
import importlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]  # the only way to a parsed pattern
from types import ModuleType
from typing import Any

from tests.backtracking import Pattern, Text
from tests.paths import ROOT

METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
_FOLDERS = ("optimize_eval", "evaluators")
_SHOWN = ("a", "0", " ", "\n", "\x01", '"', "\\")
_LOOPS = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT})
_ONE = frozenset({sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY})
_MANY = 16


@dataclass(frozen=True)
class Use:
    """A pattern, and how it is called; `pattern` is None where it is made when it is used."""

    where: str
    method: str
    pattern: re.Pattern[Any] | None


def uses() -> list[Use]:
    """List each pattern of the package and of the shipped evaluators with each way in which it is called."""
    files = sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*.py"))
    sources = [(path, text) for path in files if re.search(r"\bre\b", text := path.read_text("utf-8"))]
    loaded = [(path, ast.parse(text), _loaded(path)) for path, text in sources if "import re" in text]
    called = [use for path, tree, module in loaded for use in _calls(path, tree, module)]
    names = {(use.pattern.pattern, use.pattern.flags) for use in called if use.pattern}
    constants = [
        Use(f"{_named(path)}:{name}", method, pattern)
        for path, tree, module in loaded
        for name, value in vars(module).items()
        for pattern in _patterns(value)
        for method in _ways(tree, module)
        if (pattern.pattern, pattern.flags) not in names
    ]
    return list({(use.method, use.pattern or use.where): use for use in (*called, *constants)}.values())


def _ways(tree: ast.AST, module: ModuleType) -> list[str]:
    """List how a module calls what is in its tables: by the name of a variable."""
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    ways = {
        one.attr
        for one in called
        if isinstance(one, ast.Attribute)
        and isinstance(one.value, ast.Name)
        and one.value.id not in vars(module)
    }
    return sorted(ways & METHODS - {"split"}) or ["search"]


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _loaded(path: Path) -> ModuleType:
    if path.is_relative_to(ROOT / "optimize_eval"):
        with suppress(ModuleNotFoundError):  # of an extra: its patterns are constants
            return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return _constants(ast.parse(path.read_text("utf-8")))


def _constants(tree: ast.Module) -> ModuleType:
    """Make a module of a program's constants alone: some work as soon as they are imported."""
    module = ModuleType("constants")
    vars(module)["re"] = re
    for node in tree.body:
        if isinstance(node, ast.Assign):
            with suppress(NameError, AttributeError, TypeError):
                exec(compile(ast.Module([node], []), "", "exec"), vars(module))  # noqa: S102  our own source
    return module


def _patterns(value: Any, deep: int = 3) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif deep and isinstance(value, dict):
        for item in (*value, *value.values()):
            yield from _patterns(item, deep - 1)
    elif deep and isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            yield from _patterns(item, deep - 1)


def _calls(path: Path, tree: ast.AST, module: ModuleType) -> Iterator[Use]:
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))]
    in_functions = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        method, owner = node.func.attr, node.func.value
        if isinstance(owner, ast.Name) and owner.id == "re" and method in METHODS | {"compile"}:
            pattern = _compiled(node, module)
            if method != "compile" or (pattern is None and id(node) in in_functions):  # others are constants
                yield Use(f"{_named(path)}:{ast.unparse(node.args[0])}", method, pattern)
        elif method in METHODS and isinstance(pattern := _value(owner, module), re.Pattern):
            yield Use(f"{_named(path)}:{ast.unparse(owner)}", method, pattern)


def _compiled(call: ast.Call, module: ModuleType) -> re.Pattern[Any] | None:
    pattern = _value(call.args[0], module)
    flags = next((_value(one.value, module) for one in call.keywords if one.arg == "flags"), None)
    if flags is None:
        flags = next(
            (one for arg in call.args[1:] if isinstance(one := _value(arg, module), re.RegexFlag)), 0
        )
    return pattern if isinstance(pattern, re.Pattern) else re.compile(pattern, flags) if pattern else None


def _value(node: ast.expr, module: ModuleType) -> Any:
    """Evaluate what only names of the module are in."""
    try:
        return eval(compile(ast.Expression(node), "", "eval"), vars(module))  # noqa: S307  our own source
    except (NameError, AttributeError, TypeError):
        return None


def hard_texts(pattern: Pattern, size: int) -> Iterator[Text]:
    """Make texts that begin as a match does, and go on and on with what a repeat takes."""
    kinds = _kinds(pattern)
    loops = list(_loops(pattern, list(pattern.tree), pattern.pattern.flags, kinds, ("",)))
    if not loops:
        return
    befores = dict.fromkeys(before for before, _ in loops)
    ends = ("", *kinds[:6])
    pumps = [(before, pump) for before, body in loops if body for pump in (body, before + body)]
    pumps += [(before, pump) for before in befores for kind in kinds for pump in (kind, before + kind)]
    for before, pump in dict.fromkeys((*pumps, *(("", kind) for kind in kinds))):
        for end in ends:
            text = before + pump * (size // len(pump) or 1) + end
            yield text.encode("latin-1", "replace") if isinstance(pattern.pattern.pattern, bytes) else text


def _kinds(pattern: Pattern) -> list[str]:
    """Choose a character for each set of parts that take it: all others are like one of them."""
    parts = [*_ones(list(pattern.tree), pattern.pattern.flags)]
    own = [chr(value[1]) for value, _ in parts if value[0] in {sre.LITERAL, sre.NOT_LITERAL}]
    listed = [chr(n) for value, _ in parts if value[0] is sre.IN for n in _listed(value[1])]
    chars = dict.fromkeys((*_SHOWN, *own, *listed))
    is_bytes = isinstance(pattern.pattern.pattern, bytes)
    coded = [(char, char.encode("latin-1", "replace") if is_bytes else char) for char in chars]
    kinds: dict[tuple[bool, ...], str] = {}
    for char, code in coded:
        kinds.setdefault(tuple(pattern.is_one(part, flags, code) for part, flags in parts), char)
    return list(kinds.values())


def _listed(items: Any) -> Iterator[int]:
    for kind, value in items:
        if kind is sre.LITERAL:
            yield value
        elif kind is sre.RANGE:
            yield value[0]


def _inside(node: Any, flags: int) -> Iterator[tuple[list[Any], int]]:
    """List the sequences within a part, each with its flags."""
    kind, value = node
    if kind in _LOOPS:
        yield list(value[2]), flags
    elif kind is sre.SUBPATTERN:
        yield list(value[3]), (flags | value[1]) & ~value[2]
    elif kind is sre.BRANCH:
        for part in value[1]:
            yield list(part), flags
    elif kind in {sre.ASSERT, sre.ASSERT_NOT}:
        yield list(value[1]), flags
    elif kind is sre.ATOMIC_GROUP:
        yield list(value), flags


def _ones(nodes: list[Any], flags: int) -> Iterator[tuple[Any, int]]:
    for node in nodes:
        if node[0] in _ONE:
            yield node, flags
        for within, then in _inside(node, flags):
            yield from _ones(within, then)


def _loops(
    pattern: Pattern, nodes: list[Any], flags: int, kinds: list[str], befores: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """List what comes before each repeat without a small bound, and what it takes once."""
    for node in nodes:
        kind, value = node
        if kind in _LOOPS and (value[1] is sre.MAXREPEAT or value[1] > _MANY):
            yield from product(befores, _samples(pattern, list(value[2]), flags, kinds))
        for within, then in _inside(node, flags):
            yield from _loops(pattern, within, then, kinds, befores)
        after = [before + sample for before in befores for sample in _samples(pattern, [node], flags, kinds)]
        befores = tuple(dict.fromkeys(after))[:2] or befores


def _samples(pattern: Pattern, nodes: list[Any], flags: int, kinds: list[str]) -> list[str]:
    """Make a few short texts that a sequence takes."""
    texts = [""]
    for node in nodes:
        here = _samples_of(pattern, node, flags, kinds)
        texts = list(dict.fromkeys(text + sample for text in texts for sample in here))[:3]
    return texts


def _samples_of(pattern: Pattern, node: Any, flags: int, kinds: list[str]) -> list[str]:
    kind, value = node
    is_bytes = isinstance(pattern.pattern.pattern, bytes)
    if kind in _ONE:
        coded = ((char, char.encode("latin-1", "replace") if is_bytes else char) for char in kinds)
        return [char for char, code in coded if pattern.is_one(node, flags, code)][:2]
    if kind in _LOOPS:
        once = _samples(pattern, list(value[2]), flags, kinds)
        return [text * max(1, min(value[0], _MANY)) for text in once] + ([""] if not value[0] else [])
    if kind in {sre.AT, sre.ASSERT, sre.ASSERT_NOT, sre.GROUPREF}:
        return [""]
    return [
        text for within, then in _inside(node, flags) for text in _samples(pattern, within, then, kinds)[:2]
    ]
