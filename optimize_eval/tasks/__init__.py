"""Task files in JSONL: reading and checking them, rendering prompts, post-processing what a model says.

Two dialects (in one of them a record is a task, in the other a file is one and a line an example) become one
thing, a Task, that says what to send and who scores it. Models are called and replies scored elsewhere. The
names that users of the format know; each is imported from its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimize_eval.tasks.dialects import TaskError, TaskSpec, post_process, render, validate_task
    from optimize_eval.tasks.task_files import Task, TaskFile, load_fixtures, load_tasks, validate_file

__all__ = [
    "Task",
    "TaskError",
    "TaskFile",
    "TaskSpec",
    "load_fixtures",
    "load_tasks",
    "post_process",
    "render",
    "validate_file",
    "validate_task",
]

_HOMES = {
    "Task": "task_files",
    "TaskError": "dialects",
    "TaskFile": "task_files",
    "TaskSpec": "dialects",
    "load_fixtures": "task_files",
    "load_tasks": "task_files",
    "post_process": "dialects",
    "render": "dialects",
    "validate_file": "task_files",
    "validate_task": "dialects",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
