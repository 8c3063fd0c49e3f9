"""What run.json says of examples besides their digests: made when it is written, which is rarely.

It takes the decoded examples, which a run does not need; so they are let go once the run is open.
"""

import hashlib
from collections.abc import Sequence

from optimize_eval.candidates import Candidate
from optimize_eval.run.source import Source, inputs_of, name_of
from optimize_eval.selection import value_at
from optimize_eval.store.extend import Told
from optimize_eval.store.layout import SINGLE


class About:
    """The examples of a plan, until they are told of or let go."""

    def __init__(self, sources: Sequence[Source], candidates: Sequence[Candidate]) -> None:
        self._sources = tuple(sources)
        self._fields = {one.name: one.field for one in candidates if one.field}

    def tell(self) -> Told:
        """Name the examples, give the starts of their inputs, and digest the candidates that are in them."""
        hidden = {part for one in self._fields.values() for part in (one, one.partition(".")[0])}
        if not self._sources:
            return Told(names={SINGLE: ()}, inputs={SINGLE: ()}, texts={})
        return Told(
            names={
                one.name: [name_of(example.value, hidden) for example in one.examples]
                for one in self._sources
            },
            inputs={one.name: list(inputs_of(one, hidden)) for one in self._sources},
            texts={
                name: {one.name: _digests(one, field) for one in self._sources}
                for name, field in self._fields.items()
            },
        )

    def forget(self) -> None:
        """Let the examples go."""
        self._sources = ()


def _digests(source: Source, field: str) -> list[str]:
    return [
        hashlib.sha256(value_at(example.value, field).encode()).hexdigest() for example in source.examples
    ]
