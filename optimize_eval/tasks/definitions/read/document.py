"""A task file → nodes: keys given twice, aliases, `!include`, `$ref`, and where all of it stands.

`!include FILE` is the text of a file, stripped; a mapping with `$ref: FILE` is the mapping in that file and
what stands beside. Both are relative to the file they stand in, and never leave the task's folder.
"""

import re
from typing import Any, Never

import yaml

from optimize_eval.base import strict_yaml
from optimize_eval.tasks.definitions.fields.context import Context, Rule
from optimize_eval.tasks.definitions.fields.nodes import Entry, Kind, Mark, Node
from optimize_eval.tasks.definitions.read.paths import MOST, BadPath, Folder, read_text
from optimize_eval.tasks.definitions.read.scalars import INCLUDE, BadScalar, not_taken, scalar

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
            return self._included(found, path)
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
        nodes = [self._node(one, f"{path}[{number}]") for number, one in enumerate(found.value)]
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
            indents = [len(one) - len(one.lstrip(" ")) for one in written if one.strip()]
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
        return _whole(node, [one.node for one in entries.values()])

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
        for one in node.value if node.kind is Kind.LIST else [node]:
            if one.kind is not Kind.MAPPING:
                self._wrong(Rule.BAD_YAML, f"<< merges mappings, this is {one.kind}", value, path)
                continue
            for name, entry in one.value.items():
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
        for name, one in referred.value.items():
            if name in entries:
                reason = f"this key is given here and in {target}, line {one.mark.line}"
                key = f"{path}.{name}" if path else name
                self._files.context.wrong(Rule.DUPLICATE_KEY, key, entries[name].mark, reason)
            else:
                entries[name] = one
        return not referred.is_short

    def _included(self, found: Any, path: str) -> Node:
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
    node.size = 1 + sum(one.size for one in parts)
    node.depth = 1 + max((one.depth for one in parts), default=0)
    return node
