"""The proposals of GEPA's iterations: requests of what it selected, put to the panel together, and screened.

GEPA swallows what a reflection model raises and goes on with the seed for ever; here failures are
counted, and enough of them end the search. A refused proposal is not a text update, which costs GEPA no
call.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from gepa.proposer.reflective_mutation.reflection_lm import ReflectionJob, ReflectionLM, ReflectionProposal

from optimize_eval.search.components import shown
from optimize_eval.search.ending import Over, OwnError, Why
from optimize_eval.search.evolution.adapter import Label
from optimize_eval.search.plan import SearchPlan
from optimize_eval.search.proposing.panel import Panel
from optimize_eval.search.proposing.proposals import Proposal, ProposalRequest, ProposerReply
from optimize_eval.search.proposing.records import fitted
from optimize_eval.search.proposing.screening import WORDS, Refusal, Screen
from optimize_eval.search.stopping import Brakes

MOST_REFUSED = 10  # in a row
ORIGIN = "optimize-eval:origin"  # the key under which GEPA hands our words on with a proposal


class Reflector:
    """Proposes new texts for GEPA."""

    def __init__(self, plan: SearchPlan, panel: Panel, screen: Screen, brakes: Brakes) -> None:
        self._panel = panel
        self._brakes = brakes
        self._screen = screen
        self._plan = plan
        self._given = deque(plan.others)
        self._refused_in_a_row = 0
        self._fault = ""  # of the last proposal
        self.proposed = 0
        self.admitted = 0

    def reflect(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> tuple[ReflectionProposal, ReflectionLM]:
        return self.reflect_many([(candidate, reflective_dataset, components_to_update)])[0]

    def reflect_many(self, jobs: list[ReflectionJob]) -> list[tuple[ReflectionProposal, ReflectionLM]]:
        """Put all requests of an iteration to the panel at once."""
        given = [self._given.popleft() for _ in jobs[: len(self._given)]]
        replies = [
            ProposerReply(proposer="given", proposal=Proposal(candidate=shown(text))) for text in given
        ]
        try:
            if pending := jobs[len(given) :]:
                replies += self._panel.propose([self._request(*job) for job in pending])
        except Exception as error:
            raise OwnError(error) from error
        return [(self._screened(reply, job[0]), self) for reply, job in zip(replies, jobs, strict=True)]

    def _request(
        self, candidate: dict[str, str], records: Mapping[str, Sequence[Mapping[str, Any]]], names: list[str]
    ) -> ProposalRequest:
        return ProposalRequest(
            texts={str(name): text for name, text in candidate.items()},
            components=tuple(map(str, names)) if len(candidate) > 1 else (),
            objective=self._plan.objective,
            background=self._plan.background,
            records=fitted(records[names[0]]),
            refused=self._fault,
        )

    def _screened(self, reply: ProposerReply, parent: Mapping[str, str]) -> ReflectionProposal:
        if reply.proposal is None:
            return ReflectionProposal(new_texts={})
        self.proposed += 1
        self._brakes.count_request()
        before = {str(name): text for name, text in parent.items()}
        texts = self._screen.admit(reply.proposal, before)
        self._fault = self._screen.fault if texts is Refusal.BAD_TEMPLATE else ""
        if isinstance(texts, Refusal):
            self._refuse(texts)
            return ReflectionProposal(new_texts={})
        self._refused_in_a_row = 0
        self.admitted += 1
        changed: dict[str, str] = {Label(name): text for name, text in texts.items() if text != before[name]}
        return ReflectionProposal(new_texts=changed, metadata={ORIGIN: (reply.proposer, reply.proposal.note)})

    def _refuse(self, refusal: Refusal) -> None:
        self._refused_in_a_row += 1
        if self._refused_in_a_row >= MOST_REFUSED:
            raise Over(
                Why.NO_NEW_TEXT,
                f"{MOST_REFUSED} proposals in a row were of no use; the last was {WORDS[refusal]}",
            )
