"""Which names a template takes from outside: what it sets within a loop is gone after the loop, as in Jinja.

Jinja's own way to find them would work out constants of a template, which may be endless. Within one scope
the order does not matter here: a name that is set further down is taken for its own.
"""

from collections.abc import Iterable, Iterator

from jinja2 import nodes
from jinja2.nodes import Name, Node

_Names = frozenset[str]

_LOOP: _Names = frozenset({"loop"})
_OF_MACROS: _Names = frozenset({"caller", "kwargs", "varargs"})
_SCOPES = (nodes.For, nodes.With, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.Scope)


def names_outside(tree: Node) -> Iterator[Name]:
    """Give each place that names what is not the template's own."""
    macros = any(True for _ in tree.find_all(nodes.Macro))
    return _in_scope(tree.iter_child_nodes(), _LOOP | _OF_MACROS if macros else _LOOP)


def _in_scope(inner: Iterable[Node], known: _Names) -> Iterator[Name]:
    every = list(inner)
    known |= frozenset(name for node in every for name in _own(node))
    for node in every:
        yield from _in(node, known)


def _in(node: Node, known: _Names) -> Iterator[Name]:
    match node:
        case Name(name=name, ctx="load"):
            if name not in known:
                yield node
        case nodes.For(target=target, iter=values, body=body, else_=otherwise, test=test):
            yield from _in(values, known)
            yield from _in_scope([target, *body, *filter(None, [test])], known)
            yield from _in_scope(otherwise, known)
        case nodes.CallBlock(call=call, args=args, defaults=defaults, body=body):
            yield from _in(call, known)
            yield from _in_scope([*args, *defaults, *body], known)
        case nodes.AssignBlock(filter=applied, body=body):
            yield from _in_scope([*body, *filter(None, [applied])], known)
        case _ if isinstance(node, _SCOPES):
            yield from _in_scope(node.iter_child_nodes(), known)
        case _:
            for child in node.iter_child_nodes():
                yield from _in(child, known)


def _own(node: Node) -> Iterator[str]:
    """Give the names that are set in this scope, not within a scope of its own."""
    match node:
        case Name(name=name, ctx="store" | "param"):
            yield name
        case nodes.Macro(name=name):
            yield name
        case nodes.AssignBlock(target=target):
            yield from _own(target)
        case _ if not isinstance(node, _SCOPES):
            for child in node.iter_child_nodes():
                yield from _own(child)
