"""A task in YAML as an evaluator: `task:FILE.yaml`, of whose scorers a session makes one each."""

from optimize_eval.evaluators import task_kind
from optimize_eval.evaluators.kinds import Checks, unwritten

KIND = task_kind.KIND._replace(
    noun="a task in YAML",
    parse=unwritten,
    targets=dict,
    settings=lambda _folder: {},
    uses=frozenset(),
    checks=Checks.TASKS,
    is_started=False,
)
