"""Templates in solvers: each parsed once, rendered for each sample."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from optimize_eval.tasks.definitions.solve.calling import failed
from optimize_eval.tasks.definitions.solve.parts import (
    Builder,
    ChatCompletion,
    ChatMessage,
    Generate,
    GenerateMessage,
    Generic,
    Loop,
    MultiTurn,
    PassThrough,
    PythonSolver,
    Said,
    SingleTurn,
    Solver,
)
from optimize_eval.templates.fault import RULE, TemplateFault
from optimize_eval.templates.template import Template, task_template_of

CANDIDATE = "candidate"


def rendered(text: str, fields: Mapping[str, Any]) -> str:
    """Render a text of a task; raises EvaluationError."""
    try:
        return parsed(text).render(fields)
    except TemplateFault as fault:
        raise failed(f"{RULE}: {fault.reason}") from None


@lru_cache(4096)
def parsed(text: str) -> Template:
    """Parse a text of a task, or raise TemplateFault."""
    return task_template_of(text)


def rendered_all(messages: Sequence[Said], fields: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"role": one.role, "content": rendered(one.content, fields)} for one in messages]


def names_candidate(solver: Solver) -> bool:
    """Return True if any of a solver's templates names the candidate."""
    return any(CANDIDATE in parsed(text).lines for text in texts_of(solver))


def texts_of(solver: Solver) -> Iterator[str]:
    """List the templates of a solver."""
    match solver:
        case SingleTurn(builder=Generic(template=template)):
            yield template
        case SingleTurn(builder=ChatCompletion(messages=messages)):
            yield from (one.content for one in messages)
        case MultiTurn(builders=builders):
            yield from _texts_in(builders)
        case PassThrough() | PythonSolver():
            pass


def _texts_in(builders: Sequence[Builder]) -> Iterator[str]:
    for builder in builders:
        match builder:
            case ChatMessage(said=said):
                yield said.content
            case GenerateMessage(messages=messages):
                yield from (one.content for one in messages)
            case Loop(builders=inner):
                yield from _texts_in(inner)
            case Generate():
                pass
