"""Records of OpenAI Evals (`oaieval --record_path`): what was run, its events by sample, and a final report.

Events come as threads came to them. What a sample scored is in events `match` and `metrics`; an event `error`
is a failure of all that its sample was to be scored by. Where a model grades, what it chose is in `choice`,
and its reply, which comes last, is a reason and no output.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.frozen import frozen
from optimize_eval.foreign.reading import Fields, ForeignFile
from optimize_eval.foreign.rows import (
    LONGEST_MESSAGE,
    PROVIDER,
    Failure,
    Result,
    Row,
    Score,
    System,
    count_of,
    example_of,
    number_or_failure,
    refusal,
    shorten,
)
from optimize_eval.foreign.sheet import Sheet

TOOL = "OpenAI Evals"
_MATCH, _CHOICE = "match", "choice"
_ERRORS, _TWICE = "errors", "twice"
_TOKENS = ("prompt_tokens", "completion_tokens")


@frozen
class Sample:
    """What the events of a sample say."""

    results: dict[str, Result] = field(default_factory=dict)
    said: JsonDict = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    sampled: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def task_of(file: ForeignFile) -> str:
    spec = next((line for _, line in file.lines() if "spec" in line), {})
    return Fields(spec, file.path, 1).fields("spec").text("eval_name")


def read(file: ForeignFile, sheet: Sheet) -> None:
    """Read the events of a run."""
    sheet.task = task_of(file)
    system, is_whole = "", False
    samples: dict[str, Sample] = {}
    for number, value in file.lines():
        line = Fields(value, file.path, number)
        is_whole = is_whole or "final_report" in value
        if "spec" in value:
            names = [name for name in line.fields("spec").items("completion_fns") if isinstance(name, str)]
            system = " + ".join(names) or file.stem
        elif "type" in value:
            _take(line, samples, sheet)
    evaluators = [*dict.fromkeys(name for sample in samples.values() for name in sample.results)]
    if not evaluators:
        raise refusal(file.path, "no event in it is a match, or has metrics")
    sheet.first = tuple(dict.fromkeys([*sheet.first, *evaluators]))
    if not is_whole:
        sheet.note(f"{file.name} has no final report, so it is not complete: what is missing counts nowhere")
    for name, sample in samples.items():
        sheet.add(_row(name, sample, system, evaluators))


def _take(line: Fields, samples: dict[str, Sample], sheet: Sheet) -> None:
    """Add what an event says to what is known of its sample; events of no sample say nothing of one."""
    kind, data = line.text("type"), line.fields("data")
    if line.value.get("sample_id") is None:
        return
    sample = samples.setdefault(line.text("sample_id"), Sample())
    match kind:
        case "sampling":
            _take_sampling(data, sample)
        case "error":
            sample.errors.append(shorten(data.value.get("message") or data.value, LONGEST_MESSAGE))
            sheet.counts[_ERRORS] += 1
        case "match" | "metrics":
            for name, result in _results(kind, data):
                sheet.counts[_TWICE] += name in sample.results
                sample.results.setdefault(name, result)
            if isinstance(choice := data.value.get(_CHOICE), str):
                sample.said[_CHOICE] = choice
            if (expected := data.value.get("expected")) is not None:
                sample.said.setdefault("expected", shorten(expected))


def _results(kind: str, data: Fields) -> Iterator[tuple[str, Result]]:
    if kind == _MATCH:
        yield _MATCH, number_or_failure(data.truth("correct"))
        return
    values = data.value
    for name, value in values.items():
        if value is None or isinstance(value, bool | int | float):
            yield name, number_or_failure(value)
        elif isinstance(value, str) and all(isinstance(each, str) for each in values.values()):
            yield name, Score(None, value)  # beside numbers, texts say how these came about


def _take_sampling(data: Fields, sample: Sample) -> None:
    sample.asked.append(data.value.get("prompt"))
    if (sampled := data.value.get("sampled")) is not None:
        is_one = isinstance(sampled, list) and len(sampled) == 1
        sample.sampled.append(sampled[0] if is_one else sampled)
    usage = data.table("usage")
    for key in _TOKENS:
        if type(count := usage.get(key)) is int and count >= 0:
            sample.tokens[key] = sample.tokens.get(key, 0) + count


def _row(name: str, sample: Sample, system: str, evaluators: list[str]) -> Row:
    failed: Mapping[str, Result] = (
        dict.fromkeys(evaluators, Failure(PROVIDER, sample.errors[0])) if sample.errors else {}
    )
    return Row(
        system=System("", system),
        column=0,
        example=example_of({"id": name}, name, _text_of(sample.asked[0]) if sample.asked else None),
        position=0,
        repeat=1,
        results={**failed, **sample.results},
        side_info=_said_of(sample),
        usage={"model": system, **sample.tokens, "seconds": 0.0} if sample.tokens else None,
    )


def _said_of(sample: Sample) -> JsonDict:
    """Say what the model replied and, where another reply graded it, that."""
    if _CHOICE not in sample.said or len(sample.sampled) == 1:
        output, reasons = sample.sampled[-1:], []
    else:
        output, reasons = sample.sampled[:1], sample.sampled[-1:]
    said = {"reason": reasons, "output": output}
    return {**sample.said, **{key: shorten(texts[0]) for key, texts in said.items() if texts}}


def _text_of(asked: object) -> Any:
    """Give what a prompt says last: of a conversation, its last message."""
    last = asked[-1] if isinstance(asked, list) and asked else asked
    return last.get("content", last) if isinstance(last, dict) else last


def end(sheet: Sheet) -> None:
    """Say how many samples failed, and which events were not read."""
    if many := sheet.counts[_ERRORS]:
        sheet.says_errors = count_of(many, "error")
    if many := sheet.counts[_TWICE]:
        sheet.note(f"of samples that were scored more than once, the first score counts ({many:,} do not)")
