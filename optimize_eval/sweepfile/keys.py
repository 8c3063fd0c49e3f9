"""The keys of a sweep file's tables, and the check of each: the options that are declared to be in one.

The keys of [[evaluator]] are in evaluator_keys.
"""

from optimize_eval.base.checks import Keys
from optimize_eval.options import calling, compared, definitions, evaluators, gates, prompts, search
from optimize_eval.options.declared import all_declared

GROUPS = (
    *(
        compared.SplitOptions,
        compared.CandidateOptions,
        compared.AxisOptions,
        compared.PartOptions,
        compared.GroupingOptions,
        compared.LeakOptions,
    ),
    *(
        calling.SlotOptions,
        calling.StopOptions,
        calling.SpendingOptions,
        calling.ServerOptions,
        calling.ResumeOptions,
    ),
    *(prompts.PromptingOptions, definitions.SandboxOptions, definitions.TurnOptions),
    *(calling.FolderOptions, evaluators.ReachOptions, gates.RunGateOptions),
    *(
        search.ProposerOptions,
        search.GoalOptions,
        search.BudgetOptions,
        search.StepOptions,
        search.SearchSplitOptions,
        search.BestOptions,
    ),
)


def run_keys(folder: str) -> Keys:
    """List what [run] takes; paths are relative to the sweep file's folder."""
    return _keys(compared.RUN, folder)


def gate_keys(folder: str) -> Keys:
    """List what [gates] takes; paths are relative to the sweep file's folder."""
    return _keys(gates.GATES, folder)


def optimize_keys(folder: str) -> Keys:
    """List what [optimize] takes."""
    return _keys(search.OPTIMIZE, folder)


def _keys(table: str, folder: str) -> Keys:
    return {
        one.key: one.option.value.key(folder)
        for group in GROUPS
        for one in all_declared([group]).values()
        if one.option.table == table and one.option.value
    }
