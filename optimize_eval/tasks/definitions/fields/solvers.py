"""The fields of solvers: how a sample becomes a conversation."""

from collections.abc import Mapping

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule
from optimize_eval.tasks.definitions.fields.entities import ByType, Entity, Field, field, type_field
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot
from optimize_eval.tasks.definitions.fields.snippets import Snippet
from optimize_eval.tasks.definitions.fields.templates import MESSAGE, SOLVER, Template
from optimize_eval.tasks.definitions.fields.values import Boolean, Column, ListOf, Number, OneOf, Text

ROLES = ("system", "user", "assistant")

_ROLE = OneOf(choices=ROLES)
_FORMAT = field("message_format", Text(least=1), None)  # theirs, of what is sent: ours is one for all


@frozen
class Content:
    """What a message says."""

    template: Template

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        if spot.node.kind is Kind.LIST:
            reason = "images and other parts of a message are not supported: its content is a text"
            context.wrong(Rule.NOT_SUPPORTED, spot.path, spot.mark, reason)
            return NOT_KNOWN
        return self.template.read(spot, context)


_STOP = field(
    "terminate_if",
    Entity(
        noun="terminate_if",
        fields=(field("includes", Text(least=1)), field("keep_iteration", Boolean(), default=True)),
    ),
    None,
)


def _said(template: Template) -> tuple[Field, Field]:
    return field("role", _ROLE), field("content", Content(template=template))


_INPUT_MESSAGE = Entity(noun="a message", fields=_said(Template(names=SOLVER)))
_EXTRA_MESSAGE = Entity(
    noun="a message",
    fields=(field("type", OneOf(choices=("chat_message",)), None), *_said(Template(names=MESSAGE))),
)
INPUT_BUILDER = ByType(
    noun="an input builder",
    entities={
        "generic": Entity(
            noun="a generic input builder",
            fields=(type_field(), field("template", Template(names=SOLVER, least=1))),
        ),
        "chat_completion": Entity(
            noun="a chat_completion input builder",
            fields=(type_field(), field("input_messages", ListOf(what=_INPUT_MESSAGE, least=1))),
        ),
    },
)

_BUILDERS: dict[str, Entity] = {
    "chat_message": Entity(
        noun="a chat_message", fields=(type_field(), *_said(Template(names=MESSAGE)), _STOP)
    ),
    "generate": Entity(noun="generate", fields=(type_field(), _STOP)),
    "generate_message": Entity(
        noun="generate_message",
        fields=(
            type_field(),
            field("model_key", Text(least=1)),
            field("extra_input_messages", ListOf(what=_EXTRA_MESSAGE, least=1)),
            field("output_role", _ROLE, "assistant"),
            field("include_conversation", Boolean(), default=True),
            _STOP,
        ),
    ),
}
MESSAGE_BUILDER = ByType(noun="a message builder", entities=_BUILDERS, not_built=("load_trace",))
_LOOP = Entity(
    noun="a loop",
    fields=(
        type_field(),
        field("message_builders", ListOf(what=MESSAGE_BUILDER, least=1)),
        field("max_iterations", Number(is_whole=True, least=0), 10),
        field("on_max_iterations", OneOf(choices=("error", "continue")), "error"),
    ),
)
_BUILDERS["loop"] = _LOOP  # which may be in a loop

_ENTITIES: Mapping[str, Entity] = {
    "single_turn_solver": Entity(
        noun="a single_turn_solver",
        fields=(type_field(), field("input_builder", INPUT_BUILDER), _FORMAT),
        not_built=("postprocessor", "trials"),
    ),
    "multi_turn_solver": Entity(
        noun="a multi_turn_solver",
        fields=(type_field(), field("message_builders", ListOf(what=MESSAGE_BUILDER, least=1)), _FORMAT),
        not_built=("postprocessor", "trials"),
    ),
    "pass_through_solver": Entity(
        noun="a pass_through_solver",
        fields=(type_field(), field("trace_column", Column(is_needed=True)), _FORMAT),
        not_built=("postprocessor", "trials"),
    ),
    "python": Entity(
        noun="a python solver",
        fields=(
            type_field(),
            field(
                "run_solver_snippet",
                Snippet(function="run_solver", arguments=(("sample", "model", "trace"),), is_async=True),
            ),
        ),
        not_built=("postprocessor", "trials"),
    ),
}
SOLVER_OF_TASK = ByType(noun="a solver", entities=_ENTITIES, not_built=("grouped_single_turn_solver",))
