"""Records of task files, right but for what a test changes."""

from typing import Any


def task(**changed: object) -> dict[str, Any]:
    """Make a record of the spec dialect."""
    usual = {
        "task_id": "a",
        "category": "arithmetic",
        "prompt": "1 + 1 =",
        "targets": ["2"],
        "metric_name": "f1",
        "post_process": "none",
    }
    return {**usual, **changed}


def example(**changed: object) -> dict[str, Any]:
    """Make a record of the examples dialect."""
    return {"prompt": "1 + 1", "targets": ["2"], "metric": "exact_match", **changed}
