"""Test runs of DeepEval, as it writes them into its folder of results: test cases with the data of metrics.

A metric that ended in an error is a failure of this metric alone. A file is of one system, which is called
as the file.
"""

from collections import Counter
from collections.abc import Iterator

from optimize_eval.base.documents import JsonDict
from optimize_eval.foreign.reading import Fields, ForeignFile
from optimize_eval.foreign.rows import (
    LONGEST_MESSAGE,
    SCORER,
    Failure,
    Result,
    Row,
    Skip,
    System,
    count_of,
    example_of,
    number_or_failure,
    refusal,
    shorten,
)
from optimize_eval.foreign.sheet import Sheet

TOOL = "DeepEval"
_ERRORS = "errors"
_ASKED = ("input", "expectedOutput", "context", "retrievalContext")
_LARGE = "evaluate fewer test cases at once"


def read(file: ForeignFile, sheet: Sheet) -> None:
    """Read the test cases of a file."""
    value = file.value(_LARGE)
    document = Fields(value if isinstance(value, dict) else {}, file.path)
    if document.items("conversationalTestCases"):
        raise refusal(file.path, "it has conversations as test cases, which are not read")
    cases = [*_cases(document, file)]
    names = dict.fromkeys(name for case in cases for name, _ in _results(case))
    sheet.first = tuple(dict.fromkeys([*sheet.first, *names]))
    for position, case in enumerate(cases):
        results = dict(_results(case))
        sheet.counts[_ERRORS] += sum(isinstance(result, Failure) for result in results.values())
        sheet.add(
            Row(
                system=System("", file.stem),
                column=0,
                example=example_of(
                    {key: case.value.get(key) for key in _ASKED},
                    case.value.get("name"),
                    case.value.get("input"),
                ),
                position=position,
                repeat=None,
                results=results,
                side_info=_side_info(case),
                seconds=case.number("runDuration"),
            )
        )


def _cases(document: Fields, file: ForeignFile) -> Iterator[Fields]:
    for number, case in enumerate(document.items("testCases")):
        if not isinstance(case, dict):
            raise refusal(file.path, f"testCases[{number}] is not an object")
        yield Fields(case, file.path, None, f"testCases[{number}].")


def _metrics(case: Fields) -> Iterator[tuple[str, Fields]]:
    """Name the metrics of a test case; one of a name that is there already has a number."""
    seen: Counter[str] = Counter()
    for number, metric in enumerate(case.items("metricsData")):
        if not isinstance(metric, dict):
            raise case.refuse(f"metricsData[{number}]", "is not an object")
        fields = Fields(metric, case.path, None, f"{case.where}metricsData[{number}].")
        name = fields.text("name")
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} {seen[name]}"), fields


def _results(case: Fields) -> Iterator[tuple[str, Result]]:
    for name, metric in _metrics(case):
        yield name, _result(metric)


def _result(metric: Fields) -> Result:
    if error := metric.value.get("error"):
        return Failure(SCORER, shorten(error, LONGEST_MESSAGE))
    if (score := metric.number("score")) is None and metric.value.get("skipped") is True:
        return Skip("the metric was skipped")
    return number_or_failure(score)


def _side_info(case: Fields) -> JsonDict:
    reasons = {f"{name}_reason": metric.value.get("reason") for name, metric in _metrics(case)}
    said = {"output": case.value.get("actualOutput"), **reasons}
    return {key: shorten(text) for key, text in said.items() if text is not None}


def end(sheet: Sheet) -> None:
    """Say how many metrics failed."""
    if many := sheet.counts[_ERRORS]:
        sheet.says_errors = f"{count_of(many, 'metric')} with an error"
