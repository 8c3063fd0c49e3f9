"""`report --filter` and `--id`: which of a run's examples a report is about, found in its data files."""

import shlex
from collections.abc import Mapping, Sequence

from optimize_eval.base.errors import UsageError
from optimize_eval.data.selection import parse_selection
from optimize_eval.findings.gates import check_gap
from optimize_eval.findings.stored_summary import SomeExamples
from optimize_eval.run.inputs import read_again
from optimize_eval.run.replan import examples_again
from optimize_eval.store.manifest import is_bench
from optimize_eval.store.opened_run import StoredRun


def find_examples(
    run: StoredRun,
    filters: Sequence[str] | None,
    ids: Sequence[str] | None,
    files: Mapping[str, str | None],
    *,
    max_gap: float | None,
    forbidden: Mapping[str, object],
) -> SomeExamples | None:
    """Choose examples of a run, which may have moved to `files`; None where no example is chosen.

    `forbidden` are options that cannot stand beside, with their values.
    """
    selection = parse_selection(filters, ids)
    if not selection:
        _refuse_files(files)
        return None
    if is_bench(run.manifest):
        raise UsageError(
            "the report of a bench is about all its tasks",
            hint="choose tasks before: bench --filter, --id; bench --show ID tells of one of them",
        )
    if beside := [option for option, value in forbidden.items() if value]:
        raise UsageError(f"{beside[0]} is about all examples", hint="omit it, or --filter and --id")
    sources = examples_again(run.manifest, read_again(run.manifest, files))
    chosen = selection.of({source.name: source.examples for source in sources})
    lines = {name: {example.line for example in examples} for name, examples in chosen.items()}
    places = {
        split.name: [index for index, line in enumerate(split.lines) if line in lines.get(split.name, ())]
        for split in run.layout.splits
    }
    some = SomeExamples(
        places=places,
        why=str(selection),
        options=_as_options({"--filter": filters, "--id": ids}),
        moved={name: path for name, path in files.items() if path is not None},
    )
    if max_gap is not None:
        check_gap(some.cut(run.layout), max_gap)
    return some


def _as_options(given: Mapping[str, Sequence[str] | None]) -> str:
    return "".join(f" {name} {shlex.quote(word)}" for name, words in given.items() for word in words or ())


def _refuse_files(files: Mapping[str, str | None]) -> None:
    if any(path is not None for path in files.values()):
        raise UsageError(
            "a report needs no examples", hint="--dataset, --valset and --testset are for --filter and --id"
        )
