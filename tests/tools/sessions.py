"""The sessions of the recorder: each is a function that plays commands on its stage.

All calls are made with one slot (`-j 1`): the order of records is no promise otherwise. A number that is
compared never depends on a clock, nor does whether a call fails: no session has a deadline that passes.
"""

from collections.abc import Callable, Mapping

from tests.tools import sessions_in_python as python
from tests.tools import sessions_of_models as models
from tests.tools import sessions_of_runs as runs
from tests.tools import sessions_of_tools as tools
from tests.tools.stage import Stage
from tests.tools.wrong_usages import wrong_data, wrong_options

SESSIONS: Mapping[str, Callable[[Stage], None]] = {  # a session's port is its number: new ones go to the end
    session.__name__.replace("_", "-"): session
    for session in (
        *(tools.help_and_version, runs.run, runs.failures, runs.growth, runs.report_of_some, runs.killed),
        *(runs.gates, runs.diff, runs.leaks, runs.short, runs.each_call_a_process, runs.scores),
        *(tools.schemas, tools.evaluators, tools.new, tools.completion, tools.preflight, tools.runs),
        *(tools.validate, tools.serve, tools.view, runs.sweep_file, runs.rescore, runs.reuse, runs.repeats),
        *(runs.task_models, runs.test_set, runs.data_files, runs.hostile_texts, runs.shipped_metrics),
        *(models.bench, models.bench_of_specs, models.bench_of_code, models.bench_of_yaml),
        *(models.parts_of_tasks, models.prompts, models.judges, models.optimize, models.optimize_killed),
        *(models.optimize_by_model, models.bench_with_judge_and_failures, wrong_options, wrong_data),
        *(python.calls, python.public_names, python.identities),
    )
}
