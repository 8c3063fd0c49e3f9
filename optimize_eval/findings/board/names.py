"""What a board knows of tasks in YAML: their names beside the keys that gates take, and what they measure."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import field

from optimize_eval.base.frozen import frozen
from optimize_eval.store.layout import Layout
from optimize_eval.store.manifest import Manifest, evaluators_of


@frozen
class KnownTasks:
    """Names of tasks by their keys; by evaluators those of scorers, and digests of what these measure."""

    tasks: Mapping[str, str] = field(default_factory=dict)
    scorers: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    def digest_on(self, split: str, layout: Layout) -> str:
        """Give what the board's scorer of a split measures; empty of other tasks."""
        scorer = next((name for name, splits in layout.splits_of.items() if split in splits), "")
        return self.digests.get(scorer, "")


NONE_KNOWN = KnownTasks()


def known_tasks(manifest: Manifest, layout: Layout) -> KnownTasks:
    """Read what a run keeps of its tasks; most benches have none in YAML."""
    settings = manifest.get("settings", {})
    if "tasks" not in settings:
        return NONE_KNOWN
    from optimize_eval.tasks.kept import tasks_in  # noqa: PLC0415  most benches have none

    kept = tasks_in(settings)
    return KnownTasks(
        tasks={task.key: task.display_name for task in kept},
        scorers={one.evaluator: one.display_name or one.key for task in kept for one in task.scorers},
        digests=dict(_digests(manifest, layout)),
    )


def _digests(manifest: Manifest, layout: Layout) -> Iterator[tuple[str, str]]:
    """Digest what scorers are, with their solvers, and the samples that they are for."""
    for one in evaluators_of(manifest):
        samples = [layout.split(name).sha256 for name in layout.splits_of.get(one["name"], ())]
        written = json.dumps([one["sha256"], samples], separators=(",", ":"))
        yield one["name"], hashlib.sha256(written.encode()).hexdigest()
