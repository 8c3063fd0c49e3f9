"""Who proposes: a program, a URL, a language model or a Python callable, each behind the same two methods.

`parse_proposer` reads what `--proposer` takes; connecting is done where a search begins.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Protocol

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.evaluators.kinds import given_name, identify, parse_evaluator, speak
from optimize_eval.models.chat import ChatSpec
from optimize_eval.search.proposals import CONTRACT, Proposal, ProposalRequest, proposal_of

TIMEOUT = 300.0  # seconds

_EVALUATORS = ("@", "judge:", "task:")

PlainProposer = Callable[[JsonDict], Any]


class Proposer(Protocol):
    """Proposes; safe to call from several threads."""

    @property
    def name(self) -> str: ...

    def propose(self, request: ProposalRequest, deadline: float) -> Proposal:
        """Reply before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...

    def close(self) -> None: ...


@frozen
class ProposerSpec:
    """A proposer as plain data: a program or URL, a model, or a callable; `identity` tells it from others."""

    name: str
    identity: str
    program: EvaluatorSpec | None = None
    model: ChatSpec | None = None
    manners: Manners | None = None  # with a model's server
    plain: PlainProposer | None = None
    timeout: float = TIMEOUT


def parse_proposer(text: str, defaults: EvaluatorSpec) -> ProposerSpec:
    """Read `[NAME=]COMMAND` or `[NAME=]URL`."""
    name = given_name(text)
    if (text if name is None else text[len(name) + 1 :]).strip().startswith(_EVALUATORS):
        raise UsageError(
            f"--proposer {text!r} is an evaluator, not a proposer",
            hint="name a command or a URL; a language model: --reflection-model PROVIDER/MODEL",
        )
    spec = parse_evaluator(text, replace(defaults, target=None))
    return ProposerSpec(name=spec.name, identity=identify(spec).sha256, program=spec, timeout=spec.timeout)


def reflection_proposer(
    spec: ChatSpec, timeout: float = TIMEOUT, manners: Manners | None = None
) -> ProposerSpec:
    """Describe a language model that proposes; a missing provider is an error where it is connected."""
    # searches that are written down know it by this text, in which its class has another name
    said = repr(spec).replace(type(spec).__name__, "ModelSpec", 1)
    identity = sha256(said.encode()).hexdigest()
    return ProposerSpec(name=spec.name, identity=identity, model=spec, timeout=timeout, manners=manners)


def plain_proposer(propose: PlainProposer) -> ProposerSpec:
    """Describe a Python callable that is given what a program would be sent."""
    name = getattr(propose, "__name__", type(propose).__name__)
    return ProposerSpec(name=name, identity=f"callable {name}", plain=propose)


def connect_proposer(spec: ProposerSpec) -> Proposer:
    """Make a live proposer."""
    if spec.plain:
        return CallableProposer(spec.name, spec.plain)
    if spec.model:
        from optimize_eval.search.reflection import Reflection  # noqa: PLC0415  programs need no model

        return Reflection(spec.model, spec.manners or Manners())
    if spec.program is None:
        raise UsageError(f"the proposer {spec.name} is neither a program nor a model nor a callable")
    return ProgramProposer(spec.program)


class ProgramProposer:
    """A program, or one behind a URL."""

    def __init__(self, spec: EvaluatorSpec) -> None:
        self.name = spec.name
        program = speak(spec, CONTRACT)
        self._call: Callable[[ProposalRequest, float], Proposal] = program.call
        self.close: Callable[[], None] = program.close

    def propose(self, request: ProposalRequest, deadline: float) -> Proposal:
        return self._call(request, deadline)


class CallableProposer:
    """A Python callable: given a dict, it returns a text, a dict of texts, or {"candidate": …}."""

    def __init__(self, name: str, propose: PlainProposer) -> None:
        self.name = name
        self._propose = propose

    def propose(self, request: ProposalRequest, _deadline: float) -> Proposal:
        try:
            reply = self._propose(request.to_dict())
        except EvaluationError:
            raise
        except Exception as error:
            raise EvaluationError(
                FailureKind.REPORTED, f"{self.name} raised {type(error).__name__}: {error}"
            ) from error
        is_parts = isinstance(reply, Mapping) and not reply.keys() & {"candidate", "error", "skip"}
        return proposal_of({"candidate": dict(reply)} if is_parts else reply)

    def close(self) -> None:
        """Nothing was started."""
