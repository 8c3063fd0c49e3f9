"""Code and templates in task files: compiled or parsed, held against what they are given, never run."""

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.templates.fault import TemplateFault
from optimize_eval.tasks.templates.template import code_length, places_within, task_template_of
from optimize_eval.tasks.yaml.fields import Text, bad_type
from optimize_eval.tasks.yaml_problems import NOT_KNOWN, Context, Mark, NotKnown, Rule, Spot, meant

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
        tree = _compile(code, spot, context)
        if tree is not None:
            self._check(tree, spot, context)
        return NOT_KNOWN if len(context.problems) > before or spot.node.is_partial else code

    def _check(self, tree: ast.Module, spot: Spot, context: Context) -> None:
        ways = [*([self.of_output] if self.of_output and context.has_output else []), *self.arguments]
        wanted = " or ".join(f"{self.function}({', '.join(way)})" for way in ways)
        kind = "async def" if self.is_async else "def"
        if not _is_named(tree, self.function):
            defined = [statement.name for statement in tree.body if isinstance(statement, Function)]
            close = get_close_matches(self.function, defined, n=1)
            beside = f", this defines {close[0]}" if close else ""
            context.wrong(Rule.BAD_SNIPPET, spot.path, spot.mark, f"must define {kind} {wanted}{beside}")
        for function in _functions(tree, self.function):
            mark = _at(spot, function.lineno, function.col_offset + 1)
            if not any(_takes(function.args, len(way)) for way in ways):
                context.wrong(Rule.BAD_SNIPPET, spot.path, mark, f"cannot be called as {wanted}")
            elif self.is_async and not isinstance(function, ast.AsyncFunctionDef):
                context.wrong(Rule.BAD_SNIPPET, spot.path, mark, f"must be async def {self.function}")


def _compile(code: str, spot: Spot, context: Context) -> ast.Module | None:
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
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _functions(tree: ast.Module, name: str) -> list[Function]:
    """Find the function, the last one where there are several."""
    found = [
        statement
        for statement in _statements(tree.body)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name
    ]
    return found[-1:]


def _is_named(tree: ast.Module, name: str) -> bool:
    """Return True if the module has such a name, however it came by it."""
    return any(name in _names(statement) for statement in _statements(tree.body))


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


SOLVER = ("sample", "candidate")
MESSAGE = (*SOLVER, "messages", "loop_index")
SCORER = ("sample",)
ACTION = ("sample", "scores")
ROW = None  # any: a dataset's columns

_OF_OUTPUT = (  # what there is besides in a task with a solver
    "solver_output",
    "model_output",
    "model_outputs",
    "messages",
    "input_prompt",
    "trace",
)
_MORE: Mapping[Sequence[str], Sequence[str]] = {SCORER: _OF_OUTPUT, ACTION: ("solver_output",)}


@frozen
class Template:
    """A text with {{ }} in it, which may name these."""

    names: Sequence[str] | None
    least: int = 0

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        text = Text(least=self.least).read(spot, context)
        return text if isinstance(text, NotKnown) else self._check_names(text, spot, context)

    def _check_names(self, text: str, spot: Spot, context: Context) -> str | NotKnown:
        if not _has_room(text, spot, context):
            return NOT_KNOWN
        try:
            template = task_template_of(text)
        except TemplateFault as fault:
            if context.names_placeholder(fault.reason):
                return NOT_KNOWN  # it may be an operator or a filter: its value will tell
            context.wrong(Rule.BAD_TEMPLATE, spot.path, spot.node.at(fault.line), fault.reason)
            return NOT_KNOWN
        lines = template.lines
        unknown = [] if self.names is ROW else [name for name in lines if name not in self._names_in(context)]
        for name in unknown:
            context.wrong(
                Rule.BAD_TEMPLATE, spot.path, spot.node.at(lines[name]), self._reason(name, context)
            )
        if self.names is not ROW and "sample" in lines:
            is_needed = template.is_names and self.names is not ACTION
            for (column, *_), line in places_within(text, "sample"):
                context.names_column(column, spot.path, spot.node.at(line), is_needed=is_needed)
        return NOT_KNOWN if unknown or spot.node.is_partial else text

    def _names_in(self, context: Context) -> Sequence[str]:
        more = self._of_output if context.has_output else ()
        return (*(self.names or ()), *more, *context.placeholders)

    @property
    def _of_output(self) -> Sequence[str]:
        return _MORE.get(self.names or (), ())

    def _reason(self, name: str, context: Context) -> str:
        if name == "config":
            return "parameters are written << config.NAME >>, not {{ config.NAME }}"
        if name in self._of_output:
            return f"there is no {name} here: the task has no solver"
        known = [entry for entry in self._names_in(context) if entry not in context.placeholders]
        return f"there is no {name!r} here{meant(name, known)}"


@frozen
class ListText:
    """A text that becomes a list: a template, or the list itself as JSON or Python have it."""

    template: Template

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        text = self.template.read(spot, context)
        if isinstance(text, str) and not text.lstrip().startswith(("[", "(", "{")):
            return bad_type(spot, context, "a list, or a template of one")
        return text


def _has_room(text: str, spot: Spot, context: Context) -> bool:
    had_any = context.room_for_code >= 0
    context.room_for_code -= code_length(text)
    if had_any and context.room_for_code < 0:
        reason = "with this the task's templates have more than 50,000 letters between braces"
        context.wrong(Rule.BAD_TEMPLATE, spot.path, spot.mark, reason)
    return context.room_for_code >= 0
