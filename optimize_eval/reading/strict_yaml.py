"""YAML read as data alone, with a reason and a place for every error; a key given twice is one."""

from typing import Any

import yaml


class YamlFault(ValueError):
    """Why a text is not acceptable YAML, and on which line, counted from 1."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"{reason} (at line {line})")
        self.reason = reason
        self.line = line


_DEEPEST = 100
_TOO_DEEP = "nested too deeply"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Refuses keys that are given twice, depth, and aliases, of which few lines can make very much."""

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
            raise yaml.MarkedYAMLError(
                problem="aliases are not taken", problem_mark=self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  as the loader's
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if twice := next((key for place, key in enumerate(keys) if key in keys[:place]), None):
            raise yaml.MarkedYAMLError(
                problem=f"the key {twice!r} is given twice", problem_mark=node.start_mark
            )
        return super().construct_mapping(node, deep)


def loads(text: str) -> Any:
    """Decode one document or raise YamlFault."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506  a SafeLoader, but for what it refuses
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlFault(error.problem or "not YAML", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise YamlFault(" ".join(str(error).split())) from None
    except RecursionError:
        raise YamlFault(_TOO_DEEP) from None
    except ValueError as error:  # a date or a number that is none
        raise YamlFault(str(error)) from None
