"""What the first replies of a judge say of themselves: scale, length, and whose they are."""

from collections.abc import Iterator

from optimize_eval.evaluators import reproduce
from optimize_eval.findings.measures import MOST_OFF_SCALE
from optimize_eval.models.judging.verdicts import off_scale
from optimize_eval.preflight.examined import CheckOutcome, CheckStatus, Examined


def scale(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """CheckOutcome that scores were from 0 to 1, at the latest when called again."""
    off = [words for side_info in on.side_infos if (words := off_scale(side_info))]
    if not off:
        yield CheckOutcome(name, CheckStatus.PASS, "scores are from 0 to 1")
        return
    status = CheckStatus.FAIL if len(off) > MOST_OFF_SCALE * len(on.side_infos) else CheckStatus.WARN
    many = f"{len(off)} of {len(on.side_infos)} replies were on another scale, also when called again"
    message = f"{many}: {off[0]}; name the scale in the objective, or score_min and score_max in a rubric"
    yield CheckOutcome(name, status, message, _reproduced(on))


def length(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Warn of replies that had no room left."""
    cut_off = sum("finish_reason" in side_info["usage"] for side_info in on.side_infos)
    if cut_off:
        message = f"{cut_off} of {len(on.side_infos)} replies were cut off for their length: raise max_tokens"
        yield CheckOutcome(name, CheckStatus.WARN, message, _reproduced(on))
    else:
        yield CheckOutcome(name, CheckStatus.PASS, "no reply was cut off")


def answered_by(on: Examined, name: str) -> Iterator[CheckOutcome]:
    """Say who answered, by the replies' own word."""
    servers = [side_info["usage"].get("answered_by") for side_info in on.side_infos]
    names = list(dict.fromkeys(server for server in servers if server))
    if len(names) > 1:
        message = f"several models answered, by what they say of themselves: {', '.join(names)}"
        yield CheckOutcome(name, CheckStatus.WARN, message, _reproduced(on))
    else:
        yield (
            CheckOutcome(name, CheckStatus.PASS, names[0])
            if names
            else CheckOutcome(name, CheckStatus.SKIP, "replies do not say")
        )


def _reproduced(on: Examined) -> str:
    return reproduce.call_once(on.spec, next(iter(on.material.splits.values()))[0])
