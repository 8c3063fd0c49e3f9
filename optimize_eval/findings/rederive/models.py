"""Models that replied to the same prompts, compared a second time: each with the first one."""

from collections import Counter
from collections.abc import Sequence

from optimize_eval.findings.rederive.compared import OF_D, Told, compare, correct
from optimize_eval.findings.rederive.held import held_differences
from optimize_eval.findings.rederive.journal import JournaledRun, Values

Where = tuple[str, str | None, str]  # evaluator, task model, split
Key = tuple[Where, str]


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

    def family(key: Key) -> tuple[str, bool]:
        return key[0][2], (key[0][0], key[0][2]) == decisive

    def also(keys: Sequence[Key]) -> tuple[int, bool]:
        others, _ = run.also_tried([where for where, _ in keys])
        return others, not (family(keys[0])[1] and run.is_steered)

    many = Counter(map(family, keys))
    more = {one: also([key for key in keys if family(key) == one])[0] for one in many}

    def against(key: Key, before: Values, after: Values) -> Told:
        return compare(before, after, run, key[0][2], family=many[family(key)] + more[family(key)])

    firsts = {key: (key[0][0], first, key[0][2]) for key in keys}
    told = held_differences(
        {key: against(key, means[firsts[key]][key[1]], means[key[0]][key[1]]) for key in keys},
        {key: (run.cells[*firsts[key], key[1]], run.cells[*key[0], key[1]]) for key in keys},
        against,
        lambda plain: correct(plain, family, also),
    )
    pairs = [
        {
            "a": first,
            "b": where[1],
            "candidate": name,
            "evaluator": where[0],
            "split": where[2],
            "failed": sum(run.cells[where[0], model, where[2], name].failed for model in (first, where[1])),
            **{key: d[key] for key in OF_D},
            **d["beside"],
        }
        for (where, name), d in told.items()
    ]
    return {"models": pairs}
