"""What is benched, by the names of options: models, task files, and how they are called."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.config.evaluators import judge_of
from optimize_eval.config.prompts import BenchOptions
from optimize_eval.data.selection import EVERYTHING, Selection, parse_selection
from optimize_eval.evaluators.kinds import kind_of, parse_evaluators
from optimize_eval.evaluators.task_kind import NO_OWN, scorer_spec
from optimize_eval.models.model_kinds import Tasks
from optimize_eval.session.replying.models import identified, model_specs
from optimize_eval.tasks import TaskFile
from optimize_eval.tasks.defined import NOTHING_GIVEN, Given

if TYPE_CHECKING:
    from optimize_eval.evaluators.rubric import JudgeSpec


@frozen
class Benchmark:
    """What is benched, by the names of options."""

    files: Sequence[str]
    models: Sequence[str]
    evaluators: Sequence[str] = ()
    how: EvaluatorSpec  # timeout and the like, of models and own evaluators
    judge: "JudgeSpec | None" = None  # by what judges among the evaluators judge
    format: str | None = None
    allow_bad_tasks: bool = False
    tags: Sequence[str] = ()
    selection: Selection = EVERYTHING
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    repeats: int = 1
    batch_size: int | None = None
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    keep_thoughts: bool = False
    refusals: str = "score"
    given: Given = NOTHING_GIVEN  # to tasks in YAML

    @property
    def settings(self) -> dict[str, Any]:
        """Give what a board says of how it came about."""
        return {
            "format": self.format,
            "repeats": self.repeats,
            "seed": self.seed,
            "limit": self.limit,
            "sample": self.sample,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "batch_size": self.batch_size,
            **({"keep_thoughts": True} if self.keep_thoughts else {}),
            **({"refusals": "fail"} if self.refusals == "fail" else {}),
            "sandbox": self.given.sandbox or None,
            "timeout": self.how.timeout,
            "retries": self.how.retries,
            **self.selection.to_dict(),
        }

    def model_specs(self) -> tuple[EvaluatorSpec, ...]:
        """Make the models that are called, by names of their own."""
        task = Tasks(
            api_base=self.api_base or "",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            keep_thoughts=self.keep_thoughts,
            fails_refusals=self.refusals == "fail",
        )
        return tuple(map(identified, model_specs(self.models, self.how, task)))

    def own_evaluators(self) -> tuple[EvaluatorSpec, ...]:
        """Make the evaluators that are named; raises UsageError where options of judges have no judge."""
        start = replace(self.how, target=self.judge)
        specs = parse_evaluators(self.evaluators, start)
        if self.judge:
            kind = kind_of(start)
            kind.check_defaults(start, [spec for spec in specs if kind_of(spec) is kind])
        return specs

    def scorers(
        self,
        files: Iterable[TaskFile],
        models: Sequence[EvaluatorSpec],
        own: Mapping[str, EvaluatorSpec] = NO_OWN,
    ) -> list[EvaluatorSpec]:
        """Make the evaluator of each file, which is called after it; `own` are metrics that `-e` names."""
        return [
            scorer_spec(
                file.name,
                file.path,
                [task.evaluator for task in file.tasks],
                Tasks(models=tuple(models), batch_size=self.batch_size),
                self.how,
                sandbox=self.given.sandbox,
                own=own,
            )
            for file in files
        ]


def benchmark_of(
    files: Sequence[str],
    models: Sequence[str],
    how: EvaluatorSpec,
    what: BenchOptions,
    given: Given = NOTHING_GIVEN,
) -> Benchmark:
    """Make of options what is benched."""
    named = {one.name: getattr(what, one.name) for one in fields(Benchmark) if hasattr(what, one.name)}
    named |= {"files": files, "models": models, "how": how, "given": given, "judge": judge_of(what)}
    return Benchmark(**named, selection=parse_selection(what.filters, what.ids))


def check_models(benchmark: Benchmark) -> None:
    """Refuse a bench without a model."""
    if not benchmark.models:
        raise UsageError(
            "no model is named", hint="name one with --model: toy, cmd:./model, openai/gpt-4o-mini"
        )
