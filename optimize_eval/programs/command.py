"""A program that is called: started for each call, or kept alive once it has proved that it may be.

A process that has answered another payload is sent again what was answered before by one of its own. Chance
is no fault: only a difference that stays while processes of their own agree is blamed on being kept alive.

Decides which of the two, and falls back from the second to the first so that no outcome depends on it. What
is sent to it, and how its replies are read, is its contract: an evaluator's, or a model's.
"""

import itertools
import os
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec
from optimize_eval.base.protocol import NO_CAPABILITIES, TASK_MODEL_VARIABLE, Capabilities, decode_answer
from optimize_eval.base.secrets import fill_in
from optimize_eval.programs import leftovers, not_started, one_shot, process
from optimize_eval.programs.exchange import (
    AnswerT,
    Contract,
    QuestionT,
    Unanswered,
    argv_of,
    call_in_batches,
    is_ours,
    owes_proof,
)
from optimize_eval.programs.process import Program
from optimize_eval.programs.worker import (
    CLOSED,
    TRUSTED,
    MakeLine,
    Pool,
    Window,
    Worker,
    WorkerBroken,
    WorkerLike,
    WorkerReply,
)

_ROUNDS = 3  # in which processes of their own must answer the same again


class Proof(Generic[QuestionT]):
    """What a process of its own answered to the first question, until one that stays has shown the same."""

    def __init__(self, question: QuestionT, likeness: object, *, is_for_all: bool = False) -> None:
        self.question = question
        self._likeness = likeness
        self._is_for_all = is_for_all  # task models, which share a process
        self._turn = threading.Lock()  # whoever has it talks to the process that stays

    def begin(self, question: QuestionT) -> bool:
        """Return True if the caller is to talk to a process that stays, and then to find the fault.

        Others are not: until that is over, each has a process of its own.
        """
        is_asked_alike = self._is_for_all or question.task_model == self.question.task_model
        return is_asked_alike and self._turn.acquire(blocking=False)

    def end(self) -> None:
        self._turn.release()

    def fault(self, stays: Callable[[QuestionT], object], anew: Callable[[QuestionT], object]) -> str:
        """Say what being kept alive changes; empty where it is nothing."""
        said = stays(self.question)
        if said == self._likeness or any(anew(self.question) != self._likeness for _ in range(_ROUNDS)):
            return ""
        return f"the first payload scored {self._likeness}, and {said} once it was kept alive"


MOST_BREAKS = 3
_HELD = (
    f"a process that it leaves behind holds its stdout, and each call waits {one_shot.LINGER:g} s for it: "
    "start that one with >/dev/null, or see it ended"
)
LEAKS = "does state leak between calls?"

_TASK_MODEL = TASK_MODEL_VARIABLE.encode()
_FORKS = [0]  # counted in the child, so that a call need not look up which process it is in


def _count_fork() -> None:
    _FORKS[0] += 1


os.register_at_fork(after_in_child=_count_fork)


class Command(Generic[QuestionT, AnswerT]):
    """Calls a program."""

    def __init__(self, spec: EvaluatorSpec, contract: Contract[QuestionT, AnswerT]) -> None:
        self._spec = spec
        self._contract = contract
        self._program: Program | None = None
        self._is_ours = is_ours(spec)
        self._is_presumed = self._is_ours and spec.persistent is None  # to stay alive, until it has answered
        is_kept = spec.persistent or self._is_presumed
        self._capabilities = Capabilities(persistent=True) if is_kept else NO_CAPABILITIES
        self._declaring = threading.Lock()
        self._proof: Proof[QuestionT] | None = None  # None: nothing is to be shown, or it was
        self._note = ""
        self._owes_proof = self._is_presumed and owes_proof(spec)
        self._first = threading.Lock()  # held until it is shown that staying alive changes nothing
        self._size = spec.workers or os.cpu_count() or 1  # of each pool
        self._is_closed = False
        self._chosen = {
            name: fill_in(said, f"the variable {name} of {spec.name}")
            for name, said in spec.environment.items()
        }
        self._be_of_this_process()

    def _be_of_this_process(self) -> None:
        """Start afresh, at first and after a fork: what a parent started is not the child's to use or end."""
        self._pid = os.getpid()
        self._generation = _FORKS[0]
        outer = os.environ.get(leftovers.CALL_VARIABLE.decode(), "")
        self._tag = f"{outer}.{os.urandom(6).hex()}".lstrip(".")
        self._starts = itertools.count(1)
        self._has_started = False
        self._pools: dict[str | None, Pool] = {}  # by task model, which a program gets in its environment
        self._ending = weakref.finalize(self, _close_all, self._pools, self._pid)  # runs at exit too

    @property
    def note(self) -> str:
        """What people should be told, once: that workers broke, and what was done about it."""
        return self._note

    @property
    def capacity(self) -> Capacity:
        calls = self._size * (self._capabilities.concurrency or 1) if self._keeps_alive() else None
        return Capacity(calls=calls, batch=self._capabilities.batch)

    def ask_before(self, make_line: MakeLine, seconds: float) -> JsonDict:
        """Start it before anything is called, and have it say something about itself."""
        try:
            if self._keeps_alive():
                return self._talk(None, make_line, seconds).answer
            ended = self._run(make_line(""), None, time.monotonic() + seconds)
        except WorkerBroken as broken:
            how = "" if broken.status is None else f" {one_shot.ending(broken.status)[0]}"
            why = one_shot.telling_line(one_shot.text_of(broken.stderr))
            message = f"{broken}{how}{f': {why}' if why else ''}"
            raise EvaluationError(FailureKind.START_FAILED, message) from None
        return decode_answer(ended.stdout)

    def call(self, payload: QuestionT, deadline: float, *, is_proof: bool = False) -> AnswerT:
        if self._owes_proof and not is_proof:
            return self._call_in_turn(payload, deadline)
        if self._keeps_alive() and self._may_talk(payload):
            seconds = deadline - time.monotonic()
            try:
                line = partial(self._contract.encode, payload)
                return self._read(self._talk(payload.task_model, line, seconds, self._proof))
            except WorkerBroken as broken:
                if self._is_closed:
                    raise EvaluationError(
                        FailureKind.INTERNAL, CLOSED, hint="close it after the last call"
                    ) from None
                if self._is_presumed:  # odd options, no such library: a process of its own shows it
                    self._capabilities = NO_CAPABILITIES
                else:
                    self._take_note(broken)
                deadline = time.monotonic() + seconds
        return self._call_once(payload, deadline)

    def _call_in_turn(self, payload: QuestionT, deadline: float) -> AnswerT:
        """Wait for who proves it: a start may be dear, and nobody has one of their own meanwhile."""
        seconds = deadline - time.monotonic()
        with self._first:
            if self._owes_proof:
                return self._call_for_proof(payload, time.monotonic() + seconds)
        return self.call(payload, time.monotonic() + seconds)

    def _call_for_proof(self, payload: QuestionT, deadline: float) -> AnswerT:
        """Let one process answer the first payload alone, and another one the second, and then the first."""
        is_shown = self._proof is not None
        answer = self.call(payload, deadline, is_proof=True)
        if is_shown or not self._keeps_alive():
            self._owes_proof = False
        elif self._contract.likeness:
            _close_all(self._pools, self._pid)
            self._pools.clear()
            self._proof = Proof(payload, self._contract.likeness(answer), is_for_all=True)
        return answer

    def call_many(self, payloads: Sequence[QuestionT], timeout: float) -> list[AnswerT | EvaluationError]:
        """Call in batches where the program declared them, else one by one."""
        return call_in_batches(
            payloads,
            timeout,
            size=self._capabilities.batch,
            contract=self._contract,
            one=self.call,
            many=self._call_batch,
        )

    def close(self) -> None:
        self._is_closed = True
        if self._pid == os.getpid():
            self._ending()
            if self._has_started:  # only then may there be processes to look for
                leftovers.sweep(self._tag)

    def _keeps_alive(self) -> bool:
        if self._generation != _FORKS[0]:
            self._be_of_this_process()
        return self._capabilities.persistent and (not self._note or self._breaks() < MOST_BREAKS)

    def _breaks(self) -> int:
        return sum(pool.breaks for pool in list(self._pools.values()))

    def _call_once(self, payload: QuestionT, deadline: float) -> AnswerT:
        ended = self._run(self._contract.encode(payload, None), payload.task_model, deadline)
        if ended.status != 0:
            raise one_shot.explain_failure(ended, self._spec, self._find_program(), self._contract, payload)
        answer = self._judge_answer(
            ended.stderr,
            lambda: self._contract.parse(ended.stdout),
            answered=lambda: ended.stdout,
        )
        if ended.is_held:
            self._note = self._note or f"{self._spec.name}: {_HELD}"
        if answer.capabilities is not NO_CAPABILITIES and self._capabilities is NO_CAPABILITIES:
            self._take_declaration(payload, answer)
        return answer

    def _take_declaration(self, payload: QuestionT, answer: AnswerT) -> None:
        with self._declaring:
            if self._capabilities is not NO_CAPABILITIES:
                return
            persistent = answer.capabilities.persistent and self._spec.persistent is not False
            if persistent and self._contract.likeness:
                self._proof = Proof(payload, self._contract.likeness(answer))
            self._capabilities = replace(answer.capabilities, persistent=persistent)

    def _may_talk(self, payload: QuestionT) -> bool:
        """Return True if a process that stays may be sent this now; else one of its own is."""
        proof = self._proof
        return proof is None or proof.begin(payload)

    def _read(self, reply: WorkerReply) -> AnswerT:
        self._is_presumed = False
        answer = self._judge_answer(
            reply.stderr,
            lambda: self._contract.judge(reply.answer),
            answered=lambda: _without_id(reply.answer),
        )
        if (
            answer.capabilities.batch > self._capabilities.batch
        ):  # persistent by the user's word, declared later
            self._capabilities = replace(self._capabilities, batch=answer.capabilities.batch)
        return answer

    def _call_batch(self, payloads: Sequence[QuestionT], seconds: float) -> JsonDict:
        """Call for several answers at once; raises Unanswered when they must be called singly."""
        task_model = payloads[0].task_model
        try:
            if self._keeps_alive() and self._may_talk(payloads[0]):
                lines = partial(self._contract.encode_batch, payloads)
                return self._talk(task_model, lines, seconds, self._proof).answer
            ended = self._run(
                self._contract.encode_batch(payloads, None), task_model, time.monotonic() + seconds
            )
            return decode_answer(ended.stdout) if ended.status == 0 else {}
        except WorkerBroken as broken:
            self._take_note(broken)
            raise Unanswered from broken
        except EvaluationError as error:
            raise Unanswered from error

    def _show(self, proof: Proof[QuestionT], seconds: float) -> None:
        """Go back to a process per call where one that stays answers otherwise."""

        def ask(judge: Callable[[QuestionT], AnswerT], question: QuestionT) -> object:
            try:
                answer = judge(question)
            except EvaluationError as error:
                return str(error.kind)
            return self._contract.likeness and self._contract.likeness(answer)

        def stay(question: QuestionT) -> AnswerT:
            line = partial(self._contract.encode, question)
            return self._contract.judge(self._talk(question.task_model, line, seconds).answer)

        def start(question: QuestionT) -> AnswerT:
            return self._call_once(question, time.monotonic() + seconds)

        try:
            fault = proof.fault(partial(ask, stay), partial(ask, start))
        except WorkerBroken as broken:
            if not self._is_closed:
                self._take_note(broken)
            return
        if fault:
            self._capabilities = replace(self._capabilities, persistent=False)
            self._note = f"{self._spec.name}: {fault}: {LEAKS} Each call has a process of its own from now on"
        self._proof = None

    def _talk(
        self,
        task_model: str | None,
        make_line: MakeLine,
        seconds: float,
        proof: Proof[QuestionT] | None = None,  # one that is ours to show now, see _may_talk
    ) -> WorkerReply:
        try:
            reply = self._pool(task_model).call(make_line, seconds)
        except one_shot.DeadlinePassed as late:
            raise one_shot.late(seconds, self._spec, late.stderr) from None
        except process.NotStarted as refused:
            raise self._not_started(refused) from refused
        else:
            if proof:
                self._show(proof, seconds)
            return reply
        finally:
            if proof:
                proof.end()

    def _run(self, payload: bytes, task_model: str | None, deadline: float) -> one_shot.Exit:
        program = self._find_program()
        self._has_started = True
        seconds = deadline - time.monotonic()
        tag = f"{self._tag}.{next(self._starts)}"
        try:
            return one_shot.run(
                program, payload, tag=tag, variables=_variables(task_model), deadline=deadline
            )
        except process.NotStarted as refused:
            raise self._not_started(refused) from refused
        except one_shot.DeadlinePassed as late:
            raise one_shot.late(seconds, self._spec, late.stderr) from None
        except one_shot.OutputTooLarge as flood:
            raise one_shot.flood(flood.stderr) from None

    def _pool(self, task_model: str | None) -> Pool:
        task_model = None if self._is_ours else task_model
        pool = self._pools.get(task_model)
        if pool is None:
            window = self._capabilities.concurrency or 1
            self._has_started = True
            start = partial(
                _start_worker,
                self._find_program(),
                self._tag,
                self._starts,
                _variables(task_model),
                window,
                trusted=0 if self._is_ours else TRUSTED,
            )
            pool = self._pools.setdefault(
                task_model, Pool(start, self._take_note, size=self._size, window=window)
            )
        return pool

    def _judge_answer(
        self, stderr: bytes, judge: Callable[[], AnswerT], answered: Callable[[], bytes]
    ) -> AnswerT:
        """Judge an answer; a failure takes with it what the program had written."""
        try:
            answer = judge()
            return replace(answer, stderr=one_shot.text_of(stderr)) if self._spec.keep_stderr else answer
        except EvaluationError as error:
            error.detail = one_shot.text_of(stderr)
            error.answered = answered()
            error.hint = not_started.shell_hint(self._spec.text) or error.hint
            raise

    def _take_note(self, broken: WorkerBroken) -> None:
        what = "its payloads were called again, one process each"
        if self._breaks() >= MOST_BREAKS:
            what = f"after {MOST_BREAKS} breaks each call has a process of its own from now on"
        self._note = f"{self._spec.name}: a kept-alive process broke ({broken}); {what}"

    def _not_started(self, refused: process.NotStarted) -> EvaluationError:
        program, self._program = self._find_program(), None  # look again next time: it may be fixed by then
        return not_started.explain_refusal(self._spec, program.executable, refused.error)

    def _find_program(self) -> Program:
        if self._program is not None:
            return self._program
        spec, argv = self._spec, argv_of(self._spec)
        environment = {**os.environ, **self._chosen}
        executable = _find_executable(argv[0], spec.cwd, environment.get("PATH"))
        if executable is None:
            raise not_started.explain_missing(spec, environment.get("PATH"))
        encoded = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        self._program = Program(argv=argv, executable=executable, cwd=spec.cwd, environment=encoded)
        return self._program


def _without_id(answer: JsonMapping) -> bytes:
    return strict_json.dumps({key: said for key, said in answer.items() if key != "_id"})


def _start_worker(
    program: Program,
    tag: str,
    starts: Iterator[int],
    variables: Mapping[bytes, bytes],
    window: int,
    *,
    trusted: int,
) -> WorkerLike:
    child = process.start_program(program, f"{tag}.{next(starts)}", variables)
    return Worker(child, trusted=trusted) if window == 1 else Window(child, trusted=trusted)


def _close_all(pools: Mapping[str | None, Pool], pid: int) -> None:
    if pid == os.getpid():
        for pool in list(pools.values()):
            pool.close()


def _variables(task_model: str | None) -> dict[bytes, bytes]:
    return {} if task_model is None else {_TASK_MODEL: task_model.encode()}


def _find_executable(name: str, cwd: str | None, search: str | None) -> str | None:
    """Resolve argv[0] as a shell in `cwd` would; a path that exists is returned, executable or not."""
    path = str(Path(cwd or ".", name)) if "/" in name else shutil.which(name, path=search)
    if not path or not not_started.exists(path):
        return None
    try:
        return str(Path(path).absolute())
    except FileNotFoundError:  # the current folder itself is gone
        return None
