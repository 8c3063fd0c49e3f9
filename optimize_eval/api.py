"""`sweep(…)` and `bench(…)`: what the commands `run` and `bench` do, for programs and notebooks.

The session runs in a thread of its own, where Python delivers no signal. The calling thread waits, shows the
progress and, where it is interrupted, lets the session end as a command's would: once for what is in flight
to finish, once more to end it. Then the interrupt goes on.

Arguments have the names of options; a wrong one raises UsageError before anything is called. Failures never
raise: they are in the Run that is returned.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar, Unpack

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.files import STDIN
from optimize_eval.base.outcome import Progress
from optimize_eval.config import values
from optimize_eval.config.arguments import BenchArguments, Keywords, SweepArguments, check_value
from optimize_eval.config.commands import BenchCommand, RunCommand
from optimize_eval.config.evaluators import judge_of, manners_of, starting_spec
from optimize_eval.config.prompts import NAMES, check_prompting, given_of
from optimize_eval.config.search import OptimizeCommand
from optimize_eval.config.sweep_files import read_evaluator, read_model, spec_of
from optimize_eval.data.candidates import LONGEST_NAME, Candidate, CandidatePath
from optimize_eval.data.datasets import rows_of
from optimize_eval.evaluators.function_kind import function_spec
from optimize_eval.evaluators.kinds import check_used, named_apart, parse_evaluator
from optimize_eval.findings.metric_rows import records_of
from optimize_eval.models.program_model import check_model_function
from optimize_eval.programs.identity import Function, python_function
from optimize_eval.results import Ending, Run
from optimize_eval.run.begin_or_resume import handling_of
from optimize_eval.run.bench import benchmark_of, carry_out_bench
from optimize_eval.run.bench_defined import prepare_any
from optimize_eval.run.calls import Finished
from optimize_eval.run.defining import scorers_among
from optimize_eval.run.ending import changed, exit_code, explained
from optimize_eval.run.host import Say, Stop, Watch
from optimize_eval.run.inputs import is_utf8
from optimize_eval.run.prompting import Prompting, WrittenModel, load_prompting
from optimize_eval.run.sweeps import Prepared, carry_out, load_comparison, prepare

OneEvaluator = str | JsonMapping | Function
OneModel = str | JsonMapping | Function
SomeTasks = str | Path | Mapping[str, Sequence[JsonMapping]]
OneCandidate = str | Path | Mapping[str, str]
OnePrompt = str | Path | Mapping[str, str | Sequence[Mapping[str, str]] | Mapping[str, str]]

_LIST = ".jsonl"


def listed_as(what: str, given: object) -> list[Any]:
    """Give one of something, or several, as a list."""
    if isinstance(given, str | Path | Mapping):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        return [*given]
    raise UsageError(
        f"{given!r} is neither one {what} nor a list of them", hint=f"give one {what}, or a list"
    )


def models_of(given: OneModel | Iterable[OneModel]) -> list[WrittenModel]:
    """Read models: a text as --model takes it, what a [[model]] of a sweep file says, or a function."""
    listed = [given] if callable(given) else listed_as("model", given)
    return [_model(item, f"model {number}") for number, item in enumerate(listed, 1)]


def _model(given: object, called: str) -> WrittenModel:
    match given:
        case str():
            return str(check_value("models", values.TEXT, given))
        case Mapping():
            return read_model(given, called)
        case Callable():
            named = python_function(given)
            check_model_function(named)
            return named
    raise UsageError(
        f"{called} is not a text, a table or a function: {given!r}",
        hint='write it as --model takes it, "openai/gpt-4o-mini", or as a sweep file says it, {"model": "…"}',
    )


def evaluators_of(
    given: OneEvaluator | Iterable[OneEvaluator], defaults: EvaluatorSpec, say: Say
) -> tuple[EvaluatorSpec, ...]:
    """Read evaluators: a text as -e takes it, what an [[evaluator]] of a sweep file says, or a function."""
    listed = evaluators_listed(given)
    if not listed:
        raise UsageError("no evaluator is named", hint='name one: sweep(["./judge.sh"], …)')
    specs = [_evaluator(item, f"evaluator {number}", defaults) for number, item in enumerate(listed, 1)]
    check_used(specs, defaults, say)
    return named_apart(specs)


def evaluators_listed(given: OneEvaluator | Iterable[OneEvaluator]) -> list[OneEvaluator]:
    return [given] if callable(given) else listed_as("evaluator", given)


def _evaluator(given: object, called: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    match given:
        case str():
            return parse_evaluator(given, defaults)
        case Mapping():
            return spec_of(read_evaluator(given, called), defaults, {})
        case Callable():
            return function_spec(given, defaults)
    raise UsageError(
        f"{called} is not a text, a table or a function: {given!r}",
        hint='write it as -e takes it, "./judge.sh", or as a sweep file says it, {"command": "./judge.sh"}',
    )


def candidates_of(given: OneCandidate | Iterable[OneCandidate]) -> list[CandidatePath | Candidate]:
    """Read candidates: a text is a file, a glob or a JSONL list; a mapping has texts by their names."""
    return [candidate for item in listed_as("candidate", given) for candidate in _candidates(item)]


def _candidates(given: object) -> list[CandidatePath | Candidate]:
    match given:
        case str() | Path() if os.fspath(given) != STDIN:
            return [CandidatePath(os.fspath(given), is_list=os.fspath(given).endswith(_LIST))]
        case Mapping():
            return [_candidate(name, text) for name, text in given.items()]
    raise UsageError(
        f"{given!r} is not a candidate", hint='name its file, "prompt.txt", or give its text: {"v1": "…"}'
    )


def prompts_of(given: OnePrompt | Iterable[OnePrompt]) -> list[str | Candidate]:
    """Read prompts: a text is a file or a glob; a mapping has texts or messages by their names."""
    named = [candidate for item in listed_as("prompt", given) for candidate in _candidates(_with_texts(item))]
    return [item.path if isinstance(item, CandidatePath) else item for item in named]


def _with_texts(given: object) -> object:
    """Write messages among prompts as the texts that stand for them."""
    if not isinstance(given, Mapping):
        return given
    from optimize_eval.tasks.prompts import prompt_of_messages  # noqa: PLC0415  most calls have none

    return {
        name: prompt if isinstance(prompt, str) else prompt_of_messages(str(name), prompt).text
        for name, prompt in given.items()
    }


def _candidate(name: object, text: object) -> Candidate:
    for what in (name, text):
        if not isinstance(what, str) or not is_utf8(what):
            raise UsageError(f"candidate {name!r} is not a text of UTF-8", hint='write {"v1": "…"}')
    if not 0 < len(str(name)) <= LONGEST_NAME:
        raise UsageError(
            f"a candidate has a name of {len(str(name)):,} letters", hint=f"from 1 to {LONGEST_NAME}"
        )
    return Candidate(name=str(name), text=str(text))


T = TypeVar("T")
Show = Callable[[Sequence[Progress]], object]

_TICK = 0.1  # seconds


class ProgramHost:
    """The host that a program is which calls us: it prints nothing, and its signals are its own."""

    def __init__(self, show: Show | None = None) -> None:
        self.stop = Stop()
        self.notes: list[str] = []
        self._show = show
        self._progress: Sequence[Progress] = ()

    def say(self, note: str) -> None:
        self.notes.append(note)

    def calling(self) -> AbstractContextManager[object]:
        return nullcontext()

    @contextmanager
    def watching(self, *, is_recheck: bool) -> Iterator[Watch]:  # noqa: ARG002  shown alike
        yield self._take

    def show(self, progress: Sequence[Progress] | None = None) -> None:
        """Hand over how far the session is, as copies: it goes on meanwhile."""
        progress = self._progress if progress is None else progress
        if self._show and progress:
            self._show(tuple(replace(part) for part in progress))

    def _take(self, progress: Sequence[Progress]) -> None:
        self._progress = progress


def beside(work: Callable[[], T], host: ProgramHost) -> T:
    """Do the work in a thread of its own; an interrupt of the waiting ends the work first."""
    doing = _Doing(work, host.stop)
    try:
        doing.thread.start()
        while not doing.is_done(_TICK):
            host.show()
        doing.thread.join()  # a moment more, or the caller would still count it
    except BaseException:
        doing.end()
        raise
    return doing.result()


class _Doing(Generic[T]):
    """Work in another thread. Waiting is done on a bare lock: an interrupt leaves nothing else half taken."""

    def __init__(self, work: Callable[[], T], stop: Stop) -> None:
        self._work = work
        self._stop = stop
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._is_done = False
        self._doing = Lock()
        self._doing.acquire()
        self.thread = Thread(target=self._do, name="session")

    def is_done(self, seconds: float) -> bool:
        """Wait so long for the end, or for ever where it is negative."""
        if not self._is_done:
            self._doing.acquire(timeout=seconds)
        return self._is_done

    def result(self) -> T:
        if self._error:
            raise self._error
        return self._results[0]

    def end(self) -> None:
        """Stop the work and wait for its end; interrupted once more, it is ended at once."""
        self._stop.request()
        is_begun = self.thread.ident is not None  # else it sees the stop before anything else
        while is_begun and not self._is_done:
            try:
                self.is_done(-1)
            except KeyboardInterrupt:
                self._stop.request()

    def _do(self) -> None:
        try:
            if not self._stop.is_requested:
                self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            self._error = error
        finally:
            self._is_done = True
            self._doing.release()


_SWEEP = Keywords("sweep", SweepArguments, RunCommand)
_BENCH = Keywords("bench", BenchArguments, BenchCommand)


@_SWEEP.shown
def sweep(
    evaluators: OneEvaluator | Iterable[OneEvaluator],
    candidates: OneCandidate | Iterable[OneCandidate] = (),
    *,
    prompts: OnePrompt | Iterable[OnePrompt] = (),
    models: OneModel | Iterable[OneModel] = (),
    progress: Show | None = None,
    **options: Unpack[SweepArguments],
) -> Run:
    """Score candidates by evaluators over examples, as the command `run` does; the same call goes on.

    An evaluator is a text, as -e takes it, a table, as a sweep file has it, or a function
    `evaluator(candidate, example)`. A candidate is a file's path, or a text by its name: `{"v1": "…"}`; so is
    a prompt, to which `models` reply, or messages. A model is a text, a table, or a function of the prompt;
    a dataset is a file, or a list of rows. `progress` is called ten times a second, and at the end,
    with a Progress for each evaluator. Ctrl-C lets the calls in flight end, and raises KeyboardInterrupt.
    """
    given = _SWEEP.read(options)
    host = ProgramHost(progress)
    handling = handling_of(given)
    named, starting = candidates_of(candidates), _starting(given)
    specs, has_tasks = scorers_among(evaluators_of(evaluators, starting, host.say), given_of(given), host.say)
    prompting = prompting_of(
        given,
        prompts,
        models,
        starting,
        (*named, *given.candidate_fields),
        given.task_models,
        has_tasks=has_tasks,
    )
    comparison = load_comparison(
        specs, named, given.candidate_fields, given, host.say, margins=given.margin, prompting=prompting
    )
    prepared = prepare(comparison, handling, host.say, out=given.out, gates=given)
    return _run(partial(carry_out, prepared, host, recheck=given.recheck), host, given.out)


@_BENCH.shown
def bench(
    files: SomeTasks | Iterable[SomeTasks],
    models: OneModel | Iterable[OneModel] = (),
    *,
    progress: Show | None = None,
    **options: Unpack[BenchArguments],
) -> Run:
    """Rank models by task files, as the command `bench` does; the same call goes on.

    The leaderboards are the Run's `boards`. Files and models may be one or several; records of tasks may
    stand for files, by the names of these: `{"sums": [{…}, …]}`. Otherwise as `sweep`.
    """
    given = _BENCH.read({**options, "evaluators": evaluators_listed(options.get("evaluators", ()))})
    host = ProgramHost(progress)
    handling, starting = handling_of(given), _starting(given)
    benchmark = benchmark_of(
        task_files_of(files),
        models_of(models),
        starting,
        given.with_options(evaluators=_scorers(given.evaluators, starting)),
        given_of(given),
    )
    prepared = prepare_any(benchmark, handling, host.say, out=given.out, gates=given)
    if isinstance(prepared, Prepared):
        return _run(partial(carry_out, prepared, host), host, given.out)
    work = partial(carry_out_bench, prepared, host, include_per_example=given.include_per_example)
    return _run(work, host, given.out)


def task_files_of(given: SomeTasks | Iterable[SomeTasks]) -> list[str]:
    """Read what a bench is of: files and folders, or records of tasks by their files' names."""
    named = [pair for item in listed_as("task file", given) for pair in _tasks(item)]
    return [
        rows_of(records, f"{name}{_LIST}") if records is not None else str(name) for name, records in named
    ]


def _tasks(given: object) -> list[tuple[str, Any]]:
    match given:
        case Mapping() if all(isinstance(records, list | tuple) for records in given.values()):
            return [(str(name), records) for name, records in given.items()]
        case Mapping():
            raise UsageError("a task stands in no list", hint='name the list: {"sums": [{"prompt": …}, …]}')
    return [(check_value("files", values.PATH, given), None)]


def _scorers(given: Sequence[object], defaults: EvaluatorSpec) -> list[str | EvaluatorSpec]:
    """Read the evaluators of a bench, which reads those that are texts itself."""
    return [
        item if isinstance(item, str) else _evaluator(item, f"evaluator {number}", defaults)
        for number, item in enumerate(given, 1)
    ]


def prompting_of(
    options: RunCommand | OptimizeCommand,
    prompts: OnePrompt | Iterable[OnePrompt],
    models: OneModel | Iterable[OneModel],
    how: EvaluatorSpec,
    others: Sequence[object] = (),
    task_models: Sequence[str] = (),
    *,
    has_tasks: bool = False,
) -> Prompting | None:
    """Load the prompts and the models of a call, if it names some."""
    named, replying = prompts_of(prompts), models_of(models)
    check_prompting(
        prompts=named,
        models=replying,
        others=others,
        task_models=task_models,
        system=options.system,
        extract=options.extract,
        words=NAMES,
        has_tasks=has_tasks,
    )
    called = replying or (task_models if has_tasks else ())
    return load_prompting(named, called, options, how, api_base=options.api_base)


def _starting(options: RunCommand | BenchCommand) -> EvaluatorSpec:
    """Make what every evaluator that is given as a text starts from."""
    judge = judge_of(options) if isinstance(options, RunCommand) else None
    manners = manners_of(options, seeks_prices=options.max_cost is not None)
    return starting_spec(options, judge, manners)


def _run(work: Callable[[], Finished], host: ProgramHost, out: str | None) -> Run:
    finished = beside(work, host)
    host.show([part for called in finished.calls for part in called.ended.progress])
    ending = Ending(
        status=str(finished.status),
        exit_code=exit_code(finished),
        notes=(*host.notes, *_notes(finished, out)),
        gates=finished.gates,
    )
    run = finished.stored
    return Run(folder=run.folder, records=records_of(run), ending=ending, computed=finished.summary)


def _notes(finished: Finished, out: str | None) -> Iterator[str]:
    for called in finished.calls:
        yield from explained(called, _same_call, folder=finished.stored.folder, out=out)
        if called.ended.changed:
            names = [*called.ended.changed]
            what = f"leave its files as they are, then call it again with replace={names!r}"
            yield f"error: {changed(called.ended)}; {what}"
    yield from (f"{gate.verdict}: {gate.text}" for gate in finished.gates if not gate.is_met)


def _same_call(*options: str, instead: Mapping[str, str] | None = None) -> str:  # noqa: ARG001  see Again
    """Say how to go on, with what a command would have as further options."""
    match options:
        case ("--out", folder):
            return f"the same call again, with out={folder!r}"
        case ("--replace", *_):
            return f"the same call again, with replace={[*options[1::2]]!r}"
    return "the same call again"
