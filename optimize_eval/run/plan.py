"""What a run is to call: the axes with their contents, each unit with a stable key; and its run.json.

A key is the sha256 of what determines a unit's result; the plan's own digest is that of everything that
makes two runs the same. How the axes are counted is layout's, what is written of them run.json's.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import orjson

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Compares, EvaluatorSpec
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.base.protocol import PROTOCOL_VERSION, Payload, ScoreRange
from optimize_eval.base.shipped import VERSION
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.endpoint_kind import check_headers
from optimize_eval.evaluators.kinds import identify
from optimize_eval.programs.identity import Identity
from optimize_eval.run.splits import (
    PlanExamples,
    SplitSource,
    check_fields,
    check_labels,
    hide_from_judges,
    label_at,
    output_of,
)
from optimize_eval.store.layout import MOST_UNITS, SINGLE, Cell, Layout, Split, key_of
from optimize_eval.store.ledger import CONFIRM, repeat_of
from optimize_eval.store.run_document import (
    RUN,
    RunDocument,
    StoredCandidate,
    StoredFile,
    StoredProgram,
    StoredSplit,
    counted_cell,
)

if TYPE_CHECKING:
    from optimize_eval.models.model_kinds import ModelSpec

NO_SPLITS: Mapping[str, Sequence[str]] = MappingProxyType({})

_LARGEST_SEED = 2**63 - 1


class Unit(NamedTuple):
    """One call: its number, its key, its payload, and its place in the run."""

    number: int
    key: str
    evaluator: int
    payload: Payload
    coordinates: JsonDict


@frozen
class PlannedExample:
    """An example as a run needs it; `texts` are its candidates where candidates are fields."""

    raw: bytes | None
    line: int | None
    sha256: str
    texts: tuple[str, ...] = ()


@frozen
class Plan(Remembers):
    """Everything that a run calls, in order."""

    specs: tuple[EvaluatorSpec, ...]
    identities: tuple[Identity, ...]
    candidates: tuple[Candidate, ...]
    examples: tuple[tuple[PlannedExample, ...], ...]  # by split
    layout: Layout
    about: PlanExamples  # what run.json says of the examples
    models: tuple[Identity, ...] = ()  # those that are called, by the names of task models
    model_specs: "tuple[ModelSpec, ...]" = ()  # of them, where who is called may change meanwhile
    by_model: bool = False  # what is called is counted by model, and each has a lane of its own
    confirms: bool = False  # its repeats are fresh calls, apart from those of the run

    def unit(self, number: int) -> Unit:
        where = self.layout.place(number)
        contents = self._contents[where.cell]
        example = contents.examples[where.example]
        repeat = where.repeat + 1
        text = example.texts[contents.candidate] if example.texts else contents.text
        sha256 = sha256_of(text.encode()) if example.texts else contents.sha256
        cell = self.layout.cells[where.cell]
        of_example = cell.split, example.line, example.sha256
        of_unit: JsonDict = {CONFIRM if self.confirms else "repeat": repeat}
        rival = self._rival(contents.evaluator, cell, example)
        identity = (
            contents.identity if rival is None else sha256_of(f"{contents.identity} {rival.id}".encode())
        )
        key = key_of(identity, sha256, contents.model, *of_example, repeat_of(of_unit))
        payload = Payload(
            candidate=text,
            example=example.raw,
            task_model=cell.task_model,
            line=example.line,
            repeat=-repeat if self.confirms else repeat,  # no run's own: a model's reply is another one
            split=cell.split,
        )
        if rival:
            other = replace(payload, candidate=rival.candidate, task_model=rival.task_model)
            payload = replace(payload, rival=other)
        if example.line is not None:
            of_unit = {"line": example.line, **of_unit}
        return Unit(number, key, contents.evaluator, payload, {**contents.coordinates, **of_unit})

    def _rival(self, evaluator: int, cell: Cell, example: PlannedExample) -> "_Rival | None":
        """Find what a judge that compares with the baseline compares a unit with."""
        target, layout = self.specs[evaluator].target, self.layout
        if not (isinstance(target, Compares) and target.compares_with_baseline):
            return None
        index = layout.candidates.index(layout.baseline)
        text = example.texts[index] if example.texts else self.candidates[index].text
        several = len(layout.candidates) > 1
        model = cell.task_model if several else layout.task_models[0]
        known = self.model_digests.get(model or "", model or "")
        return _Rival(text, model, sha256_of(f"{sha256_of(text.encode())} {known}".encode()))

    def evaluator_of(self, number: int) -> int:
        """Find which evaluator a unit is of."""
        return self._contents[self.layout.place(number).cell].evaluator

    @cached_property
    def digest(self) -> str:
        """Digest what makes two runs the same run."""
        layout = self.layout
        parts = [
            [(identity.name, identity.sha256) for identity in self.identities],
            layout.score_ranges,
            self.candidate_digests,
            [self.model_digests.get(name or "", name) for name in layout.task_models],
            [(split.name, split.lines, split.sha256) for split in layout.splits],
            [layout.repeats, layout.baseline, layout.seed],
            *([sorted(layout.splits_of.items())] if layout.splits_of else []),
        ]
        return sha256_of(orjson.dumps(parts))

    @cached_property
    def candidate_digests(self) -> list[tuple[str, str]]:
        """Pair each candidate's name with its sha256, or with the field that has it."""
        pairs = zip(self.candidates, self._candidate_digests, strict=True)
        return [
            (candidate.name, f"field {candidate.field}" if candidate.field else digest)
            for candidate, digest in pairs
        ]

    @cached_property
    def model_digests(self) -> dict[str, str]:
        """Give the digests of the models that are called; another task model is a name, and nothing more."""
        return {model.name: model.sha256 for model in self.models}

    @cached_property
    def _candidate_digests(self) -> tuple[str, ...]:
        return tuple(sha256_of(candidate.text.encode()) for candidate in self.candidates)

    @cached_property
    def _contents(self) -> list["_CellContents"]:
        return list(map(self._cell, self.layout.cells))

    @cached_property
    def _places(self) -> tuple[Mapping[str, int], ...]:
        layout = self.layout
        axes = layout.evaluators, layout.candidates, [split.name for split in layout.splits]
        return tuple({name: index for index, name in enumerate(names)} for names in axes)

    def _cell(self, cell: Cell) -> "_CellContents":
        names = cell.evaluator, cell.candidate, cell.split
        evaluator, candidate, split = (at[name] for at, name in zip(self._places, names, strict=True))
        task_model = cell.task_model
        coordinates = {"evaluator": cell.evaluator, "candidate": cell.candidate, "task_model": task_model}
        return _CellContents(
            evaluator,
            candidate,
            self.identities[evaluator].sha256,
            self.candidates[candidate].text,
            self._candidate_digests[candidate],
            self.model_digests.get(task_model or "", task_model),
            self.examples[split],
            {key: value for key, value in {**coordinates, "split": cell.split}.items() if value is not None},
        )


class _Rival(NamedTuple):
    """What a unit is compared with: the baseline's text, or what a model replies to it."""

    candidate: str
    task_model: str | None
    id: str


class _CellContents(NamedTuple):
    """What the units of a cell have in common."""

    evaluator: int
    candidate: int
    identity: str
    text: str
    sha256: str
    model: str | None  # what keys have of the task model
    examples: tuple[PlannedExample, ...]
    coordinates: JsonMapping


def plan_run(
    specs: Sequence[EvaluatorSpec],
    candidates: Sequence[Candidate],
    sources: Sequence[SplitSource],
    *,
    task_models: Sequence[str | None] = (None,),
    models: Sequence[Identity] = (),
    repeats: int = 1,
    baseline: str | None = None,
    seed: int = 0,
    cluster_by: str | None = None,
    group_by: Sequence[str] = (),
    splits_of: Mapping[str, Sequence[str]] = NO_SPLITS,
) -> Plan:
    """Put the axes together; raises UsageError where they do not fit each other.

    `splits_of` names the splits of evaluators that are for some alone, such as the scorers of tasks.
    """
    specs = hide_from_judges(specs, candidates, sources, has_models=any(task_models))
    check_headers(specs)
    _check_axes(candidates, sources, task_models, seed)
    _check_rivals(specs, many=max(len(candidates), len(task_models)))
    names = tuple(candidate.name for candidate in candidates)
    check_labels(sources, cluster_by, group_by)
    examples = tuple(_plan_examples(source, candidates) for source in sources)
    splits = tuple(_split(*pair, cluster_by, group_by) for pair in zip(sources, examples, strict=True))
    layout = Layout(
        evaluators=tuple(spec.name for spec in specs),
        score_ranges=tuple(spec.score_range for spec in specs),
        candidates=names,
        task_models=tuple(task_models),
        splits=splits or (Split(name=SINGLE, lines=(None,), sha256=("",)),),
        repeats=repeats,
        baseline=_baseline(baseline, names),
        seed=seed,
        cluster_by=cluster_by,
        group_by=tuple(group_by),
        compares_models=bool(models) and not splits_of,
        splits_of={name: tuple(splits) for name, splits in splits_of.items()},
    )
    _check_size(layout)
    return Plan(
        specs=tuple(specs),
        identities=tuple(identify(spec) for spec in specs),
        candidates=tuple(candidates),
        examples=examples or (_WITHOUT_EXAMPLES,),
        layout=layout,
        about=PlanExamples(sources, candidates),
        models=tuple(models),
    )


def _check_size(layout: Layout) -> None:
    if layout.size > MOST_UNITS:
        raise UsageError(f"{layout.size:,} calls are too many for one run", hint=f"at most {MOST_UNITS:,}")


def _check_axes(
    candidates: Sequence[Candidate],
    sources: Sequence[SplitSource],
    task_models: Sequence[str | None],
    seed: int,
) -> None:
    if not sources and any(candidate.field for candidate in candidates):
        raise UsageError("--candidate-field takes the candidates from examples", hint="give --dataset")
    if not candidates:
        raise UsageError("there is no candidate", hint="name one: --candidate prompt.txt")
    if repeated := [model for model in task_models if task_models.count(model) > 1]:
        raise UsageError(
            f"the task model {repeated[0]} is given twice", hint="to call more often, use --repeats"
        )
    if abs(seed) > _LARGEST_SEED:
        raise UsageError(f"the seed {seed} is too large", hint=f"at most {_LARGEST_SEED}")


def _check_rivals(specs: Sequence[EvaluatorSpec], *, many: int) -> None:
    for spec in specs if many == 1 else ():
        if isinstance(spec.target, Compares) and spec.target.compares_with_baseline:
            raise UsageError(
                f"the judge {spec.name} compares with the baseline, and nothing else is there",
                hint="name two candidates or more, or two models",
            )


_WITHOUT_EXAMPLES = (PlannedExample(raw=None, line=None, sha256=""),)


def _baseline(wanted: str | None, names: Sequence[str]) -> str:
    if wanted is not None and wanted not in names:
        raise UsageError(
            f"the baseline {wanted!r} is not among the candidates",
            hint=f"name one of {', '.join(names[:20])}",
        )
    return names[0] if wanted is None else wanted


def _plan_examples(source: SplitSource, candidates: Sequence[Candidate]) -> tuple[PlannedExample, ...]:
    fields = [candidate.field for candidate in candidates if candidate.field]
    check_fields(source, fields)
    return tuple(
        PlannedExample(
            raw=example.raw,
            line=example.line,
            sha256=sha256_of(example.raw),
            texts=tuple(output_of(example, field) for field in fields),
        )
        for example in source.examples
    )


def _split(
    source: SplitSource,
    examples: Sequence[PlannedExample],
    cluster_by: str | None,
    group_by: Sequence[str],
) -> Split:
    def labels(path: str) -> tuple[str, ...]:
        return tuple(label_at(example.value, path) for example in source.examples)

    return Split(
        name=source.name,
        lines=tuple(example.line for example in examples),
        sha256=tuple(example.sha256 for example in examples),
        clusters=labels(cluster_by) if cluster_by else None,
        groups={path: labels(path) for path in group_by},
    )


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_SMALL = 4096  # bytes up to which a candidate's text is kept here


def document_of(
    plan: Plan, files: Mapping[str, str], settings: JsonMapping, *, kind: str = RUN
) -> RunDocument:
    """Write down what a plan is about: every axis, with sha256 and, where small, text.

    `files` are those of the splits. Names and inputs of examples are put to it where it is written.
    """
    layout = plan.layout
    splits = tuple(replace(split, file=files.get(split.name)) for split in layout.splits)
    return RunDocument(
        id=plan.digest,
        kind=kind,
        version=VERSION,
        protocol=PROTOCOL_VERSION,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        evaluators=tuple(
            replace(stored_program(identity, score_range), splits=layout.splits_of.get(identity.name))
            for identity, score_range in zip(plan.identities, layout.score_ranges, strict=True)
        ),
        candidates=tuple(map(_stored_candidate, plan.candidates)),
        task_models=layout.task_models,
        models=tuple(map(stored_program, plan.models)),
        splits=tuple(
            StoredSplit(name=split.name, lines=split.lines, sha256=split.sha256) for split in splits
        ),
        repeats=layout.repeats,
        cells=tuple(counted_cell(cell[:4], (0, 0, 0, cell.size)) for cell in layout.cells),
        selection=replace(layout, splits=splits),
        settings=settings,
    )


def stored_program(identity: Identity, score_range: ScoreRange | None = None) -> StoredProgram:
    """Write down an evaluator, or a model, which has no range."""
    return StoredProgram(
        name=identity.name,
        text=identity.text,
        files=tuple(StoredFile(name=name, sha256=digest) for name, digest in identity.files),
        sha256=identity.sha256,
        judge=identity.judge,
        score_range=score_range,
    )


def _stored_candidate(candidate: Candidate) -> StoredCandidate:
    if candidate.field:
        return StoredCandidate(name=candidate.name, field=candidate.field)
    text = candidate.text.encode()
    trimmed = candidate.text.rstrip().encode()  # an editor's newline is no version
    return StoredCandidate(
        name=candidate.name,
        sha256=sha256_of(text),
        trimmed=sha256_of(trimmed) if trimmed != text else None,
        bytes=len(text),
        text=candidate.text if len(text) <= _SMALL else None,
    )
