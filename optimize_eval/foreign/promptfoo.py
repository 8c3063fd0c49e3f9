"""What promptfoo writes: `-o results.json`, `-o results.jsonl` (results version 3) and `-o results.csv`.

Its errors are tests that did not pass there, and graders that gave no verdict and assertions that threw make
failed ones: here they are failures, unless another assertion fails the test whatever they would have said.
`pass` is the number that its users know; `score` stands beside it where they differ. The CSV has a test a
row, and several columns of equal names for each system; its scores have two digits after the point, and why
a result is an error is in the column of the grader's reason, or nowhere.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.foreign.reading import Fields, ForeignFile
from optimize_eval.foreign.rows import (
    LONGEST_MESSAGE,
    PROVIDER,
    SCORER,
    Example,
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
from optimize_eval.foreign.score_tables import split_cells
from optimize_eval.foreign.sheet import Sheet

TOOL = "promptfoo"
PASS, SCORE = "pass", "score"
_VERSION = 3
_MOST_PROMPTS, _MOST_TESTS = 9_999, 9_999_999
_ERROR = 2  # of failureReason
_ERRORS, _GRADERS, _THREW_ITSELF, _MISSING, _SURE = "errors", "graders", "threw", "missing", "sure"
_THREW = (  # how reasons begin where an assertion's own code threw
    "Custom function threw error:",
    "Error running Python script:",
    "Python code execution failed:",
    "Ruby code execution failed:",
)
_STATUS, _SCORE, _REASON, _METRIC = "Status", "Score", "Grader Reason", "Metric: "  # of its CSV
_DESCRIPTION = "Description"
_STATES = frozenset({"PASS", "FAIL", "ERROR"})
_QUOTED = "'"  # before what a spreadsheet would take for a formula
_TRACE = "\nStack Trace:"  # which is of promptfoo's own code
_OVER_SYSTEMS = frozenset({"max-score", "select-best"})
_EXPORT = "`promptfoo export eval EVAL_ID -o results.json` of a newer promptfoo"
_STREAM = "promptfoo export logs nothing else: write -o results.jsonl, which is read line by line"


def end(sheet: Sheet) -> None:
    """Say what was noticed in all files."""
    errors, graders, threw = (sheet.counts[name] for name in (_ERRORS, _GRADERS, _THREW_ITSELF))
    tests = f"{count_of(graders + threw, 'failed test')} without a verdict" if graders + threw else ""
    sheet.says_errors = " and ".join(filter(None, [count_of(errors, "error") if errors else "", tests]))
    if graders:
        sheet.note(f"of {count_of(graders, 'failed test')} a grader gave no verdict")
    if threw:
        sheet.note(f"of {count_of(threw, 'failed test')} an assertion's own code threw, as its reason begins")
    if sure := sheet.counts[_SURE]:
        sheet.note(
            f"{count_of(sure, 'test')} failed by another assertion than the one that gave no verdict:"
            " pass is 0 there, and score is a failure"
        )
    if missing := sheet.counts[_MISSING]:
        sheet.note(
            f"{missing:,} more are counted by promptfoo and not in the file: their score was not a number"
        )


def read_json(file: ForeignFile, sheet: Sheet) -> None:
    """Read what `-o results.json` and `promptfoo export eval` write."""
    document = Fields(_object(file), file.path)
    results = document.fields("results")
    version = results.value.get("version")
    if version != _VERSION:
        raise refusal(
            file.path, f"it has results of version {version!r}; known: {_VERSION}, which {_EXPORT} writes"
        )
    sheet.version = str(document.table("metadata").get("promptfooVersion") or sheet.version)
    prompts = [_prompt(entry, file, n) for n, entry in enumerate(results.items("prompts"))]
    sheet.first = PASS, SCORE
    for number, value in enumerate(results.items("results")):
        where = f"results.results[{number}]."
        if not isinstance(value, dict):
            raise refusal(file.path, f"{where[:-1]} is not an object")
        row = Fields(value, file.path, None, where)
        column = row.integer("promptIdx", len(prompts) - 1)
        sheet.add(_row(row, column, prompts[column], sheet))
    stats = results.table("stats")
    every = sum(stats[key] for key in ("successes", "failures", "errors") if type(stats.get(key)) is int)
    sheet.counts[_MISSING] += max(0, every - len(results.items("results")))


def read_lines(file: ForeignFile, sheet: Sheet) -> None:
    """Read what `-o results.jsonl` writes: the same rows, without what stands around them."""
    sheet.first = PASS, SCORE
    for number, value in file.lines():
        row = Fields(value, file.path, number)
        column = row.integer("promptIdx", _MOST_PROMPTS)
        prompt, provider = row.table("prompt"), row.table("provider")
        sheet.add(_row(row, column, _system(prompt, provider), sheet))


def _object(file: ForeignFile) -> JsonMapping:
    value = file.value(_STREAM)
    if not isinstance(value, dict):
        raise refusal(file.path, "it is not a JSON object")
    return value


def _prompt(entry: object, file: ForeignFile, number: int) -> System:
    if not isinstance(entry, dict):
        raise refusal(file.path, f"results.prompts[{number}] is not an object")
    system = _system(entry, {"label": entry.get("provider")})
    return system._replace(text=str(entry.get("raw") or system.text))


def _system(prompt: JsonMapping, provider: JsonMapping) -> System:
    """Name a column; the text of a line's prompt is filled in, so its label alone says which it is."""
    label = prompt.get("label")
    name = label if isinstance(label, str) and label else str(prompt.get("raw") or "")
    model = provider.get("label") or provider.get("id") or ""
    return System(name, str(model), name)


def _row(row: Fields, column: int, system: System, sheet: Sheet) -> Row:
    test = row.fields("testCase")
    _note_kinds(test, sheet)
    response = row.table("response")
    results = _results(row, test, sheet)
    return Row(
        system=system,
        column=column,
        example=_example(row, test),
        position=row.integer("testIdx", _MOST_TESTS),
        repeat=None,
        results=results,
        side_info=_side_info(row, response),
        seconds=None if response.get("cached") else _seconds(row),
        usage=_usage(row, system),
    )


def _example(row: Fields, test: Fields) -> Example:
    values = row.value.get("vars")
    if values is not None and not isinstance(values, dict):
        raise row.refuse("vars", "is not an object")
    description = test.value.get("description")
    content = {"description": description, "vars": values or {}}
    only = next(iter(values.values())) if values and len(values) == 1 else values
    return example_of(content, description, only)


def _results(row: Fields, test: Fields, sheet: Sheet) -> Mapping[str, Result]:
    score, success = row.number("score"), row.truth("success")
    reason = row.integer("failureReason", _ERROR)
    graded = row.fields("gradingResult")
    components = [each for each in graded.items("componentResults") if isinstance(each, dict)]
    named = _metrics_in(row, graded, components, sheet)
    missing = _missing_verdict(row, reason, components)
    if missing is None:
        number = number_or_failure(score)
        passed = Score(float(success)) if isinstance(number, Score) else number
        is_same = not isinstance(number, Score) or number == passed
        sheet.shadows[SCORE] = sheet.shadows.get(SCORE, True) and is_same
        return {PASS: passed, SCORE: number, **named}
    failure, kind = missing
    uncounted = failure._replace(counted_as=None)  # promptfoo's sums of metrics lack such a test
    metrics = {name: uncounted for name in _metrics_of(test) if name not in named}
    as_score = failure._replace(counted_as=score or 0.0)
    if as_score.counted_as != float(success):
        sheet.shadows[SCORE] = False
    if not success and kind != _ERRORS and _fails_anyway(test, components):
        sheet.counts[_SURE] += 1
        return {PASS: Score(0.0), SCORE: as_score, **named, **metrics}
    sheet.counts[kind] += 1
    return {PASS: failure._replace(counted_as=float(success)), SCORE: as_score, **named, **metrics}


def _missing_verdict(
    row: Fields, reason: int, components: Sequence[JsonMapping]
) -> tuple[Failure, str] | None:
    """Say why there is no verdict on a reply, and what is counted of it; None where there is one."""
    if reason == _ERROR:
        text = row.value.get("error") or row.table("response").get("error") or "an error without a text"
        return Failure(PROVIDER, shorten(text, LONGEST_MESSAGE), 0.0), _ERRORS
    broken = next(filter(_is_broken, components), None)
    if broken is None:
        return None
    return _failure_of(broken), _GRADERS if _is_of_grader(broken) else _THREW_ITSELF


def _failure_of(component: JsonMapping) -> Failure:
    return Failure(SCORER, _message_of(component.get("reason")), 0.0)


def _fails_anyway(test: Fields, components: Sequence[JsonMapping]) -> bool:
    """Return True if an assertion that gave its verdict fails the test: where all have to pass."""
    kinds = {assertion.get("type") for assertion in _assertions(test)}
    has_own_rule = test.value.get("threshold") or test.value.get("assertScoringFunction")
    if not kinds or "assert-set" in kinds or has_own_rule:
        return False
    return any(each.get("pass") is False and not _is_broken(each) for each in components)


def _metrics_in(row: Fields, graded: Fields, components: list[JsonDict], sheet: Sheet) -> dict[str, Result]:
    """Read named metrics; one whose own assertion gave no verdict has no number."""
    weights = graded.table("namedScoreWeights")
    named: dict[str, Result] = {}
    for name, value in row.table("namedScores").items():
        theirs = [each for each in components if _metric_of(each) == name]
        if bad := next((each for each in theirs if _is_broken(each)), None):
            named[name] = _failure_of(bad)
        elif weights.get(name) == 0 and len(theirs) == 1:
            sheet.note(f"{name} has weight 0, which makes it 0 there: here it is what its assertion gave")
            named[name] = number_or_failure(theirs[0].get("score"))
        else:
            named[name] = number_or_failure(value)
    return named


def _message_of(reason: object) -> str:
    text = reason if isinstance(reason, str) and reason else "the assertion gave no verdict"
    return shorten(text.partition(_TRACE)[0], LONGEST_MESSAGE)


def _is_broken(component: JsonMapping) -> bool:
    text = component.get("reason")
    return _is_of_grader(component) or (isinstance(text, str) and text.startswith(_THREW))


def _is_of_grader(component: JsonMapping) -> bool:
    return (component.get("metadata") or {}).get("graderError") is True


def _metric_of(component: JsonMapping) -> object:
    assertion = component.get("assertion")
    return assertion.get("metric") if isinstance(assertion, dict) else None


def _assertions(test: Fields) -> Iterator[JsonMapping]:
    for assertion in test.items("assert"):
        if isinstance(assertion, dict):
            yield assertion
            inner = assertion.get("assert")
            yield from (each for each in inner if isinstance(each, dict)) if isinstance(inner, list) else ()


def _metrics_of(test: Fields) -> Iterator[str]:
    for assertion in _assertions(test):
        if isinstance(metric := assertion.get("metric"), str) and "{{" not in metric:
            yield metric


def _note_kinds(test: Fields, sheet: Sheet) -> None:
    for assertion in _assertions(test):
        if (kind := assertion.get("type")) in _OVER_SYSTEMS:
            sheet.note(f"{kind}: one system wins each test, so pass depends on who else takes part")


def _side_info(row: Fields, response: JsonMapping) -> JsonDict:
    reason = row.table("gradingResult").get("reason")
    said = {"reason": reason, "output": response.get("output")}
    return {key: shorten(value) for key, value in said.items() if value is not None}


def _seconds(row: Fields) -> float | None:
    latency = row.number("latencyMs")
    return None if latency is None or not 0 <= latency < math.inf else latency / 1000


def _usage(row: Fields, system: System) -> JsonDict | None:
    """Say what the reply took; what graders took is told by no price."""
    tokens, cost = row.table("tokenUsage"), row.number("cost")
    counts = {"prompt_tokens": tokens.get("prompt"), "completion_tokens": tokens.get("completion")}
    known: dict[str, float] = {
        key: value for key, value in counts.items() if type(value) is int and value > 0
    }
    if cost and math.isfinite(cost):
        known["cost"] = cost
    return {"model": system.model or "model", **known, "seconds": _seconds(row) or 0.0} if known else None


class Group(NamedTuple):
    """The columns of one prompt and provider."""

    system: System
    output: int
    columns: Mapping[str, int]


def read_csv(file: ForeignFile, sheet: Sheet) -> None:
    """Read a table of tests."""
    sheet.first = PASS, SCORE
    table = split_cells(file)
    groups = _groups(table.header)
    asked = range(groups[0].output)
    for position, (line, cells) in enumerate(table.rows):
        example = _example_in(table.header, cells, asked)
        for column, group in enumerate(groups):
            if not any(cells[index] for index in (group.output, *group.columns.values())):
                continue  # this test was not for this system
            results = _results_in(file, line, cells, group, sheet)
            said = {"output": cells[group.output], "reason": _cell(cells, group, _REASON)}
            sheet.add(
                Row(
                    system=group.system,
                    column=column,
                    example=example,
                    position=position,
                    repeat=None,
                    results=results,
                    side_info={key: shorten(text) for key, text in said.items() if text},
                )
            )
    if SCORE in sheet.evaluators:
        sheet.note("score is rounded to 0.01 in promptfoo's CSV; -o results.json has all digits")


def _groups(header: Sequence[Any]) -> list[Group]:
    """Find the columns before each Status: the output's, which names provider and prompt."""
    starts = [index - 1 for index, name in enumerate(header) if name == _STATUS and index]
    groups = []
    for start, following in zip(starts, [*starts[1:], len(header)], strict=True):
        provider, _, label = str(header[start]).removeprefix("[").partition("] ")
        columns = {str(header[index]): index for index in range(start + 1, following)}
        groups.append(Group(System(label, provider, label), start, columns))
    return groups


def _example_in(header: Sequence[Any], cells: Sequence[Any], asked: Sequence[int]) -> Example:
    values = {str(header[index]): cells[index].removeprefix(_QUOTED) for index in asked}
    description = values.pop(_DESCRIPTION, None) or None
    only = next(iter(values.values())) if len(values) == 1 else values
    return example_of({"description": description, "vars": values}, description, only)


def _results_in(
    file: ForeignFile, line: int, cells: Sequence[Any], group: Group, sheet: Sheet
) -> Mapping[str, Result]:
    status, written = _cell(cells, group, _STATUS), _cell(cells, group, _SCORE)
    if status not in _STATES:
        raise refusal(file.path, f"Status is {shorten(status, 40)!r}, and neither PASS, FAIL nor ERROR", line)
    score, reason = _number(written), _cell(cells, group, _REASON)
    if status == "ERROR":
        sheet.counts[_ERRORS] += 1
        failure = Failure(PROVIDER, shorten(reason or "an error, which the CSV does not name"), 0.0)
        return {PASS: failure, SCORE: failure}
    if reason.startswith(_THREW):
        sheet.counts[_THREW_ITSELF] += 1
        failure = Failure(SCORER, _message_of(reason), 0.0)
        return {PASS: failure, SCORE: failure._replace(counted_as=score or 0.0)}
    if score is None:
        raise refusal(file.path, f"Score is {shorten(written, 40)!r}, and no number", line)
    passed, number = Score(float(status == "PASS")), number_or_failure(score)
    sheet.shadows[SCORE] = sheet.shadows.get(SCORE, True) and number == passed
    named = {
        name.removeprefix(_METRIC): number_or_failure(value)
        for name, index in group.columns.items()
        if name.startswith(_METRIC) and (value := _number(cells[index])) is not None
    }
    return {PASS: passed, SCORE: number, **named}


def _cell(cells: Sequence[Any], group: Group, name: str) -> str:
    index = group.columns.get(name)
    return "" if index is None else str(cells[index])


def _number(text: str) -> float | None:
    try:
        return float(text.removeprefix(_QUOTED))
    except ValueError:
        return None
