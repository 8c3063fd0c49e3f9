"""Whether a template can be read quickly, its filters and tests are there, and it loads nothing."""

import re
from difflib import get_close_matches
from typing import Any

from jinja2 import nodes

from optimize_eval.templates.fault import TemplateFault

_MOST_CODE = 50_000  # letters between braces, which take Jinja more than half a second to read
_OPENS = re.compile(r"\{[{%]")
_LOADING = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


def check_known(tree: nodes.Template, environment: Any) -> None:
    """Raise TemplateFault for the first name that means nothing."""
    for node in tree.find_all((nodes.Filter, nodes.Test, *_LOADING)):
        if not isinstance(node, nodes.Filter | nodes.Test):
            raise TemplateFault("a template takes nothing from other files", line=node.lineno)
        known = environment.filters if isinstance(node, nodes.Filter) else environment.tests
        if node.name not in known:
            what = "filter" if isinstance(node, nodes.Filter) else "test"
            close = get_close_matches(node.name, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise TemplateFault(f"there is no {what} {node.name!r}{hint}", line=node.lineno)


def check_length(text: str) -> None:
    """Raise TemplateFault for a text with more code in it than can be read quickly."""
    if sum(_code_of(part) for part in _OPENS.split(text)[1:]) > _MOST_CODE:
        raise TemplateFault(f"it has more than {_MOST_CODE:,} letters between braces")


def _code_of(part: str) -> int:
    """Count the letters before the braces that close."""
    ends = [end for end in (part.find("}}"), part.find("%}")) if end >= 0]
    return min(ends, default=len(part)) + len("{{}}")
