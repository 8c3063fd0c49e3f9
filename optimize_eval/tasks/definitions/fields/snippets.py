"""Code in task files: compiled, never run; its function is there, and takes what it is called with."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.nodes import Mark, Spot
from optimize_eval.tasks.definitions.fields.values import Text

MOST = 1 << 18  # letters, which take a second to compile

Function = ast.FunctionDef | ast.AsyncFunctionDef


@frozen
class Snippet:
    """Python that defines a function."""

    function: str
    arguments: Sequence[Sequence[str]]  # each way in which it is called
    of_output: Sequence[str] = ()  # another way, where there is something to score
    is_async: bool = False

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        code = Text(least=1).read(spot, context)
        if isinstance(code, NotKnown):
            return NOT_KNOWN
        before = len(context.problems)
        tree = _compiled(code, spot, context)
        if tree is not None:
            self._check(tree, spot, context)
        return NOT_KNOWN if len(context.problems) > before or spot.node.is_partial else code

    def _check(self, tree: ast.Module, spot: Spot, context: Context) -> None:
        ways = [*([self.of_output] if self.of_output and context.has_output else []), *self.arguments]
        wanted = " or ".join(f"{self.function}({', '.join(way)})" for way in ways)
        kind = "async def" if self.is_async else "def"
        if not _is_named(tree, self.function):
            defined = [one.name for one in tree.body if isinstance(one, Function)]
            close = get_close_matches(self.function, defined, n=1)
            beside = f", this defines {close[0]}" if close else ""
            context.wrong(Rule.BAD_SNIPPET, spot.path, spot.mark, f"must define {kind} {wanted}{beside}")
        for found in _functions(tree, self.function):
            mark = _at(spot, found.lineno, found.col_offset + 1)
            if not any(_takes(found.args, len(way)) for way in ways):
                context.wrong(Rule.BAD_SNIPPET, spot.path, mark, f"cannot be called as {wanted}")
            elif self.is_async and not isinstance(found, ast.AsyncFunctionDef):
                context.wrong(Rule.BAD_SNIPPET, spot.path, mark, f"must be async def {self.function}")


def _compiled(code: str, spot: Spot, context: Context) -> ast.Module | None:
    """Compile code without a word about what it warns of."""
    if len(code) > MOST:
        context.wrong(
            Rule.BAD_SNIPPET, spot.path, spot.mark, f"code of more than {MOST:,} letters is not taken"
        )
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
            compile(tree, "snippet", "exec", dont_inherit=True)
    except SyntaxError as error:
        if context.names_placeholder(error.text or ""):
            return None  # it may be an operator: its value will tell
        mark = _at(spot, error.lineno, error.offset)
        context.wrong(Rule.BAD_SNIPPET, spot.path, mark, f"not Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        context.wrong(Rule.BAD_SNIPPET, spot.path, spot.mark, f"not Python: {reason}")
    else:
        return tree
    return None


def _at(spot: Spot, line: int | None, column: int | None) -> Mark:
    mark = spot.node.at(line)
    if mark is spot.mark or mark.column is None or column is None:
        return mark
    return Mark(path=mark.path, line=mark.line, column=mark.column + column - 1)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """List what a module does when it is loaded, also under `if` and `try`."""
    for one in body:
        yield one
        if isinstance(one, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(one, name, []))
            for handler in getattr(one, "handlers", []):
                yield from _statements(handler.body)


def _functions(tree: ast.Module, name: str) -> list[Function]:
    """Find the function, the last one where there are several."""
    found = [
        one
        for one in _statements(tree.body)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name
    ]
    return found[-1:]


def _is_named(tree: ast.Module, name: str) -> bool:
    """Return True if the module has such a name, however it came by it."""
    return any(name in _names(one) for one in _statements(tree.body))


def _names(one: ast.stmt) -> set[str]:
    match one:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {one.name}
        case ast.Import() | ast.ImportFrom():
            return {alias.asname or alias.name for alias in one.names}
        case ast.Assign():
            return {
                node.id for target in one.targets for node in ast.walk(target) if isinstance(node, ast.Name)
            }
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return {name}
    return set()


def _takes(arguments: ast.arguments, count: int) -> bool:
    """Return True if so many values by position are what it takes."""
    most = len(arguments.posonlyargs) + len(arguments.args)
    least = most - len(arguments.defaults)
    has_keywords = any(default is None for default in arguments.kw_defaults)
    return not has_keywords and least <= count and (count <= most or arguments.vararg is not None)
