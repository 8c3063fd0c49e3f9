"""Recorded outputs as a model: `replay:FILE`, whose lines are {"id": "…", "output": "…"}, found by id.

A line may say which turn of a conversation it is, and which tools are called: {"id", "turn", "output",
"tool_calls"}. What a run writes down of its models (outputs.jsonl) is read too; there an output belongs to
its prompt and repeat as well, and `replay:FILE#MODEL` chooses where it holds several models.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base import files
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, EvaluationError, FailureKind, Problem, UsageError
from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.strict_json import Line, read_lines
from optimize_eval.base.wrong_answers import describe
from optimize_eval.models.model_kinds import ModelSpec, replayed
from optimize_eval.models.outputs import digest_of
from optimize_eval.models.under_test import Output, Prompt, are_calls
from optimize_eval.programs.exchange import call_singly
from optimize_eval.store import journal
from optimize_eval.store.folder import OUTPUTS_SCHEMA

_MEANT = {"task_id": "id", "text": "output", "prediction": "output", "completion": "output"}
_SHOWN = 10


class _Place(NamedTuple):
    """Which prompt an output answers; a line that says nothing of it answers every prompt of its task."""

    id: str
    prompt: str = ""
    repeat: int = 0
    turn: int = 1


class _Recorded(NamedTuple):
    line: int
    output: Output


class ReplayModel:
    """Answers with what was recorded."""

    note = ""
    capacity = Capacity()

    def __init__(self, path: Path, chosen: str = "") -> None:
        """Read the file; raises DataError telling every line that is no output."""
        self._name = path.name
        self._outputs = _read(path, chosen)

    def generate(self, prompt: Prompt, _deadline: float) -> Output:
        exactly = _Place(prompt.id, digest_of(prompt), prompt.repeat)
        found = self._outputs.get(exactly) or self._outputs.get(_Place(prompt.id, turn=prompt.turn))
        if found is None:
            raise self._missing(prompt)
        return found.output

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.generate)

    def close(self) -> None:
        pass

    def _missing(self, prompt: Prompt) -> EvaluationError:
        ids = {place.id for place in self._outputs}
        if prompt.id in ids:
            turn = f" (turn {prompt.turn})" * (prompt.turn > 1)
            message = f"{self._name} has outputs of {prompt.id!r}, but none to this prompt and repeat{turn}"
            return EvaluationError(FailureKind.MODEL_ERROR, message, hint="record it again")
        close = get_close_matches(prompt.id, ids, n=1) if len(prompt.id) < 100 and len(ids) < 1000 else []  # noqa: PLR2004  closeness takes its time
        hint = f"did you mean {close[0]!r}? " if close else ""
        hint += 'a line is {"id": "…", "output": "…"}'
        message = f"{self._name} has no output of {prompt.id!r}"
        return EvaluationError(FailureKind.MODEL_ERROR, message, hint=hint)


def _read(path: Path, chosen: str) -> Mapping[_Place, _Recorded]:
    data = files.read(path, files.DATASET)
    lines = list(read_lines(data))
    is_ours = (
        bool(lines) and isinstance(lines[0].value, dict) and lines[0].value.get("schema") == OUTPUTS_SCHEMA
    )
    if is_ours:
        lines = _whole(lines, data)
        _check_models(path, lines, chosen)
    outputs: dict[_Place, _Recorded] = {}
    problems: list[Problem] = []
    for line in lines:
        reason = _fault(line) or (_damage(line) if is_ours else "")
        if reason:
            problems.append(Problem(path=str(path), line=line.number, rule="bad_output", reason=reason))
        elif not is_ours or line.value["model"] == (chosen or line.value["model"]):
            place = (
                _place(line.value) if is_ours else _Place(line.value["id"], turn=line.value.get("turn", 1))
            )
            said = _Recorded(line.number, _output(line.value, is_ours=is_ours))
            if is_ours:
                outputs[place] = said  # the newest stands for the place
            elif (first := outputs.setdefault(place, said)) is not said:
                reason = f"the output of {place.id!r} stands in line {first.line} already"
                problems.append(Problem(path=str(path), line=line.number, rule="twice", reason=reason))
    if problems:
        raise DataError(problems)
    if not outputs:
        raise UsageError(f"{path} holds no output", hint='write lines such as {"id": "q1", "output": "4"}')
    return outputs


def _whole(lines: Sequence[Line], data: bytes) -> list[Line]:
    """Leave out the header, and a last line that a kill cut off."""
    return list(lines[1:] if data.endswith(b"\n") else lines[1:-1])


def _check_models(path: Path, lines: Sequence[Line], chosen: str) -> None:
    models = sorted({str(line.value.get("model")) for line in lines if isinstance(line.value, dict)})
    listed = ", ".join(models[:_SHOWN]) + ("…" if len(models) > _SHOWN else "")
    if chosen and chosen not in models:
        raise UsageError(f"{path} holds no outputs of {chosen!r}", hint=f"it has those of {listed}")
    if not chosen and len(models) > 1:
        raise UsageError(
            f"{path} holds outputs of {len(models)} models: {listed}",
            hint=f"choose: replay:{path}#{models[0]}",
        )


def _fault(line: Line) -> str:
    if line.unreadable:
        return line.unreadable
    if not isinstance(line.value, dict):
        return f"a line must be an object, this is {describe(line.value)}"
    return next(_faults(line.value), "")


def _faults(record: JsonMapping) -> Iterator[str]:
    for name in ("id", "output"):
        if name not in record:
            meant = next((f'; "{other}" is not read' for other in record if _MEANT.get(other) == name), "")
            yield f'there is no "{name}"{meant}: write {{"id": "…", "output": "…"}}'
        elif not isinstance(record[name], str):
            yield f'"{name}" must be a text, this is {describe(record[name])}'
    if type(turn := record.get("turn", 1)) is not int or turn < 1:
        yield f'"turn" must be a number from 1, this is {describe(turn)}'
    if not are_calls(record.get("tool_calls", [])):
        yield '"tool_calls" must be a list of {"function": {"name": "…", "arguments": "…"}}'


def _damage(line: Line) -> str:
    if journal.is_sound(line.raw + b"\n") and "model" in line.value:
        return ""
    return "the line is not as it was written"


def _place(record: JsonMapping) -> _Place:
    return _Place(record["id"], str(record.get("prompt_sha256", "")), record.get("repeat", 0))


def _output(record: JsonMapping, *, is_ours: bool) -> Output:
    side, thoughts = (record.get("side"), record.get("reasoning")) if is_ours else (None, None)
    return Output(
        text=record["output"],
        side=side if isinstance(side, dict) else {},
        reasoning=thoughts if isinstance(thoughts, str) else "",
        tool_calls=record.get("tool_calls") or (),
        completion=record.get("completion") or {} if is_ours else {},
    )


def connect_recorded(rest: str, model: ModelSpec) -> ReplayModel:
    return ReplayModel(*replayed(rest, model))
