"""`optimize-eval serve`: an evaluator behind HTTP."""

import contextlib
import socket
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from optimize_eval.base import errors
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import ScoreRange, check_task_model
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.cli import output
from optimize_eval.cli.command_line import named_evaluators
from optimize_eval.cli.host import Reaper, owned_processes
from optimize_eval.cli.interrupts import stoppable
from optimize_eval.config.compared import SlotOptions, TaskModelOption
from optimize_eval.config.declared import Heading
from optimize_eval.config.evaluators import ScoringOptions, judge_of, starting_spec
from optimize_eval.evaluators.kinds import connect, kind_of
from optimize_eval.programs.exchange import Url
from optimize_eval.run.host import Stop
from optimize_eval.serve.connections import Acceptor, hosts_of, is_loopback, listen, url_of
from optimize_eval.serve.service import Service

EXAMPLES = """\b
Examples:
  optimize-eval serve -e ./judge.sh --port 8000
  optimize-eval serve -e @exact_match --port 0
  curl -d '{"candidate": "Hello!"}' http://127.0.0.1:8000/

\b
stdout holds one line, the URL; GET it to see its state. Anybody who can reach
it runs the evaluator. Requests for another host name are refused, for a web
page may be behind them: --allow-host NAME.
Exit codes: 0 stopped (Ctrl-C, SIGTERM) with everything answered, 2 wrong
option, no such program or port in use, 130 stopped with calls broken off:
after 5 s, or at the second signal.
"""

LOOPBACK = "127.0.0.1"

_LOOK_EVERY = 0.2  # while other threads are busy, a signal does not always wake the one that handles it
_ANY_SCORE = ScoringOptions(score_range=ScoreRange.ANY)


def serve(
    model: TaskModelOption,
    slots: SlotOptions,
    scoring: ScoringOptions = _ANY_SCORE,
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="P", min=0, max=65535, help="0: a free one.", rich_help_panel=Heading.CALLING
        ),
    ] = 0,
    host: Annotated[
        str,
        typer.Option("--host", metavar="HOST", help="Where to listen.", rich_help_panel=Heading.CALLING),
    ] = LOOPBACK,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Another name that clients may know it by.",
            rich_help_panel=Heading.CALLING,
        ),
    ] = None,
) -> None:
    """Put a program behind HTTP: POST a payload, get its answer."""
    spec = _only_command(named_evaluators(scoring, starting_spec(scoring, judge_of(scoring))))
    check_task_model(model.task_model)
    stop = Stop()
    with listen(host, port) as listener, owned_processes(), stoppable(stop):
        service = partial(
            Service,
            spec=spec,
            concurrency=slots.concurrency,
            task_model=model.task_model,
            hosts=hosts_of(listener.getsockname()[0], host, allow_host or ()),
            stop=stop,
            say=output.say,
        )
        if not _serve(listener, spec, service, stop):
            raise typer.Exit(errors.INTERRUPTED)


def _only_command(specs: tuple[EvaluatorSpec, ...]) -> EvaluatorSpec:
    if len(specs) != 1:
        raise UsageError(
            f"one evaluator is served, and {len(specs)} were named",
            hint="give -e once, and start a server for each",
        )
    if isinstance(specs[0].target, Url):
        raise UsageError("a URL needs no server", hint="name it itself: run -e URL")
    if missing := kind_of(specs[0]).missing(specs[0]):
        raise UsageError(
            f"{specs[0].name} cannot be served: {missing}",
            hint="serve what can be called: `optimize-eval score - -e …` tries it",
        )
    return specs[0]


def _serve(
    listener: socket.socket, spec: EvaluatorSpec, service_of: Callable[[Evaluator], Service], stop: Stop
) -> bool:
    """Serve until the stop; tell whether everything was answered."""
    opened = Opened()
    service = service_of(connect(spec, opened))
    connections = Acceptor(listener, service.answer)
    try:
        _announce(listener, spec)
        _await_stop(stop)
        service.wake()
        connections.stop()
        return connections.await_end(lambda: stop.is_over)
    finally:
        opened.close()
        connections.close()


def _announce(listener: socket.socket, spec: EvaluatorSpec) -> None:
    if not is_loopback(listener):
        output.say("warning: it listens beyond this machine, and anybody who can reach it runs the evaluator")
    output.say(f"{spec.name} is served; Ctrl-C ends it")
    output.emit(url_of(listener))


def _await_stop(stop: Stop) -> None:
    reap = Reaper()
    with contextlib.suppress(GivenUp):
        while True:
            stop.pause(_LOOK_EVERY)
            reap()
