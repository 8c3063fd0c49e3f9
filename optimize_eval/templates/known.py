"""Whether the filters and tests of a template are there, and it loads nothing."""

from difflib import get_close_matches
from typing import Any

from jinja2 import nodes

from optimize_eval.templates.fault import TemplateFault

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
