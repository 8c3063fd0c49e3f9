"""Two runs without the examples that one of them left out, because an earlier split holds them, too."""

from optimize_eval.base.errors import UsageError
from optimize_eval.findings.claims.leaks import left_out_of
from optimize_eval.findings.some_examples import at_places
from optimize_eval.findings.wording import count
from optimize_eval.store.stored import StoredRun

_Digests = dict[str, set[str]]


def without_leaks(a: StoredRun, b: StoredRun) -> tuple[StoredRun, StoredRun, tuple[str, ...]]:
    """Give both without what either leaves out, known by its bytes, and what is to be said of that."""
    left_out: _Digests = {}
    for run in (a, b):
        for split, digests in _left_out(run).items():
            left_out.setdefault(split, set()).update(digests)
    if not left_out:
        return a, b, ()
    caveats = tuple(
        f"{count(len(digests), f'{split} example')} left out: a split before it has them, too"
        for split, digests in left_out.items()
    )
    return _without(a, left_out), _without(b, left_out), caveats


def _left_out(run: StoredRun) -> _Digests:
    lines = left_out_of(run.layout)
    return {
        split.name: {
            digest
            for line, digest in zip(split.lines, split.sha256, strict=True)
            if line in lines[split.name]
        }
        for split in run.layout.splits
        if split.name in lines
    }


def _without(run: StoredRun, left_out: _Digests) -> StoredRun:
    places = {
        split.name: [n for n, one in enumerate(split.sha256) if one not in left_out.get(split.name, ())]
        for split in run.layout.splits
    }
    if not any(places.values()):
        raise UsageError(
            f"{run.folder} has no example that train does not hold, too", hint="compare it on fresh examples"
        )
    return at_places(run, places)
