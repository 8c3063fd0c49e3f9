"""One task: read, solved, scored; and the names that users of task files in JSONL import.

Task files in JSONL (two dialects), prompts and tasks in YAML say what is sent to a model and who scores the
reply. Files are read in `task_files`, `prompts` and `yaml`, texts are rendered in `templates`; `solvers` and
`scorers` do the rest. Each name of the public ones is imported from its module when it is first used.
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
