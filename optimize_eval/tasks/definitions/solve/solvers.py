"""A solver solves a sample: single-turn, multi-turn, pass-through, or code of the task.

What goes wrong says whether it was a model's failure (stage "model") or the solver's own ("solver").
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.manners import GivenUp
from optimize_eval.tasks.definitions.snippets import Snippets
from optimize_eval.tasks.definitions.solve.calling import Calls, Models, Reply, checked, failed
from optimize_eval.tasks.definitions.solve.items import ASSISTANT, TraceFault, items_of, messages_of, said
from optimize_eval.tasks.definitions.solve.parts import (
    MOST_TURNS,
    ChatCompletion,
    Generic,
    MultiTurn,
    PassThrough,
    PythonSolver,
    SingleTurn,
    Solver,
)
from optimize_eval.tasks.definitions.solve.texts import CANDIDATE, rendered, rendered_all
from optimize_eval.tasks.definitions.solve.trace import MESSAGE, Item, Trace
from optimize_eval.tasks.definitions.solve.turns import Conversation

STAGE = "solver"

_NO_OPTIONS: Mapping[str, Any] = {}

_RUN = "run_solver"
_HINT = "write values as JSON: {{ sample.question | tojson }}, without quotes around it"


class _Made(NamedTuple):
    items: Sequence[Item]
    completion: Mapping[str, Any] = {}


def solve(
    solver: Solver,
    sample: Mapping[str, Any],
    *,
    models: Models,
    snippets: Snippets,
    deadline: float,
    candidate: str | None = None,
    known_as: str = "",
    repeat: int = 1,
    most_turns: int | None = None,
) -> Trace:
    """Make the trace of a sample, or raise EvaluationError; either says what was spent on models.

    `known_as` is the sample's id, which recorded outputs are found by; `repeat` another reply to the same.
    `most_turns` bounds the calls of models; without it, loops are bounded by what they say, code by a number.
    """
    most = MOST_TURNS if most_turns is None and isinstance(solver, PythonSolver) else most_turns
    calls = Calls(models, deadline, known_as=known_as, repeat=repeat, most=most)
    fields = {"sample": sample} if candidate is None else {"sample": sample, CANDIDATE: candidate}
    try:
        with _staged(), _limited(calls):
            made = _made(solver, fields, calls, snippets, deadline)
            if not isinstance(solver, PassThrough):
                _check_reply(made.items)
    except (EvaluationError, GivenUp) as error:
        error.spent = calls.spent + error.spent
        raise
    return Trace(
        items=made.items,
        completion=made.completion,
        replies=tuple(calls.replies),
        spent=calls.spent,
        facts=calls.facts,
    )


def digest_of(solver: Solver) -> str:
    """Digest all that a solver is."""
    return sha256(repr(solver).encode()).hexdigest()


def _made(
    solver: Solver, fields: Mapping[str, Any], calls: Calls, snippets: Snippets, deadline: float
) -> _Made:
    match solver:
        case SingleTurn(builder=builder):
            return _single(builder, fields, calls)
        case MultiTurn():
            talk = Conversation(fields, calls)
            talk.hold(solver)
            return _Made(talk.items, talk.completion)
        case PassThrough(column=column):
            return _Made(_recorded(column, fields["sample"]))
        case PythonSolver(snippet=snippet):
            return _run(snippet, fields["sample"], calls, snippets, deadline)


def _single(builder: Generic | ChatCompletion, fields: Mapping[str, Any], calls: Calls) -> _Made:
    if isinstance(builder, ChatCompletion):
        messages, options = rendered_all(builder.messages, fields), _NO_OPTIONS
        items = [said(one["role"], one["content"]) for one in messages]
    else:
        messages, options = _input(rendered(builder.template, fields))
        items = _read(messages, "what the input builder makes")
    reply = calls.reply_to(None, messages, options)
    return _Made([*items, *reply.items], reply.completion)


def _input(text: str) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Read what a template of a model's input made."""
    try:
        made: Any = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        near = text[max(0, fault.offset - 20) : fault.offset + 20]
        message = f"the input builder makes no JSON: {fault.reason} at {fault.offset}, near {near!r}"
        raise failed(message, hint=_HINT) from None
    match made:
        case {"messages": [_, *_] as messages}:
            return messages, checked({key: value for key, value in made.items() if key != "messages"})
    raise failed('the input builder makes no object with a list of "messages"', hint=_HINT)


def _recorded(column: str, sample: Mapping[str, Any]) -> list[Item]:
    if column not in sample:
        raise failed(f"the sample has no {column!r}", hint=f"it has {', '.join(map(repr, sample))}")
    return _read(sample[column], f"the conversation in {column!r}")


def _read(value: object, what: str) -> list[Item]:
    try:
        return items_of(value)
    except TraceFault as fault:
        raise failed(f"{what} cannot be read: {fault}") from None


def _run(snippet: str, sample: Mapping[str, Any], calls: Calls, snippets: Snippets, deadline: float) -> _Made:
    last: list[Reply] = []

    def ask(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        options = dict(wanted)
        given = options.pop("items", None)
        messages = options.pop("messages", None)
        sent = messages_of(_read(messages if given is None else given, "what is sent to the model"))
        reply = calls.reply_to(None, sent, checked(options))
        last[:] = [reply]
        return {"text": reply.text, "items": reply.items, "raw_output": reply.completion}

    arguments = {"sample": sample, "model": {}, "trace": {"items": []}}
    returned = snippets.call(snippet, _RUN, arguments, deadline, ask=ask)
    if returned is None:
        raise failed(f"{_RUN} returned nothing", hint="end it with: return trace")
    completion = returned.get("completion") if isinstance(returned, dict) else None
    return _Made(_read(returned, f"what {_RUN} returned"), completion or (last[0].completion if last else {}))


def _check_reply(items: Sequence[Item]) -> None:
    if not any(item["type"] == MESSAGE and item["role"] == ASSISTANT for item in items):
        raise failed("the conversation has no message of the assistant", hint="let the model reply: generate")


@contextmanager
def _limited(calls: Calls) -> Iterator[None]:
    """Let a limit be what ends a solver, also one that catches every failure."""
    try:
        yield
    except GivenUp:
        if calls.limit:
            raise calls.limit from None
        raise


@contextmanager
def _staged() -> Iterator[None]:
    """Let a failure be the solver's where it is no model's."""
    try:
        yield
    except EvaluationError as error:
        if not error.stage:
            error.stage = STAGE
            error.message = f"{STAGE}: {error.message}"
        raise
