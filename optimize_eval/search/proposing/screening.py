"""Proposals that are of no use are refused before any call is spent on them, counted and reported.

Empty, cut off, too long, equal to an earlier one, of another form than the candidate, a prompt that cannot be
rendered, or hostile: text that no JSON could carry, or that hides something from who reads it.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any

from optimize_eval.search.components import ONLY, Texts, is_plain
from optimize_eval.search.proposing.proposals import Proposal

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
        texts = _merged(proposal.candidate, parent)
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


def _merged(candidate: str | Mapping[str, Any], parent: Texts) -> Texts | None:
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
