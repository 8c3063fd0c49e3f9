"""The votes that records hold beside their scores: whose, how high, and which place was better."""

from collections import Counter
from typing import Any, NamedTuple

from optimize_eval.store.command_units import JournalRecord

SAME = "same"  # beside the score of two texts that are one, of which no judge was asked

_PLACES = frozenset({"first", "second", "tie"})
_SAID = frozenset({"better", "votes", SAME})


class Ballot(NamedTuple):
    """A vote: of a judge of several by its name, else of the only one; of a pair with both answers."""

    judge: str
    score: float
    better: tuple[str, ...] = ()


class Heard:
    """Takes in the scored records of one cell."""

    def __init__(self) -> None:
        self.units: list[tuple[int, list[Ballot]]] = []  # by example, in the order of records
        self.failed: Counter[str] = Counter()  # votes that did not come, by judge
        self.same = 0  # pairs of one text, of which nobody was asked

    def take(self, example: int, record: JournalRecord) -> None:
        side_info = record["side_info"]
        if _SAID.isdisjoint(side_info) or record["score"] is None:
            return
        if side_info.get(SAME) is True:
            self.same += 1
            self.units.append((example, []))
            return
        votes = side_info.get("votes")
        every = votes if isinstance(votes, list) else [{**side_info, "score": record["score"]}]
        ballots = [ballot for vote in every if (ballot := _ballot(vote))]
        if isinstance(votes, list) or any(ballot.better for ballot in ballots):
            self.units.append((example, ballots))
        failed = side_info.get("failed_votes")
        self.failed.update(failed.keys() if isinstance(failed, dict) else ())


def _ballot(vote: Any) -> Ballot | None:
    """Read a vote; what is none was said by another evaluator."""
    if not isinstance(vote, dict) or not isinstance(vote.get("score"), int | float):
        return None
    judge, better = vote.get("judge", ""), vote.get("better")
    if not (isinstance(better, list) and len(better) == len("ab") and _PLACES.issuperset(map(str, better))):
        better = ()
    return Ballot(str(judge), vote["score"], tuple(better))
