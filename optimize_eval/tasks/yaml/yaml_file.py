"""A task file → nodes: scalars, `!include`, `$ref`, parameters in texts, and where all of it stands.

`!include FILE` is the text of a file, stripped; a mapping with `$ref: FILE` is the mapping in that file and
what stands beside. Both are relative to the file they stand in, and never leave the task's folder: the file's
own, or the folder that was named.

A parameter without a value makes a text that is nothing else unknown, and leaves a name in any other, so that
all that does not depend on it can be checked.
"""

import math
import os
import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Never

import yaml

from optimize_eval.base import files, strict_yaml
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.yaml_problems import (
    Context,
    Entry,
    Kind,
    Mark,
    Node,
    NotKnown,
    Rule,
    Spot,
    meant,
    node_of,
    texts_of,
)

MOST = 1 << 20  # bytes

_CAP = files.Cap("a file of a task", MOST, "a task is made of short texts")


class BadPath(ValueError):
    """Why a file cannot be taken."""


@frozen
class Folder:
    """The folder tree that a task may read."""

    root: Path  # resolved

    @classmethod
    def of(cls, path: str, named: str = "") -> "Folder":
        """Give the folder of a file, or the one that was named, which has the file in it."""
        return cls(root=(Path(named) if named else Path(path).parent).resolve())

    def find(self, named: str, beside: str) -> str:
        """Find the file that another names, as a path like the other's, or raise BadPath."""
        if "://" in named:
            raise BadPath("files are named by their paths, and nothing is fetched")
        if not named.strip() or "\0" in named:
            raise BadPath("a path must not be empty, or hold a NUL")
        if os.path.isabs(named) or named.startswith("~"):  # noqa: PTH117  as it is written
            raise BadPath("a path is relative to the file it stands in, not absolute")
        path = os.path.normpath(os.path.join(os.path.dirname(beside), named))  # noqa: PTH118, PTH120  it stays as named
        self._check(path, named)
        return path

    def _check(self, path: str, named: str) -> None:
        outside = f"{named} is outside of the task's folder, {self.root.name or self.root}"
        if not Path(os.path.abspath(path)).is_relative_to(_as_written(self.root, path)):  # noqa: PTH100  links stay
            raise BadPath(outside)
        try:
            target = Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            return  # reading it says why
        if not target.is_relative_to(self.root):
            raise BadPath(f"{outside}: it is a link to there" if Path(path).is_symlink() else outside)


def _as_written(root: Path, path: str) -> Path:
    """Give the folder as it is written where the path is not written with its real name."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  links stay
    if whole.is_relative_to(root):
        return root
    return next((parent for parent in whole.parents if parent.resolve() == root), root)


def read_text(path: str) -> str:
    """Read a file of UTF-8, or raise BadPath."""
    try:
        data = files.load(path, _CAP)
    except files.Refused as error:
        raise BadPath(error.reason) from None
    except FileNotFoundError:
        raise BadPath(f"there is no file {path}{files.nearest(Path(path))}") from None
    except OSError as error:
        raise BadPath(f"{path} cannot be read: {error.strerror}") from None
    return decoded(data)


def decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadPath(f"not UTF-8: byte 0x{data[error.start]:02X} in line {line}") from None


INCLUDE = "!include"

_PREFIX = "tag:yaml.org,2002:"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAKER = yaml.constructor.SafeConstructor()


class BadScalar(ValueError):
    """Why a scalar is not a value; `is_value` where it is YAML and only not allowed here."""

    def __init__(self, reason: str, *, is_value: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_value = is_value


def scalar(node: Any) -> tuple[Kind, Any]:
    """Read a scalar by its tag, which YAML gives to those without one by how they look."""
    if _SURROGATE.search(node.value):
        raise BadScalar("half of a pair \\ud83d\\ude00 is no sign: write the sign itself")
    match node.tag.removeprefix(_PREFIX):
        case "str" | "value" | "merge":
            return Kind.TEXT, node.value
        case "null":
            return Kind.NULL, None
        case "bool":
            return _boolean(node)
        case "int" | "float" as tag:
            return _number(node, tag)
        case "timestamp":
            return Kind.DATE, node.value
    raise BadScalar(not_taken(node.tag))


def not_taken(tag: str) -> str:
    """Say that a tag means nothing here."""
    close = f" (did you mean {INCLUDE}?)" if get_close_matches(tag.lower(), [INCLUDE]) else ""
    return f"the tag {tag.replace(_PREFIX, '!!')} is not taken{close}"


def _boolean(node: Any) -> tuple[Kind, Any]:
    try:
        return Kind.BOOLEAN, _MAKER.construct_yaml_bool(node)
    except KeyError:
        raise BadScalar(f"{node.value!r} is not a boolean") from None


def _number(node: Any, tag: str) -> tuple[Kind, Any]:
    if ":" in node.value:
        return Kind.SIXTIES, node.value
    make = _MAKER.construct_yaml_int if tag == "int" else _MAKER.construct_yaml_float
    try:
        value = make(node)
    except (ValueError, IndexError):  # also of thousands of digits
        raise BadScalar(f"{node.value[:30]!r} cannot be read as a number", is_value=True) from None
    if not _is_finite(value):
        raise BadScalar(f"a number must be finite, this is {node.value[:30]}", is_value=True)
    return Kind.NUMBER, value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


MOST_VALUES = 100_000
DEEPEST = 200

_REFERENCE = "$ref"
_MERGE = "tag:yaml.org,2002:merge"
_UNQUOTED = 'a value that begins with {{ must be in quotes: "{{ … }}"'
_NOT_IN_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST_FILES = 200


class Unreadable(Exception):
    """The file holds nothing that can be checked."""


def read_document(path: str, text: str, context: Context, folder: Folder | None = None) -> Node:
    """Read a whole file; its problems go to the context, and those that end it raise Unreadable.

    What it refers to is in `folder`; without one, in the folder of the file.
    """
    try:
        return _Files(folder or Folder.of(path), context).root(path, text)
    except RecursionError:
        mark = Mark(path=path, line=1, column=1)
        context.wrong(Rule.BAD_YAML, "", mark, "with the files that it refers to it is nested too deeply")
        raise Unreadable from None


class _Files:
    """All files of a task, each read once."""

    def __init__(self, folder: Folder, context: Context) -> None:
        self.folder = folder
        self.context = context
        self._texts: dict[str, str] = {}
        self._references = 0
        self._room = MOST  # letters

    def root(self, path: str, text: str) -> Node:
        node = _Document(self, path, text, ()).node("")
        if node is None:
            self.context.wrong(Rule.BAD_YAML, "", Mark(path=path, line=1, column=1), "the file is empty")
            raise Unreadable
        return node

    def text(self, path: str) -> str:
        """Read a file that is named, again where it is named again: all of it has to be checked."""
        if path not in self._texts:
            self._texts[path] = read_text(path)
        self._room -= len(self._texts[path])
        if self._room < 0:
            raise BadPath("with this the files that the task includes and refers to have more than 1 MiB")
        return self._texts[path]

    def mapping(self, path: str, within: tuple[str, ...], where: str) -> Node:
        """Read a file that another refers to, or raise BadPath."""
        self._references += 1
        if path in within:
            raise BadPath(f"{path} refers to itself, by way of {' → '.join([*within, path])}")
        if self._references > _MOST_FILES + 1:  # which is told
            raise Unreadable
        if self._references > _MOST_FILES:
            raise BadPath(f"there are more than {_MOST_FILES:,} references")
        node = _Document(self, path, self.text(path), within).node(where)
        if node is None or node.kind is not Kind.MAPPING:
            raise BadPath(f"{path} holds {node.kind if node else 'nothing'}, and a mapping is needed")
        return node


class _Document:
    """One file's nodes, as PyYAML has them, made ours."""

    def __init__(self, files: _Files, path: str, text: str, within: tuple[str, ...]) -> None:
        self._files = files
        self._path = path
        self._text = text
        self._lines = text.split("\n")
        self._within = (*within, path)
        self._made: dict[int, Node] = {}
        self._open: set[int] = set()

    def node(self, where: str) -> Node | None:
        try:
            composed = strict_yaml.compose(self._text)
        except strict_yaml.YamlFault as fault:
            mark = Mark(path=self._path, line=fault.line, column=fault.column)
            self._files.context.wrong(Rule.BAD_YAML, "", mark, fault.reason)
            raise Unreadable from None
        return None if composed is None else self._node(composed, where)

    def _node(self, found: Any, path: str) -> Node:
        if id(found) in self._made:
            return self._made[id(found)]
        if id(found) in self._open:
            self._end("it is an alias of something that it is in", found, path)
        self._open.add(id(found))
        node = self._of_kind(found, path)
        self._open.discard(id(found))
        if node.size > MOST_VALUES or node.depth > DEEPEST:
            what = f"more than {MOST_VALUES:,} values" if node.size > MOST_VALUES else "too many levels"
            self._end(f"with what its aliases and references stand for it has {what}", found, path)
        self._made[id(found)] = node
        return node

    def _of_kind(self, found: Any, path: str) -> Node:
        if found.tag == INCLUDE:
            return self._include(found, path)
        if isinstance(found, yaml.ScalarNode):
            return self._scalar(found, path)
        if found.tag not in {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}:
            self._wrong(Rule.BAD_YAML, not_taken(found.tag), found, path)
            return self._nothing(found)
        if self._text.startswith("{{", found.start_mark.index):
            self._wrong(Rule.BAD_YAML, _UNQUOTED, found, path)
            return self._nothing(found)
        if isinstance(found, yaml.SequenceNode):
            return self._list(found, path)
        return self._mapping(found, path)

    def _list(self, found: Any, path: str) -> Node:
        nodes = [self._node(child, f"{path}[{number}]") for number, child in enumerate(found.value)]
        return _whole(Node(Kind.LIST, nodes, self._mark(found)), nodes)

    def _scalar(self, found: Any, path: str) -> Node:
        try:
            kind, value = scalar(found)
        except BadScalar as error:
            rule = Rule.BAD_VALUE if error.is_value else Rule.BAD_YAML
            self._wrong(rule, error.reason, found, path)
            return self._nothing(found)
        node = Node(kind, value, self._mark(found), raw=found.value, is_plain=found.style is None)
        if kind is Kind.TEXT:
            node.first = self._first_line(found)
        return node

    def _first_line(self, found: Any) -> Mark | None:
        """Find the first line of a text that is written line by line."""
        line = found.start_mark.line + 1
        if found.style == "|":
            written = self._lines[line : found.end_mark.line]
            indents = [len(entry) - len(entry.lstrip(" ")) for entry in written if entry.strip()]
            return Mark(path=self._path, line=line + 1, column=min(indents, default=0) + 1)
        return None

    def _mapping(self, found: Any, path: str) -> Node:
        entries: dict[str, Entry] = {}
        for key, value in found.value:
            if key.tag != _MERGE:
                self._add(entries, key, value, path)
        for key, value in found.value:
            if key.tag == _MERGE:
                self._merge(entries, value, path)
        is_short = _REFERENCE in entries and not self._refer(entries, path)
        node = Node(Kind.MAPPING, entries, self._mark(found), is_short=is_short)
        return _whole(node, [entry.node for entry in entries.values()])

    def _add(self, entries: dict[str, Entry], key: Any, value: Any, path: str) -> None:
        if not isinstance(key, yaml.ScalarNode) or _NOT_IN_KEY.search(key.value):
            self._wrong(Rule.BAD_YAML, "a key must be a text without control characters", key, path)
            return
        where = f"{path}.{key.value}" if path else key.value
        if key.value in entries:
            first = entries[key.value].mark
            self._wrong(
                Rule.DUPLICATE_KEY, f"this key is given twice, first in line {first.line}", key, where
            )
            return
        entries[key.value] = Entry(self._mark(key), self._node(value, where))

    def _merge(self, entries: dict[str, Entry], value: Any, path: str) -> None:
        """Put in what `<<: *alias` stands for; what stands beside it wins."""
        node = self._node(value, path)
        for child in node.value if node.kind is Kind.LIST else [node]:
            if child.kind is not Kind.MAPPING:
                self._wrong(Rule.BAD_YAML, f"<< merges mappings, this is {child.kind}", value, path)
                continue
            for name, entry in child.value.items():
                entries.setdefault(name, entry)

    def _refer(self, entries: dict[str, Entry], path: str) -> bool:
        """Put in the mapping of the file that is referred to; False where that cannot be read."""
        entry = entries.pop(_REFERENCE)
        where = f"{path}.{_REFERENCE}" if path else _REFERENCE
        if entry.node.kind is not Kind.TEXT:
            reason = f"must be the path of a file, this is {entry.node.kind}"
            self._files.context.wrong(Rule.BAD_REFERENCE, where, entry.node.mark, reason)
            return False
        try:
            target = self._files.folder.find(entry.node.value, self._path)
            referred = self._files.mapping(target, self._within, path)
        except BadPath as error:
            self._files.context.wrong(Rule.BAD_REFERENCE, where, entry.node.mark, str(error))
            return False
        except Unreadable:
            return False
        for name, child in referred.value.items():
            if name in entries:
                reason = f"this key is given here and in {target}, line {child.mark.line}"
                key = f"{path}.{name}" if path else name
                self._files.context.wrong(Rule.DUPLICATE_KEY, key, entries[name].mark, reason)
            else:
                entries[name] = child
        return not referred.is_short

    def _include(self, found: Any, path: str) -> Node:
        if not isinstance(found, yaml.ScalarNode):
            self._wrong(Rule.BAD_REFERENCE, "!include takes the path of a file", found, path)
            return self._nothing(found)
        try:
            target = self._files.folder.find(found.value, self._path)
            text = self._files.text(target)
        except BadPath as error:
            self._wrong(Rule.BAD_REFERENCE, str(error), found, path)
            return self._nothing(found)
        before = len(text) - len(text.lstrip())
        first = Mark(path=target, line=text.count("\n", 0, before) + 1, column=1)
        return Node(Kind.TEXT, text.strip(), self._mark(found), raw=found.value, first=first)

    def _nothing(self, found: Any) -> Node:
        """Stand for what is wrong already."""
        return Node(Kind.UNKNOWN, (), self._mark(found))

    def _mark(self, found: Any) -> Mark:
        return Mark(path=self._path, line=found.start_mark.line + 1, column=found.start_mark.column + 1)

    def _wrong(self, rule: Rule, reason: str, found: Any, path: str) -> None:
        self._files.context.wrong(rule, path, self._mark(found), reason)

    def _end(self, reason: str, found: Any, path: str) -> Never:
        self._wrong(Rule.BAD_YAML, reason, found, path)
        raise Unreadable


def _whole(node: Node, parts: list[Node]) -> Node:
    node.size = 1 + sum(part.size for part in parts)
    node.depth = 1 + max((part.depth for part in parts), default=0)
    return node


TODO = "((TODO))"


def check_unfinished(root: Spot, context: Context) -> None:
    """Find ((TODO)) in all keys and texts."""
    for spot in texts_of(root):
        for number, line in enumerate(spot.node.value.split("\n"), 1):
            if TODO in line:
                context.wrong(
                    Rule.UNFINISHED, spot.path, spot.node.at(number), "((TODO)) is left to be written"
                )
    _check_keys(root, context)


def _check_keys(spot: Spot, context: Context) -> None:
    for name, entry in spot.entries.items():
        if TODO in name:
            context.wrong(Rule.UNFINISHED, spot.of(name), entry.mark, "((TODO)) is left to be written")
    for child in (*spot.children(), *spot.items()):
        _check_keys(child, context)


_HOLE = re.compile(r"<<[ \t]*+([A-Za-z_](?:[^<>\n \t]|[ \t]++(?!>>))*+)[ \t]*+>>")
_CONFIG = re.compile(r"config\.([A-Za-z0-9_\-]+)")
_NAME = re.compile(r"[A-Za-z_]\w*([.\[].*)?")
_NAME_IN_CODE = re.compile(r"(config|secrets?|env)[.\[].*")  # a << b >> c is none
_NOT_IN_NAME = re.compile(r"\W")


def placeholder(name: str) -> str:
    """Make the name that stands for a parameter without a value: a word in templates, code and texts."""
    return f"config_{_NOT_IN_NAME.sub('_', name)}"


def substituted(spot: Spot, values: JsonMapping, context: Context) -> Node:
    """Put values into all texts within; NOT_KNOWN among them are those that have yet to come."""
    node = spot.node
    if node.kind is Kind.TEXT:
        if TODO in node.value:
            return Node(Kind.UNKNOWN, (), node.mark)  # that is told, and enough
        return _text(spot, values, context) if "<<" in node.value else node
    if node.kind is Kind.LIST:
        return _like(node, [substituted(item, values, context) for item in spot.items()])
    if node.kind is Kind.MAPPING:
        entries = {
            name: Entry(entry.mark, substituted(Spot(node=entry.node, path=spot.of(name)), values, context))
            for name, entry in node.value.items()
        }
        return _like(node, entries)
    return node


def _like(node: Node, value: Any) -> Node:
    return Node(node.kind, value, node.mark, is_short=node.is_short)


def _text(spot: Spot, values: JsonMapping, context: Context) -> Node:
    node = spot.node
    is_code = spot.path.endswith("_snippet")
    whole = _HOLE.fullmatch(node.value)
    if whole and _NAME.fullmatch(whole[1]):
        name = _name_meant(whole, spot, values, context)
        return _whole_value(spot, values[name], context) if name else Node(Kind.UNKNOWN, (), node.mark)
    return _fill(spot, _filler(spot, values, context, is_code=is_code))


def _whole_value(spot: Spot, value: Any, context: Context) -> Node:
    mark = spot.mark
    if isinstance(value, NotKnown):
        return Node(Kind.UNKNOWN, value.may_be, mark)
    if isinstance(value, list) and not _has_room(str(value), spot, context):
        return Node(Kind.UNKNOWN, (), mark)
    return node_of(value, mark)


def _has_room(text: str, spot: Spot, context: Context) -> bool:
    """Count what parameters put in, of which few letters can make very many."""
    had_any = context.room >= 0
    context.room -= len(text)
    if had_any and context.room < 0:
        context.wrong(Rule.BAD_TEMPLATE, spot.path, spot.mark, "parameters put more than 1 MiB into the task")
    return context.room >= 0


def _fill(spot: Spot, filler: "_Filler") -> Node:
    node = spot.node
    text = _HOLE.sub(filler, node.value)
    if filler.is_wrong:
        return Node(Kind.UNKNOWN, (), node.mark)
    made = Node(Kind.TEXT, text, node.mark, raw=node.raw, is_plain=node.is_plain, first=node.first)
    made.is_partial = filler.is_partial
    return made


class _Filler:
    """Replaces what is found in one text."""

    def __init__(
        self,
        values: JsonMapping,
        named: Callable[[re.Match[str]], str | None],
        has_room: Callable[[str], bool],
    ) -> None:
        self._values = values
        self._named = named
        self._has_room = has_room
        self.is_partial = self.is_wrong = False

    def __call__(self, found: re.Match[str]) -> str:
        name = None if self.is_wrong else self._named(found)  # the first problem of a text is enough
        if not name:
            self.is_wrong |= name is not None
            return found[0]
        value = self._values[name]
        if isinstance(value, NotKnown):
            self.is_partial = True
            return placeholder(name)
        text = str(value)
        self.is_wrong = not self._has_room(text)
        return text


def _filler(spot: Spot, values: JsonMapping, context: Context, *, is_code: bool) -> _Filler:
    names = _NAME_IN_CODE if is_code else _NAME

    def named(found: re.Match[str]) -> str | None:
        if not names.fullmatch(found[1]):
            return None
        return _name_meant(found, spot, values, context)

    return _Filler(values, named, lambda text: _has_room(text, spot, context))


def _name_meant(hole: re.Match[str], spot: Spot, values: JsonMapping, context: Context) -> str:
    """Find which parameter is meant; empty and a problem where none is."""
    found = _CONFIG.fullmatch(hole[1])
    name = found[1] if found else ""
    if name in values:
        return name
    if found:
        reason = f"there is no parameter {name!r} in config_spec{meant(name, list(values))}"
    else:
        reason = f"<< {hole[1][:60]} >> is not supported: << >> takes parameters, as in << config.NAME >>"
    line = hole.string.count("\n", 0, hole.start()) + 1
    context.wrong(Rule.BAD_TEMPLATE, spot.path, spot.node.at(line), reason)
    return ""
