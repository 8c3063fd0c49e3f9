"""A program as a model, in any language: a prompt as one line of JSON in, its text as JSON out.

Behind a URL the same JSON is the body of a POST and of its reply.

    {"prompt": "…", "messages": [{"role": "user", "content": "…"}][, "_id": "…"]}
    {"text": "…"[, "_capabilities": {"persistent": true, "concurrency": 4, "batch": 8}][, "_id": "…"]}

Beside its text it may tell "usage": {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.01}, the cost in
dollars, which then counts in totals and for caps.
Of several messages the prompt is their texts, with an empty line between; what a task sends beside them,
such as temperature and tools, is "options": {…}. Calls of tools, "tool_calls", are as chat completions have
them. Batches, where declared, are {"prompts": ["…", …]} and {"results": [{"text": "…"}, {"error": "why"}]};
where one has several messages, all lists of messages stand beside the prompts, and so do all options. How
the program is run is programs.command's business, as it is for evaluators; this is the contract with it.

A Python function is one, too, where a program that calls us hands it over: it is given the prompt and, where
it names them, `messages` and `options`, and returns a text, or what a program would answer. Nothing ends it
when it is late.
"""

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec
from optimize_eval.base.protocol import NO_CAPABILITIES, Capabilities, decode_answer
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.base.spent import Spent, Usage, counts_of, with_cost
from optimize_eval.base.wrong_answers import not_an_object, without_text
from optimize_eval.models.model_kinds import ModelSpec, endpoint_of, program_of
from optimize_eval.models.under_test import Output, Prompt, are_calls
from optimize_eval.programs.command import Command
from optimize_eval.programs.exchange import Contract, call_singly, check_url
from optimize_eval.programs.function_program import Unusable, refuse_uncallable
from optimize_eval.programs.identity import Function, PythonFunction

if TYPE_CHECKING:
    from optimize_eval.programs.served import Endpoint


_SAMPLE = '{"text": "…"}'
_PROTOCOL_KEYS = ("_capabilities", "_id")


class ProgramModel:
    """Calls a program, which may be behind a URL."""

    def __init__(
        self, program: "Command[Prompt, Output] | Endpoint[Prompt, Output]", spec: EvaluatorSpec
    ) -> None:
        self._program = program
        self._name = spec.name
        self._price = spec.manners.prices.get(spec.name) if spec.manners else None
        self._caps: Caps | None = None  # of a session that calls it
        self.close = program.close

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        if self._caps:
            self._caps.ask()
        began = time.monotonic()
        return self._count(prompt, self._program.call(prompt, deadline), began)

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        if self._caps:
            self._caps.ask()
        began = time.monotonic()
        outputs = self._program.call_many(prompts, timeout)
        return [
            output if isinstance(output, EvaluationError) else self._count(prompt, output, began)
            for prompt, output in zip(prompts, outputs, strict=True)
        ]

    def meter(self, caps: Caps) -> None:
        self._caps = caps

    def _count(self, prompt: Prompt, output: Output, began: float) -> Output:
        """Note what a program tells of its call; where a cap is to be kept, it has to tell."""
        told = output.side.get("usage")
        if self._caps is None or not (isinstance(told, dict) or self._caps.count_all):
            return output
        counts = counts_of(told)
        usage = Usage(
            model=self._name,
            prompt_tokens=counts["prompt_tokens"],
            completion_tokens=counts["completion_tokens"],
            cost=counts["cost"],
            seconds=time.monotonic() - began,
        )
        usage = self._caps.estimated(usage, len(prompt.text), len(output.text))
        if self._price:
            usage = with_cost(usage, self._price)
        self._caps.take(usage, self._name)
        return replace(output, spent=Spent(usages=(usage,)))

    @property
    def capacity(self) -> Capacity:
        return self._program.capacity

    @property
    def note(self) -> str:
        return self._program.note


def encode_prompt(prompt: Prompt, identity: str | None = None) -> bytes:
    """Write a prompt as one line."""
    text = orjson.dumps(prompt.text)
    if prompt.is_one_text:
        parts = [b'{"prompt":', text, b',"messages":[{"role":"user","content":', text, b"}]"]
    else:
        parts = [b'{"prompt":', text, b',"messages":', orjson.dumps(prompt.messages)]
    if prompt.options:
        parts += [b',"options":', strict_json.dumps(prompt.options)]
    return _close_object(parts, identity)


def encode_prompts(prompts: Sequence[Prompt], identity: str | None = None) -> bytes:
    """Write several prompts as one line of the batch extension."""
    parts = [b'{"prompts":', orjson.dumps([prompt.text for prompt in prompts])]
    if not all(prompt.is_one_text for prompt in prompts):
        parts += [b',"messages":', orjson.dumps([prompt.messages for prompt in prompts])]
    if any(prompt.options for prompt in prompts):
        parts += [b',"options":', strict_json.dumps([prompt.options for prompt in prompts])]
    return _close_object(parts, identity)


def parse_output(raw: bytes) -> Output:
    """Read what a program printed or raise EvaluationError."""
    return judge_output(decode_answer(raw, like=_SAMPLE))


def judge_output(answer: JsonDict) -> Output:
    """Make an Output of a decoded answer, which is taken over, or raise EvaluationError."""
    calls = answer.pop("tool_calls") if are_calls(answer.get("tool_calls")) else ()
    text = answer.get("text", "" if calls else None)
    if not isinstance(text, str):
        raise without_text(answer)
    answer.pop("text", None)
    declared = answer.get("_capabilities")
    for key in _PROTOCOL_KEYS:
        answer.pop(key, None)
    capabilities = NO_CAPABILITIES if declared is None else Capabilities.from_json(declared)
    return Output(text=text, side=answer, capabilities=capabilities, tool_calls=calls)


def split_outputs(answer: JsonMapping, size: int) -> list[Output | EvaluationError]:
    """Judge each element of a batch's answer by itself; raises ValueError unless there are `size` of them."""
    results = answer.get("results")
    if not isinstance(results, list) or len(results) != size:
        raise ValueError(f"a batch of {size} got another number of results")
    return [_judge_element(element) for element in results]


def _judge_element(element: object) -> Output | EvaluationError:
    if not isinstance(element, dict):
        return not_an_object(element, "the result", _SAMPLE)
    try:
        return judge_output(element)
    except EvaluationError as error:
        return error


def _close_object(parts: list[bytes], identity: str | None) -> bytes:
    if identity is not None:
        parts += (b',"_id":', orjson.dumps(identity))
    parts.append(b"}\n")
    return b"".join(parts)


def _together(prompts: Sequence[Prompt], size: int) -> Iterator[Sequence[Prompt]]:
    for start in range(0, len(prompts), size):
        yield prompts[start : start + size]


def _fix(_prompt: Prompt, _stderr: str) -> str:
    return 'fix it, or exit 0 and answer {"error": "why"} where it has nothing to say'


CONTRACT: Contract[Prompt, Output] = Contract(
    encode=encode_prompt,
    encode_batch=encode_prompts,
    judge=judge_output,
    parse=parse_output,
    split=split_outputs,
    groups=_together,
    fix=_fix,
    sample=_SAMPLE,
)


def connect_program(_command: str, model: ModelSpec) -> ProgramModel:
    program = program_of(model)
    assert program, "the table chose this kind by the text"  # noqa: S101  for the checker
    return ProgramModel(Command(program, CONTRACT), program)


def connect_endpoint(url: str, model: ModelSpec) -> ProgramModel:
    from optimize_eval.programs.served import Endpoint  # noqa: PLC0415  a command needs no HTTP client

    endpoint = endpoint_of(model, check_url(url))
    return ProgramModel(Endpoint(endpoint, CONTRACT), endpoint)


_BESIDE = ("messages", "options")
_TAKES = "a model takes (prompt), and messages or options by name if it likes; it returns a text"


class FunctionProgram:
    """A function behind the methods of a program."""

    note = ""
    capacity = Capacity()

    def __init__(self, function: Function, beside: Sequence[str]) -> None:
        self._function = function
        self._beside = beside

    def call(self, prompt: Prompt, _deadline: float) -> Output:
        beside = {name: getattr(prompt, name) for name in self._beside}
        try:
            returned = self._function(prompt.text, **beside)
        except EvaluationError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise EvaluationError(FailureKind.REPORTED, message, hint="the function raised this") from error
        return judge_output(dict(returned) if isinstance(returned, Mapping) else {"text": returned})

    def call_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.call)

    def close(self) -> None:
        """Nothing was started."""


def check_model_function(named: PythonFunction) -> Sequence[str]:
    """Say what a function takes by name beside the prompt; raises UsageError where it is not a model."""
    try:
        refuse_uncallable(named.function, named.name)
        parameters = [*inspect.signature(named.function).parameters.values()]
    except Unusable as unusable:
        raise UsageError(f"the model {unusable}", hint=unusable.hint) from None
    except (TypeError, ValueError):  # of C
        return ()
    beside = [part.name for part in parameters[1:] if part.name in _BESIDE]
    lacking = [part for part in parameters[1:] if _is_needed(part) and part.name not in beside]
    if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY or lacking:
        raise UsageError(f"the model {named.name} takes {inspect.signature(named.function)}", hint=_TAKES)
    return beside


def _is_needed(part: inspect.Parameter) -> bool:
    return part.default is part.empty and part.kind not in {part.VAR_POSITIONAL, part.VAR_KEYWORD}


def connect_function(_rest: str, model: ModelSpec) -> ProgramModel:
    assert model.function, "what is identified has one"  # noqa: S101  for the checker
    program: Any = FunctionProgram(model.function.function, check_model_function(model.function))
    return ProgramModel(program, model.as_caller)
