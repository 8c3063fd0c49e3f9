"""The proposers of a search: several at once, never twice for what is recorded; useless ones refused.

Empty, cut off, too long, equal to an earlier one, of another form than the candidate, a prompt that cannot be
rendered, or hostile: text that no JSON could carry, or that hides something from who reads it.
"""

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from hashlib import sha256
from types import TracebackType
from typing import Any, Self

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Opened
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import Spent
from optimize_eval.run.host import Stop
from optimize_eval.search.components import ONLY, Texts, is_plain
from optimize_eval.search.proposals import Proposal, ProposalRequest, ProposerReply
from optimize_eval.search.proposers import Proposer, ProposerSpec, connect_proposer
from optimize_eval.search.state import SearchState
from optimize_eval.search.stopping import Meter, Over, Why, cut_off

MOST_FAILURES = 3  # in a row

_LOOK = 0.1  # seconds after which a stop is noticed
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A request, who is to answer it, and what is recorded of that."""

    request: ProposalRequest
    spec: ProposerSpec
    proposer: Proposer
    digest: str
    recorded: JsonMapping | None


class Panel:
    """The proposers, which take turns; live within a `with`."""

    def __init__(self, specs: Sequence[ProposerSpec], state: SearchState, stop: Stop, meter: Meter) -> None:
        self._specs = specs
        self._state = state
        self._stop = stop
        self._meter = meter
        self._opened = Opened(meter.caps)
        self._live: list[Proposer] = []
        self._turns = 0
        self.calls = 0
        self.failures: list[ProposerReply] = []
        self._in_a_row = 0
        self.tokens = 0

    def __enter__(self) -> Self:
        try:
            self._live = [self._opened.keep(partial(connect_proposer, spec)) for spec in self._specs]
        except BaseException:
            self._opened.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposerReply]:
        """Get a reply to each request; raises Over after three failures in a row, or where money is spent."""
        self._meter.check()
        turns = [self._turn(request) for request in requests]
        with ThreadPoolExecutor(len(turns), thread_name_prefix="proposer") as pool:
            replies = self._await([pool.submit(_answer, turn) for turn in turns])
        made = [reply for reply in replies if isinstance(reply, ProposerReply)]
        for turn, reply in zip(turns, replies, strict=True):
            if isinstance(reply, ProposerReply):
                self._note(turn, reply)
        if len(made) < len(replies):
            raise cut_off(self._stop, " while a proposer was called", self._meter)
        return made

    def _await(self, futures: Sequence[Future[ProposerReply | GivenUp]]) -> list[ProposerReply | GivenUp]:
        """Wait for all; a stop whose grace is over ends what proposers do, and nothing of it is recorded."""
        try:
            while wait(futures, _LOOK).not_done and not self._stop.is_over:
                pass
        except BaseException:
            self._opened.close()
            raise
        if self._stop.is_over:
            self._opened.close()
            raise cut_off(self._stop, " while a proposer was called", self._meter)
        return [future.result() for future in futures]

    def _turn(self, request: ProposalRequest) -> _Assignment:
        index = self._turns % len(self._specs)
        self._turns += 1
        spec = self._specs[index]
        digest = hashlib.sha256(spec.identity.encode() + b"\0" + request.line()).hexdigest()
        return _Assignment(request, spec, self._live[index], digest, self._state.reply(digest))

    def _note(self, turn: _Assignment, reply: ProposerReply) -> None:
        self.calls += 1
        self._meter.take(f"proposer {reply.proposer}", reply.usages, is_earlier=reply.is_recorded)
        if not reply.is_recorded:
            self._state.add_reply(turn.digest, _record_of(reply))
        if reply.proposal:
            self._in_a_row = 0
            self.tokens += reply.proposal.tokens or 0
            return
        self.failures.append(reply)
        self._in_a_row += 1
        if self._in_a_row >= MOST_FAILURES:
            raise Over(
                Why.PROPOSER,
                f"the proposer {reply.proposer} failed {MOST_FAILURES} times in a row: {reply.failure}",
            )


def _answer(turn: _Assignment) -> ProposerReply | GivenUp:
    if turn.recorded is not None:
        return _reply_of(turn.spec.name, turn.recorded)
    started = time.monotonic()
    try:
        proposal = turn.proposer.propose(turn.request, started + turn.spec.timeout)
    except EvaluationError as error:
        seconds = time.monotonic() - started
        return ProposerReply(
            proposer=turn.spec.name, failure=_words(error), seconds=seconds, usages=_usages(error.spent)
        )
    except GivenUp as given_up:
        return given_up
    return ProposerReply(
        proposer=turn.spec.name,
        proposal=proposal,
        seconds=time.monotonic() - started,
        usages=_usages(proposal.spent),
    )


def _usages(spent: Spent) -> list[JsonDict]:
    return [usage.to_dict() for usage in spent.usages]


def _words(error: EvaluationError) -> str:
    last = error.detail.strip().splitlines()[-1:]
    return ": ".join([f"{error.kind}: {error.message}", *last])


def _record_of(reply: ProposerReply) -> JsonDict:
    """Write a reply down; a text that UTF-8 cannot hold is kept as what it is refused for."""
    record: JsonDict = {"proposer": reply.proposer, "seconds": round(reply.seconds, 3)}
    record |= {"usage": list(reply.usages)} if reply.usages else {}
    proposal = reply.proposal
    if proposal is None:
        return record | {"failure": reply.failure.encode(errors="replace").decode()}
    record |= {"candidate": _safe(proposal.candidate), "note": _safe(proposal.note)}
    record |= {name: True for name in ("is_cut_off", "is_skip") if getattr(proposal, name)}
    record |= {"unfenced": proposal.unfenced} if proposal.unfenced else {}
    return record | ({} if proposal.tokens is None else {"tokens": proposal.tokens})


def _safe(value: object) -> Any:
    """Let a lone surrogate stand as U+0000, which is refused alike."""
    if isinstance(value, Mapping):
        return {_safe(key): _safe(item) for key, item in value.items()}
    return _SURROGATE.sub("\0", value) if isinstance(value, str) else value


def _reply_of(name: str, record: JsonMapping) -> ProposerReply:
    known: JsonDict = {
        "proposer": name,
        "seconds": float(record.get("seconds", 0.0)),
        "usages": record.get("usage", ()),
        "is_recorded": True,
    }
    if "candidate" not in record:
        return ProposerReply(**known, failure=str(record.get("failure", "")))
    proposal = Proposal(
        candidate=record["candidate"],
        note=str(record.get("note", "")),
        is_cut_off=record.get("is_cut_off") is True,
        is_skip=record.get("is_skip") is True,
        unfenced=int(record.get("unfenced", 0)),
        tokens=record.get("tokens"),
    )
    return ProposerReply(**known, proposal=proposal)


LONGEST = 100_000  # letters, unless the seed is longer than a fourth of that

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0080-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


class Refusal(StrEnum):
    """Why a proposal is not scored."""

    EMPTY = "empty"
    CUT_OFF = "cut_off"
    TOO_LONG = "too_long"
    REPEATED = "repeated"
    HOSTILE = "hostile"
    OTHER_FORM = "other_form"
    SKIPPED = "skipped"
    BAD_TEMPLATE = "bad_template"
    UNFENCED = "unfenced"


WORDS: Mapping[Refusal, str] = {
    Refusal.EMPTY: "empty",
    Refusal.CUT_OFF: "cut off before its end: raise the model's max_tokens",
    Refusal.TOO_LONG: "longer than --max-candidate-chars",
    Refusal.REPEATED: "equal to an earlier one",
    Refusal.HOSTILE: "with control characters or invisible ones that the seed does not have",
    Refusal.OTHER_FORM: "of another form than the candidate",
    Refusal.SKIPPED: "none: the proposer had nothing to propose",
    Refusal.BAD_TEMPLATE: "no prompt that can be sent for every example",
    Refusal.UNFENCED: "not one text between fences, as a refusal of the model is",
}


class Screen:
    """Knows what was seen in this search."""

    def __init__(
        self, seed: Texts, most: int | None = None, fault_of: Callable[[Texts], str] = lambda _texts: ""
    ) -> None:
        """Take the seed, how long a candidate may be, and what else may be wrong with one."""
        self._most = most or max(LONGEST, 4 * sum(map(len, seed.values())))
        self._allowed = {mark for text in seed.values() for mark in _HIDDEN.findall(text)}
        self._seen = {_digest(seed)}
        self._fault_of = fault_of
        self.fault = ""  # what was wrong with the last one, for who proposed it
        self.refused: Counter[Refusal] = Counter()

    @property
    def has_nothing_new(self) -> bool:
        """Return True if nothing was wrong with what was refused: it was there before, or nothing."""
        return self.refused.keys() <= {Refusal.REPEATED, Refusal.SKIPPED}

    def admit(self, proposal: Proposal, parent: Texts) -> Texts | Refusal:
        """Make a new candidate of a proposal, or say why not."""
        texts = _merge(proposal.candidate, parent)
        refusal = _at_once(proposal) or self._refusal(texts)
        if proposal.unfenced:
            self.refused[Refusal.UNFENCED] += proposal.unfenced
        if texts is None or refusal:
            refused = refusal or Refusal.OTHER_FORM
            self.refused[refused] += refused is not Refusal.UNFENCED  # which is counted by replies
            return refused
        self._seen.add(_digest(texts))
        return texts

    def _refusal(self, texts: Texts | None) -> Refusal | None:
        if texts is None:
            return Refusal.OTHER_FORM
        if not any(text.strip() for text in texts.values()):
            return Refusal.EMPTY
        if sum(map(len, texts.values())) > self._most:
            return Refusal.TOO_LONG
        if any(set(_HIDDEN.findall(text)) - self._allowed for text in texts.values()):
            return Refusal.HOSTILE
        if _digest(texts) in self._seen:
            return Refusal.REPEATED
        self.fault = self._fault_of(texts)
        return Refusal.BAD_TEMPLATE if self.fault else None


def _at_once(proposal: Proposal) -> Refusal | None:
    """Refuse what the proposer itself says is no proposal, or not a whole one."""
    if proposal.unfenced > 1:
        return Refusal.UNFENCED
    return Refusal.SKIPPED if proposal.is_skip else Refusal.CUT_OFF if proposal.is_cut_off else None


def _merge(candidate: str | JsonMapping, parent: Texts) -> Texts | None:
    """Put what is proposed into its parent: a text for a text, some or all components for an object."""
    if isinstance(candidate, str):
        return {ONLY: candidate} if is_plain(parent) else None
    fits = not is_plain(parent) and candidate and candidate.keys() <= parent.keys()
    if not fits or not all(isinstance(text, str) for text in candidate.values()):
        return None
    return {**parent, **candidate}


def _digest(texts: Texts) -> bytes:
    """Digest a candidate; space around a text makes it no other one."""
    whole = "\0".join(f"{name}\0{text.strip()}" for name, text in texts.items())
    return sha256(whole.encode(errors="surrogatepass")).digest()
