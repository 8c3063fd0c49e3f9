"""Which templates may be rendered in our own process: time and room that they take go with their fields.

A template says what it does before it is compiled, which would already work out its constants. Loops,
assignments, calls and whatever takes a width or repeats a text may take any time: such a template is
rendered by the host. What only grows a little (as JSON in JSON does) may be done three times.
"""

from jinja2 import nodes

_NODES = frozenset(
    {
        *("Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "Slice"),
        *("List", "Dict", "Pair", "Keyword", "If", "CondExpr", "Compare", "Operand"),
        *("And", "Or", "Not", "Neg", "Pos", "Add", "Sub", "Div", "FloorDiv", "Concat", "Filter", "Test"),
    }
)
_FILTERS = frozenset(
    {
        *("abs", "capitalize", "count", "d", "default", "first", "float", "int", "last", "length", "lower"),
        *("max", "min", "reverse", "round", "sort", "string", "sum", "title", "trim", "unique", "upper"),
    }
)
_GROWING = frozenset({"e", "escape", "json", "tojson"})
_TESTS = frozenset(
    {
        *("boolean", "defined", "eq", "equalto", "even", "false", "ge", "gt", "in", "integer", "float"),
        *("iterable", "le", "lower", "lt", "mapping", "ne", "none", "number", "odd", "sequence", "string"),
        *("true", "undefined", "upper", "==", "!=", ">", ">=", "<", "<="),
    }
)
_MOST_GROWING = 3
_LARGEST_FACTOR, _LARGEST_EXPONENT = 1_000_000, 16
_MOST_NODES = 10_000


def is_bounded(tree: nodes.Template) -> bool:
    """Return True if nothing in a parsed template can take long or grow large."""
    every = [tree, *tree.find_all(nodes.Node)]
    growing = sum(isinstance(node, nodes.Filter) and node.name in _GROWING for node in every)
    return len(every) <= _MOST_NODES and growing <= _MOST_GROWING and all(map(_is_bounded, every))


def _is_bounded(node: nodes.Node) -> bool:
    match node:
        case nodes.Name():
            return node.ctx == "load"
        case nodes.Filter():
            return node.name in _FILTERS or (node.name in _GROWING and not (node.args or node.kwargs))
        case nodes.Test():
            return node.name in _TESTS
        case nodes.Mul():
            return _is_small(node.left, _LARGEST_FACTOR) and _is_small(node.right, _LARGEST_FACTOR)
        case nodes.Pow():
            return _is_small(node.left, _LARGEST_FACTOR) and _is_small(node.right, _LARGEST_EXPONENT)
    return type(node).__name__ in _NODES


def _is_small(node: nodes.Node, most: int) -> bool:
    if not isinstance(node, nodes.Const) or isinstance(node.value, bool):
        return False
    return isinstance(node.value, int | float) and abs(node.value) <= most
