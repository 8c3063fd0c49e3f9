"""How much of what was tried a claim is corrected for, in numbers and in words.

Candidates that have a score on the examples that decide and that the command does not name enter Holm's
method with p = 1; so do as many more as make it strict enough for a verdict that is not the first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.cells import CellFamily
from optimize_eval.findings.summary_shape import Beside, Point, SettingBefore, Summary, TriedCandidates
from optimize_eval.findings.wording import UNITS, count
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.tried import SEVERAL, Examples, Family, History, Tried, rows_of

MOST_STEPS = 5  # edits that inherit from what was seen, which counting still makes up for

_SETTINGS = ("evaluator", "cluster_by", "on_failure", "margin")


@frozen
class Corrections:
    """What comparisons are corrected for besides each other; nothing where nothing is known of a folder."""

    others: Mapping[CellFamily, int] = field(default_factory=dict)  # comparisons, by who they are among
    deciding: TriedCandidates | None = None
    on_test: TriedCandidates | None = None  # where val chose and test decides
    confirmed: frozenset[str] = frozenset()  # winners that were held against test before
    digests: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)  # by evaluator, of what replies took
    found: str | None = None  # by a search that test decides
    can_confirm: bool = True  # False of examples that were chosen after results were known

    @property
    def is_steered(self) -> bool:
        """Return True if too many versions came after results; a split that chose decides nothing."""
        return is_steered(self.deciding) and not self.on_test

    @property
    def is_first_verdict(self) -> bool:
        return self.deciding is None or self.deciding.verdicts == 1

    def told(self, winner: str | None) -> TriedCandidates | None:
        """Give what decides: where test does, winners alone were ever held against it."""
        held = self.found or winner
        if self.on_test is None or held is None:
            return self.deciding
        winners = self.confirmed | {self.digests[held]}
        return replace(self.on_test, k=len(winners), confirmed=len(winners))


NOTHING = Corrections()


def is_steered(tried: TriedCandidates | None) -> bool:
    return tried is not None and tried.steps > MOST_STEPS


def corrections_in(run: StoredRun, layout: Layout) -> Corrections:
    """Count what a run's folder knows; models of a bench are no candidates."""
    if run.document.is_bench:
        return NOTHING
    history = History(run=run)
    measures = {e.name: e.text for e in run.document.selected_evaluators if e.text in UNITS}
    tried = {where: _tried(history, layout, where) for where in _families(layout)}
    decides = CellFamily(layout.evaluators[0], layout.task_models[0], layout.deciding)
    deciding = _told(history, layout, decides, tried[decides])
    on_test = decides._replace(split="test")
    others = {where: len(one.candidates - _named(history, layout)) for where, one in tried.items()}
    if layout.deciding == "test" or on_test not in tried:
        others[decides] = deciding.comparisons - deciding.named
        return Corrections(others=others, deciding=deciding, digests=history.digests, measures=measures)
    others[decides] = deciding.k - deciding.named
    return Corrections(
        others=others,
        deciding=deciding,
        on_test=_told(history, layout, on_test, tried[on_test]),
        confirmed=tried[on_test].confirmed,
        digests=history.digests,
        measures=measures,
        found=_found(run, layout),
    )


def _found(run: StoredRun, layout: Layout) -> str | None:
    """Name whom a search held against test."""
    searched = run.document.searched
    others = (name for name in layout.candidates if name != layout.baseline)
    return next(others, None) if searched and searched.decides == "test" else None


def _families(layout: Layout) -> Iterator[CellFamily]:
    for evaluator in layout.evaluators:
        for model in layout.task_models:
            for split in layout.splits_for(evaluator):
                yield CellFamily(evaluator, model, split.name)


def _tried(history: History, layout: Layout, where: CellFamily) -> Tried:
    split = layout.split(where.split)
    return history.count_tried(Family(*where), Examples.of(split))


def _named(history: History, layout: Layout) -> frozenset[str]:
    return frozenset(history.digests[name] for name in layout.candidates)


def _told(history: History, layout: Layout, where: CellFamily, tried: Tried) -> TriedCandidates:
    """Say in numbers what was tried of a family; a changed baseline may have been chosen among all pairs."""
    named, baseline = _named(history, layout), history.digests[layout.baseline]
    versions = len(tried.candidates - named)
    others = len(layout.candidates) - 1
    baselines = len(tried.baselines | {baseline})
    every = others + 1 + versions
    is_compared = others > 0
    return TriedCandidates(
        split=where.split,
        k=every * (every - 1) if baselines > 1 and is_compared else others + versions,
        named=others,
        versions=versions,
        baselines=baselines,
        steps=len(tried.steps - {baseline}),
        look=1 + len(tried.looks - {rows_of(layout.split(where.split).lines)}),
        changed=tuple(_changed(history, settings_of(history.run, layout), where.split)),
        beside=_beside(history),
    )


def settings_of(run: StoredRun, layout: Layout) -> JsonDict:
    """Give what may not change once results were seen, as a session writes it down."""
    settings = run.document.settings
    return {
        "evaluator": layout.evaluators[0],
        "cluster_by": layout.cluster_by,
        "on_failure": settings.get("on_failure"),
        "margin": layout.margins.get(layout.evaluators[0]),
    }


def _changed(history: History, now: JsonMapping, split: str) -> Iterator[SettingBefore]:
    """Give the settings under which results of a split were shown that are others now, with the last date."""
    shown = [one for one in history.shown if one.note.get("split") == split]
    program = history.programs[now["evaluator"]]
    for name in _SETTINGS:
        before = {was: one.at for one in shown if (was := _former(one.note, name, now[name], program))}
        for was, at in before.items():
            yield SettingBefore(setting=name, was=was, until=at[:10])


def _former(note: JsonMapping, name: str, now: object, program: str) -> str:
    """Say what a setting was, if it was another; so is an evaluator of other bytes."""
    was = (note.get("settings") or {}).get(name)
    if was != now:
        return "none" if was is None else str(was)
    return "another program" if name == "evaluator" and note.get("evaluator") != program else ""


def _beside(history: History) -> tuple[Beside, ...]:
    """Give what was last written down of other folders that scored other candidates on these examples."""
    notes = [record["beside"] for _, record in history.run.ledger.ledger.judged if "beside" in record]
    listed = notes[-1] if notes and isinstance(notes[-1], list) else []
    return tuple(
        Beside(run=str(one["run"]), candidates=int(one["candidates"]))
        for one in listed
        if isinstance(one, dict)
    )


_UNDECIDED = frozenset({None, "too_few", "failed", "single"})
_CALLED = {"evaluator": "first evaluator"}


def steered(tried: TriedCandidates) -> str:
    """Say why there is no verdict."""
    return (
        f"No verdict: {count(tried.steps, 'version')} were made after these results were seen. The numbers "
        "stand; a verdict needs fresh examples (--testset, or new rows)"
    )


def points_about_tried(summary: Summary, state: str | None) -> Iterator[Point]:
    """Say what a verdict is corrected for besides what the command names, and what changed after results."""
    tried = summary.tried
    if tried is None or state in {None, "failed"}:
        return
    if tried.named and tried.k > (1 if tried.confirmed else tried.named):
        yield Point(mark="·", text=_corrected(tried))
    strictly = ", so the verdict is stricter" if tried.comparisons > tried.k else ""
    if tried.look > 1 and tried.named:
        yield Point(mark="!", text=f"Results were read {tried.look} times while the data grew{strictly}")
    if tried.steps and not is_steered(tried):
        was = "was" if tried.steps == 1 else "were"
        told = f"{count(tried.steps, 'version')} {was} made after these results were seen{strictly}"
        mark = "!" if strictly else "·"
        yield Point(mark=mark, text=f"{told}. After more than {MOST_STEPS} there is none")
    for one in tried.changed:
        what = _CALLED.get(one.setting, one.setting)
        yield Point(mark="!", text=f"Results read until {one.until} had another {what}: {one.was}")
    for other in tried.beside:
        others = count(other.candidates, "other candidate")
        yield Point(mark="·", text=f"{other.run} scored {others} on these examples, which do not count here")


def _corrected(tried: TriedCandidates) -> str:
    corrected = f"the verdict corrects for {count(tried.comparisons, 'comparison')}"
    if tried.confirmed:
        return f"{count(tried.k, 'winner')} were tested on these examples; {corrected}"
    if tried.baselines > 1:
        many = 1 + tried.named + tried.versions
        return (
            f"The baseline changed after results were read, so {count(many, 'candidate')} make {tried.k:,} "
            f"ordered pairs; {corrected}"
        )
    return f"{count(tried.k, 'candidate')} were tried on these examples; {corrected}"


def shown_by(run: StoredRun, summary: Summary) -> Iterator[JsonMapping]:
    """Give what a session is about to show, where it shows several candidates, for the journal."""
    if summary.tried is None:
        return
    layout, history = run.layout, History(run=run)
    names = {layout.deciding, *({"test"} & {split.name for split in layout.splits})}
    for split in sorted(names):
        note = _shown(run, history, layout, split, summary)
        if note:
            yield note


def _shown(
    run: StoredRun, history: History, layout: Layout, split: str, summary: Summary
) -> JsonMapping | None:
    where = Family(layout.evaluators[0], layout.task_models[0], split)
    examples = Examples.of(layout.split(split))
    tried = history.count_tried(where, examples)
    if len(tried.candidates) < SEVERAL:
        return None
    decides = summary.tried is not None and summary.tried.split == split
    is_decided = decides and summary.verdict.state not in _UNDECIDED
    winner = _held_against_test(summary) if decides and split != layout.deciding else None
    return {
        **dict(zip(("evaluator", "task_model", "split"), history.about(where), strict=True)),
        "candidates": len(tried.candidates),
        "baseline": history.digests[layout.baseline] if len(layout.candidates) > 1 else None,
        "confirmed": winner and history.digests[winner],
        "decided": rows_of(examples.lines) if is_decided else None,
        "settings": settings_of(run, layout),
    }


def _held_against_test(summary: Summary) -> str:
    """Name the winner on val, be it shown on test or not."""
    if summary.selection:
        return summary.selection.candidate
    return next(row.candidate for row in summary.rows if row.candidate != summary.baseline)
