"""YAML read as data alone, with a reason and a place for every error, in words for those who wrote it.

A parser's words are about itself, so none of them is handed on. What people get wrong most often has words of
its own: a tab, an open quote or bracket, a missing colon, a key given twice. All else is one sentence with
the lines that it is about.

`loads` makes values of it, and takes no aliases. `compose` makes nodes, each with its place, for those who
check more than a value; keys that are given twice are theirs to find.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import yaml

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.frozen import frozen

_LONGEST = 60
_NO_YAML = "this is not YAML here"
_KEY = re.compile(r"\s*(?:- +)*[^\s#'\"\[{&*!|>%@`-][^:]*:(?:\s|$)")
_SPACELESS = re.compile(r"\s*(?:- +)*([\w.$-]+):([^\s/:].*)")

Explained = tuple[str, Any]  # the reason, and the mark of what it is about


@frozen
class Stop:
    """Where a parser stopped, and what it had read."""

    error: yaml.MarkedYAMLError
    lines: Sequence[str]
    last: Any = None  # the last token that is a text
    opened: Any = None  # the mark of the innermost collection that is still open

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


def explained(stop: Stop) -> Explained:
    """Say what is wrong, and where that is."""
    if type(stop.error) is yaml.MarkedYAMLError:  # of our own loader
        return str(stop.error.problem), stop.at
    if stop.at is None:
        return _NO_YAML, None
    rules = (_tab, _open_quote, _open_bracket, _no_colon)
    return next((said for rule in rules if (said := rule(stop))), (_no_yaml(stop), stop.at))


def _tab(stop: Stop) -> Explained | None:
    line, at = stop.line(stop.at), stop.at
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        mark = yaml.Mark(at.name, 0, at.line, indentation.index("\t"), None, None)
        return "this line is indented with a tab: YAML takes spaces only", mark
    if stop.rest(at).startswith("\t") and line[: at.column].strip():
        return "a tab stands before the value: write a space", at
    return None


def _open_quote(stop: Stop) -> Explained | None:
    """Find a quote that nothing closes, or that closes at the next text's quote some lines below."""
    problem, text = str(stop.error.problem), stop.last
    if "unexpected end of stream" in problem or "unexpected document separator" in problem:
        quote = stop.rest(stop.since)[:1]
        return f"the text that begins here with {quote} has no closing {quote}", stop.since
    if text and text.style in {"'", '"'} and text.start_mark.line < text.end_mark.line == stop.at.line:
        reason = (
            f"the text that begins here with {text.style} ends in line {text.end_mark.line + 1}, where "
            f"something follows: is a closing {text.style} missing?"
        )
        return reason, text.start_mark
    return None


def _open_bracket(stop: Stop) -> Explained | None:
    opening = stop.rest(stop.opened)[:1] if stop.opened else ""
    if opening not in {"[", "{"}:
        return None
    is_at_key = stop.at.line > stop.opened.line and _KEY.match(stop.line(stop.at))
    if is_at_key or stop.at.line >= len(stop.lines):
        return f"the {opening} that stands here is not closed", stop.opened
    return None


def _no_colon(stop: Stop) -> Explained | None:
    text = stop.rest(stop.since)
    if "expected ':'" not in str(stop.error.problem) or text.startswith("-"):
        return None
    reason = (
        "this line has no colon after its key; a text that goes on from the line above is indented more than "
        "its key"
    )
    return spaceless(text) or reason, stop.since


def spaceless(text: str) -> str:
    """Say what a text may mean that is a key without a space after its colon; "" where it is none."""
    key = _SPACELESS.match(text)
    return f"a space is missing after the colon: {key[1]}: {_shorten(key[2])}" if key else ""


def _no_yaml(stop: Stop) -> str:
    """Show the line where reading ended, and the one above, which is often to blame."""
    above = next((line for line in reversed(stop.lines[: stop.at.line]) if line.strip()), "")
    here = stop.line(stop.at)
    lines = " below ".join(f"`{_shorten(line)}`" for line in (here, above) if line.strip())
    return f"{_NO_YAML}: {lines}; check quotes, brackets, colons and the indentation"


def _shorten(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class YamlFault(ValueError):
    """Why a text is not acceptable YAML, and on which line and column, counted from 1."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        at = "" if line is None else f" (at line {line}, column {column})" if column else f" (at line {line})"
        super().__init__(reason + at)
        self.reason = reason
        self.line = line
        self.column = column


MOST_ALIASES = 100  # where any are taken
MOST_NODES = 20_000

_DEEPEST = 100
_TOO_DEEP = "nested too deeply"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Refuses keys that are given twice, depth, and aliases, of which few lines can make very much."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.last: Any = None

    def get_token(self) -> Any:
        token = super().get_token()
        if isinstance(token, yaml.ScalarToken):
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
        if twice := next((key for index, key in enumerate(keys) if key in keys[:index]), None):
            raise yaml.MarkedYAMLError(
                problem=f"the key {twice!r} is given twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep)


class OtherTools(_Loader):
    """Reads plain values as YAML 1.2 does, which most tools take: `yes`, 12:30 and 2024-05-01 are texts."""

    yaml_implicit_resolvers: ClassVar[JsonDict] = {}

    def construct_yaml_int(self, node: Any) -> int:
        text = node.value.lower()
        return int(text, 0) if text.lstrip("+-").startswith(("0x", "0o")) else int(text)


_PLAIN_VALUES = (  # what a plain value is, by its pattern and its first letters
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", r"<<", "<"),
)
for _name, _pattern, _first in _PLAIN_VALUES:
    OtherTools.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(f"(?:{_pattern})\\Z"), [*_first]
    )
OtherTools.add_constructor("tag:yaml.org,2002:int", OtherTools.construct_yaml_int)


class Code(str):
    """What a tag names that stands for code; nobody runs it."""

    __slots__ = ()


class WithCode(_Loader):
    """Takes lm-eval's tag of a function, as its name."""

    def construct_code(self, node: Any) -> Code:
        return Code(self.construct_scalar(node))


WithCode.add_constructor("!function", WithCode.construct_code)


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


def loads(text: str, loader: type[_Loader] = _Loader) -> Any:
    """Decode one document or raise YamlFault."""
    return _load_or_explain(text, loader, "get_single_data")


def compose(text: str) -> Any:
    """Compose the nodes of one document, None of an empty one, or raise YamlFault."""
    return _load_or_explain(text, _Composer, "get_single_node")


def _load_or_explain(text: str, loader: type[_Loader], what: str) -> Any:
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
    except yaml.YAMLError:
        raise YamlFault(_NO_YAML) from None
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
    )
