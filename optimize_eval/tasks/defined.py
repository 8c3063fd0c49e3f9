"""What an evaluator of a YAML task is of: the file as it was named, and then each of its scorers."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen

if TYPE_CHECKING:  # a file that is only named is not read
    from optimize_eval.models.model_kinds import ModelSpec
    from optimize_eval.tasks.definition import Scorer, TaskDefinition

SUFFIXES = (".yaml", ".yml")
TASKS = "tasks"  # where the settings of a run have what is kept of tasks
CODE = "code"  # where they have what the code of tasks ran in
DIALECT = "task_yaml"  # what files of these are called beside those of tasks in JSONL


@frozen
class Given:
    """What a task is given from outside: values of its parameters, and what its keys stand for."""

    config: Mapping[str, Any] = field(default_factory=dict)
    model_keys: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = ""  # what its code runs in; empty: nothing, with the user's rights
    folder: str = ""  # that was named, all of which the task may read; empty: its file was named
    max_turns: int | None = None  # calls of models for one sample

    @property
    def is_something(self) -> bool:
        return bool(self.config or self.model_keys or self.data or self.max_turns)

    def over(self, other: "Given") -> "Given":
        """Fill in from another what this one does not say."""
        return Given(
            config={**other.config, **self.config},
            model_keys={**other.model_keys, **self.model_keys},
            data={**other.data, **self.data},
            sandbox=self.sandbox or other.sandbox,
            folder=self.folder or other.folder,
            max_turns=other.max_turns if self.max_turns is None else self.max_turns,
        )


NOTHING_GIVEN = Given()


@frozen
class WrittenTask:
    """A task as it was named; a session reads it and makes an evaluator of each scorer."""

    kind: ClassVar[str] = "definition"
    path: str
    given: Given = NOTHING_GIVEN


class Sample(NamedTuple):
    """A row of a dataset."""

    line: int | None
    raw: bytes


@frozen
class DefinedScorer:
    """One scorer of a task, and who is called about its samples.

    Models under test are known by their names, others by the keys that the task has for them.
    Scorers of one task share the traces of its samples.
    """

    kind: ClassVar[str] = "definition"
    task: "TaskDefinition"
    scorer: "Scorer"
    program: EvaluatorSpec | None = None  # the evaluator that the scorer is, if it is one
    models: "tuple[ModelSpec, ...]" = ()
    keyed: "Mapping[str, ModelSpec]" = field(default_factory=dict)
    sandbox: str = ""  # see Given
    max_turns: int | None = None  # see Given
    is_stored: bool = False  # replies are read where they were written down, and no model is called
    samples: Mapping[str, Sequence["Sample"]] = field(
        default_factory=dict, compare=False, repr=False
    )  # of each split, for a scorer that looks at all of them

    @property
    def looks_at_all(self) -> bool:
        """Return True if the scorer is given all samples of a split at once."""
        return self.scorer.type == "python_all_samples"


def defined_of(spec: EvaluatorSpec) -> DefinedScorer | None:
    """Give the scorer of a task that a specification is of; None for any other."""
    return spec.target if isinstance(spec.target, DefinedScorer) else None


def ways_kept(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Read what the code of a run's tasks ran in; nothing where nobody said so, or it was edited."""
    ways = settings.get(CODE)
    return ways if isinstance(ways, list) and all(map(_is_way, ways)) else []


def _is_way(way: object) -> bool:
    if not isinstance(way, dict) or not isinstance(way.get("sandbox"), str):
        return False
    texts = (way.get("layers", []), way.get("missing", []))
    return all(isinstance(some, list) and all(isinstance(one, str) for one in some) for some in texts)
