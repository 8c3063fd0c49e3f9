"""Models that replied to the same prompts, compared a second time: each with the first one."""

from collections import Counter

from optimize_eval.findings.rederive.compared import OF_D, Told, compare, correct
from optimize_eval.findings.rederive.journal import JournaledRun, Values

Where = tuple[str, str | None, str]  # evaluator, task model, split


def models_compared(run: JournaledRun, means: dict[Where, dict[str, Values]]) -> Told:
    """Compare each model with the first one, which are families apart from the candidates'."""
    if not run.compares_models or len(run.task_models) < 2:  # noqa: PLR2004  with one, nothing is compared
        return {}
    first = run.task_models[0]
    keys = [
        ((evaluator, model, split), name)
        for evaluator in run.evaluators
        for name in run.candidates
        for model in run.task_models[1:]
        for split in run.splits
    ]
    decisive = (run.evaluators[0], run.deciding)

    def family(key: tuple[tuple[str, str | None, str], str]) -> tuple[str, bool]:
        return key[0][2], (key[0][0], key[0][2]) == decisive

    many = Counter(map(family, keys))
    found = {}
    for key in keys:
        where, name = key
        pair = means[where[0], first, where[2]][name], means[where][name]
        found[key] = compare(*pair, run, where[2], family=many[family(key)])
    told = correct(found, family)
    pairs = [
        {
            "a": first,
            "b": where[1],
            "candidate": name,
            "evaluator": where[0],
            "split": where[2],
            "failed": sum(run.cells[where[0], model, where[2], name].failed for model in (first, where[1])),
            **{key: d[key] for key in OF_D},
        }
        for (where, name), d in told.items()
    ]
    return {"models": pairs}
