"""YAML read as data alone, with a reason and a place for every error; a key given twice is one.

`loads` makes values of it, and takes no aliases. `compose` makes nodes, each with its place, for those who
check more than a value; keys that are given twice are theirs to find.
"""

from typing import Any

import yaml

from optimize_eval.reading.yaml_stop import Stop
from optimize_eval.reading.yaml_words import explained


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
