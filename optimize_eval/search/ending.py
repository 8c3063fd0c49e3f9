"""How a search ends: why, in a word for programs and a sentence for people."""

from enum import StrEnum


class Why(StrEnum):
    """Why a search ended; most are good ends."""

    BUDGET = "budget"
    PLATEAU = "plateau"  # --early-stop
    PERFECT = "perfect"
    NOTHING_TO_TEACH = "nothing_to_teach"
    NO_NEW_TEXT = "no_new_text"
    PROPOSER = "proposer"
    EVALUATOR = "evaluator"
    TIME = "time"
    COST = "cost"
    INTERRUPTED = "interrupted"


FAILED = frozenset({Why.PROPOSER, Why.EVALUATOR})
PAUSED = frozenset({Why.TIME, Why.COST, Why.INTERRUPTED})  # nothing is wrong: the same command goes on


class Over(BaseException):
    """The search ends here. Not an Exception, all of which GEPA catches to go on."""

    def __init__(self, why: Why, sentence: str) -> None:
        super().__init__(sentence)
        self.why = why
        self.sentence = sentence


class OwnError(BaseException):
    """An error of ours on its way through GEPA; it is raised again, as it was, behind that."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error
