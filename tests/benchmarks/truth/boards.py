"""How often a board, or a comparison of two, says falsely who is better; and whether it finds who is."""

from collections.abc import Iterator, Mapping, Sequence

from tests.benchmarks.truth.claims import scores
from tests.benchmarks.truth.scenes import Draw, Scene
from tests.findings.boards import board
from tests.findings.made import Example, No

_MODELS = 33  # 528 pairs
_EXAMPLES = 30


def scenes() -> Iterator[Scene]:
    once = skipped_where_bad
    yield Scene(family="false lead", cell="board, one of two equal skips where bad", once=once, high=0.0)
    yield Scene(family="false lead", cell="board, 33 equal models", once=_false_lead, high=0.05, cost=100)
    yield Scene(family="power", cell="board, 33 models, one is .3 better", once=real_lead, low=0.99, cost=100)


def skipped_where_bad(draw: Draw) -> float:
    """Skip a tenth of an equal model's examples, its worst ones, and give whether one of the two leads."""
    plain, other = scores(draw, 60), scores(draw, 60)
    bad = sorted(other)[6]
    skipping: list[Example] = [one if one > bad else No.SKIPPED for one in other]
    return _leads({"plain": plain, "skipping": skipping})


def real_lead(draw: Draw) -> float:
    """Give whether one of many models is found that is much better than the others, who are equal."""
    models: dict[str, list[Example]] = {f"m{n}": [*scores(draw, _EXAMPLES, 0.4)] for n in range(_MODELS - 1)}
    return _leads({**models, "better": [*scores(draw, _EXAMPLES, 0.7)]})


def _false_lead(draw: Draw) -> float:
    return _leads({f"m{n}": [*scores(draw, _EXAMPLES)] for n in range(_MODELS)})


def _leads(models: Mapping[str, Sequence[Example]]) -> float:
    told = board({name: {"f": got} for name, got in models.items()})
    return float(" leads" in told["verdict"]["text"])
