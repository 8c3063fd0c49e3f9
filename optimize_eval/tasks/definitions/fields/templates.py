"""Templates in task files: parsed, and held against the names that there are where they stand."""

from collections.abc import Mapping, Sequence

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.nodes import Spot
from optimize_eval.tasks.definitions.fields.values import Text, bad_type
from optimize_eval.templates.fault import TemplateFault
from optimize_eval.templates.template import code_length, places_within, task_template_of

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
        return text if isinstance(text, NotKnown) else self._checked(text, spot, context)

    def _checked(self, text: str, spot: Spot, context: Context) -> str | NotKnown:
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
        unknown = [] if self.names is ROW else [name for name in lines if name not in self._known(context)]
        for name in unknown:
            context.wrong(
                Rule.BAD_TEMPLATE, spot.path, spot.node.at(lines[name]), self._reason(name, context)
            )
        if self.names is not ROW and "sample" in lines:
            is_needed = template.is_names and self.names is not ACTION
            for (column, *_), line in places_within(text, "sample"):
                context.names_column(column, spot.path, spot.node.at(line), is_needed=is_needed)
        return NOT_KNOWN if unknown or spot.node.is_partial else text

    def _known(self, context: Context) -> Sequence[str]:
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
        known = [one for one in self._known(context) if one not in context.placeholders]
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
