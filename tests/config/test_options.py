"""Options are declared once: what a command, a sweep file, a call and a page say of one is the same."""

from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import signature
from typing import Any

import pytest

from optimize_eval import UsageError, bench, optimize, sweep
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.config import commands, compared, evaluators, search
from optimize_eval.config import prompts as of_bench
from optimize_eval.config.declared import Declared, OptionGroup, declared
from optimize_eval.config.evaluators import judge_of, manners_of, starting_spec
from optimize_eval.config.printing import PlanOptions, ShownOptions
from optimize_eval.config.prompts import Refusals
from optimize_eval.config.sweep_files import gate_keys, optimize_keys, run_keys
from optimize_eval.run.begin_or_resume import NO_GATES, Handling, gate_settings, handling_of
from optimize_eval.run.bench import benchmark_of
from optimize_eval.search.proposers import TIMEOUT
from optimize_eval.search.search_plan import TOP
from optimize_eval.search.stopping import EarlyStop
from tests.front_door import Cli

COMMANDS = ("score", "run", "bench", "optimize", "rescore", "report", "diff", "preflight", "serve")
CALLS: dict[str, Callable[..., Any]] = {"run": sweep, "bench": bench, "optimize": optimize}
FLAGS = {
    "as_names": ("--as",),  # a word of Python
    "last_failed": ("--lf", "--last-failed"),  # by another rule than that of all others
    "with_fields": ("--with",),
    "as_json": ("--json",),
    "concurrency": ("-j", "--concurrency"),
    "quiet": ("-q", "--quiet"),
    "candidates": ("--candidates",),
    "early_stop": ("--early-stop/--no-early-stop",),
    "evaluators": ("-e", "--evaluator"),
    "from_scratch": ("--from-scratch", "--no-seed"),
    "out": ("--out", "--run-dir"),  # of optimize
    "output": ("-o", "--output"),
    "persistent": ("--persistent/--no-persistent",),
    "reuse": ("--reuse", "--cache-from"),  # of optimize
    "rubric": ("--rubric", "--intake-file"),  # of optimize
}
KEYS = {  # what a sweep file calls otherwise
    "filters": "filter",
    "proposer": "proposers",
    "reflection_model": "reflection_models",
    "task_model": "task_models",
}
SHOWN = {
    "as_json",
    "details",
    "dry_run",
    "last_failed",
    "like",
    "quiet",
    "show",
    "view",
}  # what only a command can have
NAMED = {
    "candidate",
    "candidates",
    "evaluators",
    "judge_models",
    "models",
    "prompts",
}  # what a call has in its own way
UNSAID = {
    "proposer_timeout",
    "from_scratch",
    "output",
    "require_better",
    "judge_objective",
    "rubric",
    "intake_json",
}
UNSAID |= {"task_model", "headers", "retries", "persistent", "workers", "cache", "diff"}  # not of optimize(…)
TOGETHER = {  # a command that takes the one takes one of the others
    compared.CandidateFileOptions: (compared.TrainAndValOptions,),
    evaluators.EvaluatorOptions: (evaluators.ProgramOptions,),
    evaluators.JudgeModelOptions: (evaluators.JudgeOptions, search.SearchJudgeOptions),
    compared.CallOptions: (compared.StopOptions,),
    compared.StopOptions: (compared.SpendingOptions,),
    compared.SpendingOptions: (compared.PricedServerOptions,),
    compared.PricedServerOptions: (compared.NoteOptions,),
    compared.ResumeOptions: (compared.FolderOptions,),
    compared.NoteOptions: (ShownOptions,),
    PlanOptions: (ShownOptions,),
}


def groups_of(command: str) -> list[type[OptionGroup]]:
    function = getattr(import_module(f"optimize_eval.cli.commands.{command}"), command)
    annotations = [one.annotation for one in signature(function).parameters.values()]
    groups = [one for one in annotations if isinstance(one, type) and issubclass(one, OptionGroup)]
    return [part for group in groups for part in (group.__bases__ if is_all(group) else (group,))]


def is_all(group: type[OptionGroup]) -> bool:
    """Return True for all that a command takes, of which an option may be in one part only."""
    return group.__module__ == commands.__name__


def options(command: str) -> dict[str, Declared]:
    return {name: one for group in groups_of(command) for name, one in declared(group).items()}


def every_group(group: type[OptionGroup] = OptionGroup) -> Iterator[type[OptionGroup]]:
    for one in group.__subclasses__():
        yield one
        yield from every_group(one)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_of_each_group_that_a_command_takes_is_in_its_help(cli: Cli, command: str) -> None:
    usual, every = cli(command, "--help"), cli(command, "--help-all")
    told = every.stdout or usual.stdout  # of a command with few options the first has all
    names = [name for group in groups_of(command) for name in declared(group)]
    assert len(names) == len({*names}), "two groups of a command have an option of the same name"
    for one in options(command).values():
        words = [word for flag in one.flags for word in flag.split("/")]
        assert one.option.hidden or (
            all(word in told for word in words) and one.option.help in " ".join(told.split())
        )


def test_every_group_is_taken_by_a_command_or_extended_by_one_that_is() -> None:
    taken = {base for command in COMMANDS for group in groups_of(command) for base in group.__mro__}
    assert not {group for group in every_group() if not is_all(group)} - taken


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_forgets_a_group_that_goes_with_another(command: str) -> None:
    taken = groups_of(command)
    for group, others in TOGETHER.items():
        if any(issubclass(one, group) for one in taken):
            assert any(issubclass(one, others) for one in taken), (group, others)


def test_flags_and_keys_follow_one_rule_but_for_those_that_say_so() -> None:
    for group in every_group():
        for name, one in declared(group).items():
            plain = name.removesuffix("s") if one.is_repeated else name
            assert one.flags in {(f"--{plain.replace('_', '-')}",), FLAGS.get(name)}
            assert one.key in {name, KEYS.get(name)}


def test_options_of_commands_and_arguments_of_calls_have_the_same_names() -> None:
    for command in ("run", "bench"):
        function = CALLS[command]
        arguments = {*signature(function).parameters} - {"progress", "files"}
        assert arguments - NAMED == {*options(command)} - SHOWN - NAMED
    arguments = {*signature(optimize).parameters} - {"progress", "candidate"}
    assert arguments - NAMED == {*options("optimize")} - SHOWN - NAMED - UNSAID


def test_each_argument_shows_the_default_of_its_option() -> None:
    for command, function in CALLS.items():
        known = options(command)
        for name, parameter in signature(function).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and name in known and name != "out":
                assert parameter.default == known[name].default


def test_an_argument_that_there_is_not_is_refused_as_by_any_function() -> None:
    unknown: dict[str, Any] = {"concurency": 2}
    with pytest.raises(TypeError, match=r"sweep\(\) got an unexpected keyword argument 'concurency'"):
        sweep("true", **unknown)


def test_an_argument_that_is_wrong_is_refused_by_its_name() -> None:
    wrong: dict[str, Any] = {"minibatch": 0}
    with pytest.raises(UsageError, match="minibatch: write a whole number from 1"):
        optimize(None, "true", out="o", **wrong)


def test_every_option_that_is_declared_to_be_a_key_is_one() -> None:
    known = {"run": run_keys("."), "gates": gate_keys("."), "optimize": optimize_keys(".")}
    for group in every_group():
        for one in declared(group).values():
            assert not one.option.table or one.key in known[one.option.table]
    of_commands = {one.key for one in (options("run") | options("optimize")).values()}
    assert {*known["run"], *known["gates"], *known["optimize"]} <= of_commands


def test_a_board_keeps_each_option_that_its_numbers_depend_on() -> None:
    what = of_bench.BenchOptions(
        models=("toy",), keep_thoughts=True, refusals=Refusals.FAIL, filters=("a=b",), ids=("1",)
    )
    kept = {*benchmark_of(["t.jsonl"], what.models, starting_spec(what), what).settings}
    named = {"models", "evaluators", "allow_bad_tasks", "tags"}  # the board itself names these
    where = {"api_base", "cwd", "headers", "persistent", "workers"}  # the same reply comes from elsewhere
    named |= {"objective", "rubric"}  # which stand with the judge
    of_code = {"sandbox"}  # it stands with what tasks in YAML are given
    options = {*declared(of_bench.BenchOptions)} | of_code
    assert kept == {KEYS.get(name, name) for name in options - named - where}


def test_what_no_option_changes_is_as_programs_have_it() -> None:
    assert handling_of(compared.HandlingOptions()) == Handling()
    assert gate_settings(compared.RunGateOptions()) == gate_settings(NO_GATES) == {}
    judge, manners = judge_of(evaluators.JudgeOptions()), manners_of(compared.PricedServerOptions())
    assert starting_spec(evaluators.ReachOptions(), judge, manners) == EvaluatorSpec()
    budget = search.BudgetOptions()
    window = EarlyStop(window=budget.early_stop_window, threshold=budget.early_stop_threshold)
    assert (window, search.StepOptions().top, search.ProposerTimeOptions().proposer_timeout) == (
        EarlyStop(),
        TOP,
        TIMEOUT,
    )
