"""Names of two runs or boards beside each other: those that look alike are written so that they differ."""

from dataclasses import replace
from itertools import chain

from optimize_eval.base.names import apart
from optimize_eval.findings.diff.shapes import BoardDiff, RunDiff
from optimize_eval.store.beside import OnlyIn


def with_names_apart(diff: RunDiff) -> RunDiff:
    """Write the names of a comparison for people; a name that nothing looks like stays as it is."""
    only, rows = (diff.only_in_a, diff.only_in_b), diff.rows
    runs = apart([diff.a.run, diff.b.run])
    pairs = chain.from_iterable((row.candidate_in_a, row.candidate) for row in rows)
    candidates = apart([*pairs, *chain.from_iterable(one.candidates for one in only)])
    evaluators = apart(
        [*(row.evaluator for row in rows), *chain.from_iterable(one.evaluators for one in only)]
    )
    models = [row.task_model for row in rows], *(one.task_models for one in only)
    task_models = apart(filter(None, chain.from_iterable(models)))

    def written(one: OnlyIn) -> OnlyIn:
        return replace(
            one,
            evaluators=tuple(evaluators[name] for name in one.evaluators),
            candidates=tuple(candidates[name] for name in one.candidates),
            task_models=tuple(name and task_models[name] for name in one.task_models),
        )

    return replace(
        diff,
        a=replace(diff.a, run=runs[diff.a.run]),
        b=replace(diff.b, run=runs[diff.b.run]),
        rows=tuple(
            replace(
                row,
                evaluator=evaluators[row.evaluator],
                candidate=candidates[row.candidate],
                candidate_in_a=candidates[row.candidate_in_a],
                task_model=row.task_model and task_models[row.task_model],
            )
            for row in rows
        ),
        only_in_a=written(only[0]),
        only_in_b=written(only[1]),
    )


def with_models_apart(diff: BoardDiff) -> BoardDiff:
    """Write the names of models on two boards for people."""
    only = diff.only_in_a, diff.only_in_b
    pairs = chain.from_iterable((model.model_in_a, model.model) for model in diff.models)
    names = apart([*pairs, *chain.from_iterable(one.models for one in only)])
    models = tuple(
        replace(model, model=names[model.model], model_in_a=names[model.model_in_a]) for model in diff.models
    )
    written = [replace(one, models=tuple(names[name] for name in one.models)) for one in only]
    return replace(diff, models=models, only_in_a=written[0], only_in_b=written[1])
