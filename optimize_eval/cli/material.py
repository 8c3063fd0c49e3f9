"""What commands load before anything is asked: the splits and the candidates that options name."""

from collections.abc import Mapping

from optimize_eval.candidates import Candidate, field_candidates, load_candidates
from optimize_eval.datasets import load_examples
from optimize_eval.errors import UsageError
from optimize_eval.run.plan import choose
from optimize_eval.run.source import Source


def load_sources(
    named: Mapping[str, str | None], *, limit: int | None = None, sample: int | None = None, seed: int = 0
) -> tuple[Source, ...]:
    """Load the files of the splits that are named; all their problems are told at once."""
    files = {split: path for split, path in named.items() if path is not None}
    loaded = load_examples(files.values())
    return tuple(
        Source(
            name=split,
            file=path,
            examples=choose(examples, split=split, limit=limit, sample=sample, seed=seed),
        )
        for (split, path), examples in zip(files.items(), loaded, strict=True)
    )


def load_all_candidates(
    paths: list[str] | None, lists: list[str] | None, fields: list[str] | None
) -> tuple[Candidate, ...]:
    """Load candidates from files and lists, or take them from the examples' own fields."""
    if fields:
        if paths or lists:
            raise UsageError(
                "--candidate-field takes the candidates from the examples",
                hint="leave --candidate and --candidates away",
            )
        return field_candidates(fields)
    return load_candidates(paths or (), lists or ())
