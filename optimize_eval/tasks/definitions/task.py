"""What a task is once its file was read, checked, and its parameters put in: plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NamedColumn
from optimize_eval.tasks.definitions.filters import Filter
from optimize_eval.tasks.definitions.score.parts import Scorer
from optimize_eval.tasks.definitions.solve.parts import Solver


class Entity(StrEnum):
    """What a task evaluates."""

    MODEL = "model"
    DATASET = "dataset"
    SYSTEM = "system"  # nothing but what its own snippet looks at


@frozen
class Action:
    """A rule that leaves samples out of metrics."""

    key: str
    filter: Filter


@frozen
class TaskDefinition:
    """A task: what is sent about each sample, and who scores what comes back."""

    key: str
    display_name: str
    description: str
    entity: Entity
    path: str  # of the file, as it was named
    folder: str = ""  # that was named in the place of the file
    long_description: str = ""
    tags: Sequence[str] = ()
    dataset: str = ""  # its key; empty: the run names one
    solver: Solver | None = None
    scorers: Sequence[Scorer] = ()
    actions: Sequence[Action] = ()
    config: Mapping[str, Any] = field(
        default_factory=dict
    )  # the parameters' values, which are in all texts already
    columns: Sequence[NamedColumn] = ()  # those that its texts name
