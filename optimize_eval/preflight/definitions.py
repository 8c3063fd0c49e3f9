"""A task written in YAML checked with every file that it names, without a call; all problems at once."""

import os

from optimize_eval.config.sweep_files import evaluator_keys
from optimize_eval.preflight.data_files import CheckedFile
from optimize_eval.tasks.yaml.loading import check_task

SUFFIXES = (".yaml", ".yml")
KIND = "task_yaml"


def check_definition(path: str, folder: str = "") -> CheckedFile:
    """Check a task's file, which may be one of a folder that was named."""
    parent = os.path.dirname(path)  # noqa: PTH120  as it is written
    checked = check_task(path, evaluator_keys=evaluator_keys(parent), folder=folder)
    return CheckedFile(
        path=path,
        kind=KIND,
        count=int(not checked.problems),
        problems=tuple(checked.problems),
        notes=tuple(checked.notes),
        ids=() if checked.problems else (checked.key,),
    )
