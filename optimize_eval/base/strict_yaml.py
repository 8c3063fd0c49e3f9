"""YAML read as data alone, with a reason and a place for every error, in words for those who wrote it.

A parser tells where it could not go on, in words about itself. What is meant is told by the line: a tab, a
quote or bracket that stays open, a key without its colon, a line that begins in a column of its own.

`loads` makes values of it, and takes no aliases. `compose` makes nodes, each with its place, for those who
check more than a value; keys that are given twice are theirs to find.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from optimize_eval.base.frozen import frozen

_COMMENT = re.compile(r"\s*#")
_LONGEST = 40


@frozen
class Stop:
    """Where a parser stopped, and what it had read."""

    error: yaml.MarkedYAMLError
    lines: Sequence[str]
    last: Any = None  # the last token that has a place in what was read
    opened: Any = None  # the mark of the innermost collection that is still open
    in_brackets: bool = False

    @property
    def at(self) -> Any:
        return self.error.problem_mark

    @property
    def since(self) -> Any:
        return self.error.context_mark or self.at

    def line(self, mark: Any) -> str:
        return self.lines[mark.line] if mark.line < len(self.lines) else ""

    def rest(self, mark: Any) -> str:
        return self.line(mark)[mark.column :]

    def begins_line(self) -> bool:
        return not self.line(self.at)[: self.at.column].strip()

    def above(self) -> tuple[int, str] | None:
        """Find the last line above that has something on it, counted from 0."""
        lines = [*enumerate(self.lines[: self.at.line])]
        return next((one for one in reversed(lines) if one[1].strip() and not _COMMENT.match(one[1])), None)


def moved(mark: Any, line: int, column: int) -> Any:
    """Make a mark of another place in the same text, both counted from 0."""
    return yaml.Mark(mark.name, 0, line, column, None, None)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


Told = tuple[str, Any]  # the reason, and the mark of what it is about

_DIRECTIVE = "a line that begins with % is for YAML itself: omit it"
_QUOTE_IT = "put the whole value in quotes"
_ELSE = "this cannot be read as YAML: check the quotes, brackets, colons and the indentation here and above"
_KEY = re.compile(r"\s*(?:- +)*[^\s#'\"\[{&*!|>%@`-][^:]*:(?:\s|$)")
_SPACELESS = re.compile(r"\s*(?:- +)*([\w.$-]+):([^\s/:].*)")
_WORDS = re.compile(r"([\w.$-]{3,})\s+(\S.*)")


def explained(stop: Stop) -> Told:
    """Say what is wrong, and where that is."""
    problem = " ".join(str(stop.error.problem or "").split())
    if type(stop.error) is yaml.MarkedYAMLError:  # of our own loader
        return problem, stop.at
    if stop.at is None:
        return _ELSE, None
    if (tab := _tab(stop)) is not None:
        return tab
    for pattern, tell in _RULES:
        if found := re.match(pattern, problem):
            return tell(stop, found)
    return _ELSE, stop.at


def _tab(stop: Stop) -> Told | None:
    before = stop.line(stop.at)[: stop.at.column]
    line = stop.line(stop.at)
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        return "this line is indented with a tab: YAML takes spaces only", moved(
            stop.at, stop.at.line, indentation.index("\t")
        )
    if stop.rest(stop.at).startswith("\t") and before.strip():
        return "a tab stands before the value: write a space", stop.at
    return None


def _no_start(stop: Stop, found: re.Match[str]) -> Told:
    return f"a value may not begin with {found[1]}: {_QUOTE_IT}", stop.at


def _open_quote(stop: Stop, _: re.Match[str]) -> Told:
    quote = stop.rest(stop.since)[:1]
    return f"the text that begins here with {quote} has no closing {quote}", stop.since


def _two_colons(stop: Stop, _: re.Match[str]) -> Told:
    line, before = stop.line(stop.at), stop.line(stop.at)[: stop.at.column]
    if _KEY.match(before):
        return f"a second ': ' stands in one line: {_QUOTE_IT}", stop.at
    above = stop.above()
    if above and (glued := spaceless(above[1])):
        return glued, moved(stop.at, above[0], indent(above[1]))
    if above and indent(line) > indent(above[1]):
        reason = (
            f"{before.strip()}: is indented more than line {above[0] + 1}, which has a value already: "
            "begin both in the same column"
        )
        return reason, moved(stop.at, stop.at.line, indent(line))
    return f"a key and its ': ' cannot stand here: check the indentation, or {_QUOTE_IT}", stop.at


def _no_colon(stop: Stop, _: re.Match[str]) -> Told:
    text = stop.rest(stop.since).rstrip()
    if re.match(r"-[^\s-]", text):
        return f"a space is missing after the dash: - {shortened(text[1:])}", stop.since
    if glued := spaceless(text):
        return glued, stop.since
    words = _WORDS.fullmatch(text)
    meant = f" (did you mean `{words[1]}: {shortened(words[2])}`?)" if words else ""
    reason = (
        f"this line has no colon after its key{meant}; a text that goes on from the line above is "
        "indented more than its key"
    )
    return reason, stop.since


def _no_end(stop: Stop, found: re.Match[str]) -> Told:
    """Tell what stands where another key, entry or the end was expected."""
    sign = found[1]
    if sign in "]}":
        return f"this {sign} closes nothing: no {'[' if sign == ']' else '{'} is open", stop.at
    if stop.begins_line():
        return _misplaced(stop, sign)
    if isinstance(stop.last, yaml.ScalarToken) and stop.last.style in {"'", '"'}:
        return _after_quotes(stop, stop.last)
    if isinstance(stop.last, yaml.FlowMappingEndToken | yaml.FlowSequenceEndToken):
        return f"something stands after the closing bracket: {_QUOTE_IT} where it is a text", stop.at
    return _ELSE, stop.at


def _misplaced(stop: Stop, sign: str) -> Told:
    """Tell what is wrong with a line that begins with what cannot follow the line above."""
    if isinstance(stop.last, yaml.ScalarToken) and stop.last.style in {"|", ">"}:
        reason = (
            f"this line is indented less than the first line of the text that begins in line "
            f"{stop.last.start_mark.line + 2}, and more than its key"
        )
        return reason, stop.at
    if stop.at.column == stop.since.column:
        if sign == "-":
            return "an entry of a list stands among keys: a list is under a key of its own", stop.at
        return "a key stands among the entries of a list: each entry begins with '- '", stop.at
    above = stop.above()
    columns = {stop.since.column, *(_columns(above[1]) if above else ())}
    if stop.at.column in columns:
        return "nothing can follow here: the value of the line above ends on that line", stop.at
    could = " or ".join(str(column + 1) for column in sorted(columns))
    reason = (
        f"wrong indentation: this line begins in column {stop.at.column + 1}, the lines that it could "
        f"belong to begin in column {could}"
    )
    return reason, stop.at


def _columns(line: str) -> Sequence[int]:
    """Give the columns in which a line's entry and its key begin."""
    dashes = re.match(r" *(?:- +)*", line)
    return indent(line), dashes.end() if dashes else 0


def _after_quotes(stop: Stop, text: Any) -> Told:
    quote, line = text.style, text.start_mark.line
    if line != text.end_mark.line:
        reason = (
            f"the text that begins here with {quote} ends in line {text.end_mark.line + 1}, where something "
            f"follows: is a closing {quote} missing?"
        )
        return reason, text.start_mark
    escaped = "''" if quote == "'" else '\\"'
    return (
        f"something stands after the closing {quote}: a {quote} inside a text is written {escaped}",
        stop.at,
    )


def _no_comma(stop: Stop, found: re.Match[str]) -> Told:
    bracket, sign = found[1], found[2]
    opening = "[" if bracket == "]" else "{"
    is_later = stop.at.line > stop.since.line
    if sign == "<stream end>" or (is_later and _KEY.match(stop.line(stop.at))):
        return f"the {opening} that stands here is not closed: no {bracket} follows", stop.since
    if sign == ":":
        return "a second ': ' stands in one entry: a comma is missing, or quotes around a text", stop.at
    return (
        f"a comma is missing before this, or a {bracket} for the {opening} of line {stop.since.line + 1}",
        stop.at,
    )


def _no_value(stop: Stop, found: re.Match[str]) -> Told:
    if stop.in_brackets and found[1] == "<stream end>" and stop.opened:
        return f"the {stop.rest(stop.opened)[:1]} that stands here is not closed", stop.opened
    if stop.in_brackets:
        return f"a value is missing before this {found[1]}", stop.at
    return _no_start(stop, found)


def _alias(stop: Stop, found: re.Match[str]) -> Told:
    return (
        f"*{found[1]} is an alias, and no &{found[1]} stands above; where it is a text, {_QUOTE_IT}",
        stop.at,
    )


def _anchor_twice(stop: Stop, _: re.Match[str]) -> Told:
    return f"this anchor is given twice, first in line {stop.since.line + 1}", stop.at


def _special(stop: Stop, found: re.Match[str]) -> Told:
    if "directive" in (context := stop.error.context or ""):
        return _DIRECTIVE, stop.at
    if "block scalar" in context:
        return _indicator(stop, found)
    return f"a value that begins with {stop.rest(stop.since)[:1]} is special in YAML: {_QUOTE_IT}", stop.since


def _escape(stop: Stop, _: re.Match[str]) -> Told:
    sign = stop.rest(stop.at)[:1]
    return (
        f"\\{sign} is no escape in a text between double quotes: write \\\\{sign}, or use single quotes",
        stop.at,
    )


def _digits(stop: Stop, found: re.Match[str]) -> Told:
    return f"this escape needs {found[1]} hexadecimal digits: write \\\\ for a backslash", stop.at


def _indicator(stop: Stop, _: re.Match[str]) -> Told:
    sign = stop.rest(stop.since)[:1]
    return (
        f"after {sign} the text begins on the next line; where {sign} is part of a text, {_QUOTE_IT}",
        stop.since,
    )


def _entry(stop: Stop, _: re.Match[str]) -> Told:
    if stop.begins_line():
        return "an entry of a list cannot stand here: check the indentation, and the line above", stop.at
    return f"a list begins on the line after its key; where '- ' is part of a text, {_QUOTE_IT}", stop.at


def _tag(stop: Stop, found: re.Match[str]) -> Told:
    return f"the tag {found[1]} is not taken", stop.at


def _plainly(reason: str) -> Callable[[Stop, re.Match[str]], Told]:
    return lambda stop, _: (reason, stop.at)


# By PyYAML's words, in the order in which they are tried.
_RULES: Sequence[tuple[str, Callable[[Stop, re.Match[str]], Told]]] = (
    (r"found character '(.+)' that cannot start", _no_start),
    (r"found unexpected (end of stream|document separator)", _open_quote),
    (r"mapping values are not allowed", _two_colons),
    (r"could not find expected ':'", _no_colon),
    (r"expected <block end>, but found '(.+)'", _no_end),
    (r"expected ',' or '([\]}])', but got '(.+)'", _no_comma),
    (r"expected the node content, but found '(.+)'", _no_value),
    (r"found undefined alias '(.+)'", _alias),
    (r"second occurrence", _anchor_twice),
    (r"found unknown escape character", _escape),
    (r"expected escape sequence of (\d) hexadecimal", _digits),
    (r"sequence entries are not allowed", _entry),
    (r"but found another document", _plainly("a second document begins here: one file holds one document")),
    (
        r"expected '<document start>'",
        _plainly("this stands after the end of the document: check the line above"),
    ),
    (r"found unhashable key", _plainly("a key must be a text")),
    (r"could not determine a constructor for the tag '(.+)'", _tag),
    (r"expected a mapping.* for merging", _plainly("<< merges mappings")),
    (r"found (incompatible|duplicate) YAML", _plainly(_DIRECTIVE)),
    (r"(expected|found) ", _special),
)


def spaceless(text: str) -> str:
    """Say what a text may mean that is a key without a space after its colon; "" where it is none."""
    found = _SPACELESS.match(text)
    return f"a space is missing after the colon: {found[1]}: {shortened(found[2])}" if found else ""


class YamlFault(ValueError):
    """Why a text is not acceptable YAML, and on which line and column, counted from 1."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason if line is None else f"{reason} (at line {line})")
        self.reason = reason
        self.line = line
        self.column = column


MOST_ALIASES = 100  # where any are taken
MOST_NODES = 20_000

_DEEPEST = 100
_TOO_DEEP = "nested too deeply"


_TOLD = (yaml.ScalarToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken, yaml.AliasToken)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Refuses keys that are given twice, depth, and aliases, of which few lines can make very much."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.last: Any = None  # token with a value or bracket, to tell what stands before a fault

    def get_token(self) -> Any:
        token = super().get_token()
        if isinstance(token, _TOLD):
            self.last = token
        return token

    def fetch_flow_collection_start(self, token: Any) -> None:
        self._check_depth()
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        self._check_depth()
        return bool(super().add_indent(column))

    def _check_depth(self) -> None:
        """Count while scanning: before it parses, a scanner takes long over what is deep."""
        if self.flow_level + len(self.indents) > _DEEPEST:
            raise yaml.MarkedYAMLError(problem=_TOO_DEEP, problem_mark=self.get_mark())

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self._check_alias()
        return super().compose_node(parent, index)

    def _check_alias(self) -> None:
        raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=self.peek_event().start_mark)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  as the loader's
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := next((key for place, key in enumerate(keys) if key in keys[:place]), None):
            raise yaml.MarkedYAMLError(
                problem=f"the key {twice!r} is given twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep)


class _Composer(_Loader):
    """Takes some aliases, and not too many nodes."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._aliases = self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        if self._nodes > MOST_NODES:
            self._refuse(f"it has more than {MOST_NODES:,} values")
        return super().compose_node(parent, index)

    def _check_alias(self) -> None:
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            self._refuse(f"it has more than {MOST_ALIASES} aliases")

    def _refuse(self, problem: str) -> None:
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.peek_event().start_mark)


def loads(text: str) -> Any:
    """Decode one document or raise YamlFault."""
    return _done(text, _Loader, "get_single_data")


def compose(text: str) -> Any:
    """Compose the nodes of one document, None of an empty one, or raise YamlFault."""
    return _done(text, _Composer, "get_single_node")


def _done(text: str, loader: type[_Loader], what: str) -> Any:
    reader = None
    try:
        reader = loader(text)
        return getattr(reader, what)()
    except yaml.MarkedYAMLError as error:
        reason, mark = explained(_stop(error, reader, text))
        place = (mark.line + 1, mark.column + 1) if mark else ()
        raise YamlFault(reason, *place) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlFault(f"the character U+{error.character:04X} may not stand in YAML", line) from None
    except yaml.YAMLError as error:
        raise YamlFault(" ".join(str(error).split())) from None
    except RecursionError:
        raise YamlFault(_TOO_DEEP) from None
    except ValueError as error:  # a date or a number that is none
        raise YamlFault(f"a value cannot be read, {error}: put it in quotes") from None


def _stop(error: yaml.MarkedYAMLError, reader: Any, text: str) -> Stop:
    return Stop(
        error=error,
        lines=text.splitlines(),
        last=reader and reader.last,
        opened=reader.marks[-1] if reader and reader.marks else None,
        in_brackets=reader is not None and reader.flow_level > 0,
    )
