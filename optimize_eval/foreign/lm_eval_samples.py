"""What lm-eval writes with --log_samples: a file a task, a line for each document and filter.

Which model it was, and in which direction a metric is better, stands in the results beside it. A metric whose
lower values are better is stored as its negative, and its name says so. What stands beside a document may be
something else than the metric: of a perplexity it is a log-likelihood, and more is better.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.documents import JsonMapping
from optimize_eval.foreign.reading import Fields, ForeignFile
from optimize_eval.foreign.rows import (
    Example,
    Result,
    Row,
    Score,
    System,
    example_of,
    number_or_failure,
    refusal,
    shorten,
)
from optimize_eval.foreign.sheet import Sheet

TOOL = "lm-eval"
NO_SAMPLES = "has no samples: `lm-eval run … --log_samples` writes them beside it"
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\w.-]+)\.jsonl")
_RESULTS = re.compile(r"results_(?P<date>\d{4}-\d\d-\d\dT[\w.-]+)\.json")
_MOST_DOCUMENTS = 100_000_000
_MEAN, _PERPLEXITY, _LOGARITHM = "mean", "perplexity", "log_likelihood"
_WHOLE = "name the file of samples alone"


class About(NamedTuple):
    """What is known of a file besides its lines."""

    task: str
    model: str
    version: str
    lower: frozenset[str]  # metrics of which less is better
    made_by: Mapping[str, str]  # how metrics are made of what documents have
    part: str  # words for a part of the documents


def samples_beside(path: str) -> list[str]:
    """Find the samples of the evaluation whose results a file has; none where it has no such name."""
    match = _RESULTS.fullmatch(Path(path).name)
    beside = Path(path).parent.glob(f"samples_*_{match['date']}.jsonl") if match else ()
    return sorted(str(file) for file in beside)


def task_of(file: ForeignFile) -> str:
    match = _NAME.fullmatch(file.name)
    return match["task"] if match else file.stem


def read(file: ForeignFile, sheet: Sheet) -> None:
    """Read a file of samples; lines of one document are one row."""
    about = _about(file)
    sheet.task, sheet.version = about.task, about.version or sheet.version
    documents: dict[tuple[int, str], tuple[Fields, dict[str, Result]]] = {}
    for number, value in file.lines():
        line = Fields(value, file.path, number)
        key = line.integer("doc_id", _MOST_DOCUMENTS), line.text("doc_hash", "")
        _, results = documents.setdefault(key, (line, {}))
        for name, result in _results(line, about, sheet):
            if name in results:
                raise refusal(file.path, f"the document {key[0]} has {name} twice", number)
            results[name] = result
    names = [name for _, results in documents.values() for name in results]
    sheet.first = tuple(dict.fromkeys([*sheet.first, *names]))
    if not names:
        raise refusal(file.path, "no metric has a score for each document")
    if about.part:
        sheet.note(f"{file.name}: {about.part}")
    for position, ((_, _), (line, results)) in enumerate(sorted(documents.items(), key=lambda item: item[0])):
        sheet.add(
            Row(
                system=System("", about.model),
                column=0,
                example=_example(line),
                position=position,
                repeat=1,
                results=results,
                side_info=_side_info(line),
            )
        )


def _about(file: ForeignFile) -> About:
    """Read the results beside a file, where there are some; else its folder is called as the model."""
    match, here = _NAME.fullmatch(file.name), Path(file.path)
    task, folder = task_of(file), here.absolute().parent.name
    path = here.with_name(f"results_{match['date']}.json") if match else here
    if not match or not path.is_file():
        return About(task, folder, "", frozenset(), {}, "")
    value = ForeignFile(str(path)).value(_WHOLE)
    results = Fields(value if isinstance(value, dict) else {}, str(path))
    better = results.fields("higher_is_better").table(task)
    counts = results.fields("n-samples").table(task)
    effective, original = counts.get("effective"), counts.get("original")
    return About(
        task=task,
        model=results.text("model_name", "") or folder,
        version=results.text("lm_eval_version", ""),
        lower=frozenset(name for name, is_better in better.items() if is_better is False),
        made_by=_made_by(results.fields("configs").fields(task)),
        part=f"{effective} of {original} documents" if effective != original else "",
    )


def _made_by(config: Fields) -> dict[str, str]:
    metrics = [each for each in config.items("metric_list") if isinstance(each, dict)]
    return {str(each.get("metric")): str(each.get("aggregation", _MEAN)) for each in metrics}


def _results(line: Fields, about: About, sheet: Sheet) -> Iterator[tuple[str, Result]]:
    picked = line.text("filter", "none")
    for metric in line.items("metrics"):
        if not isinstance(metric, str) or metric not in line.value:
            raise line.refuse("metrics", f"names {shorten(metric, 40)!r}, which the line does not have")
        name, value = f"{metric},{picked}", line.value[metric]
        if isinstance(value, list | dict):
            sheet.note(f"{name} has no score for each document, and is left out")
        elif _PERPLEXITY in {metric, about.made_by.get(metric)}:
            logarithm = f"{_LOGARITHM},{picked}"
            sheet.note(f"{name} is made of {logarithm}, of which more is better")
            yield logarithm, number_or_failure(value)
        elif metric in about.lower:
            sheet.note(f"of {name} less is better: -{name} is its negative")
            yield f"-{name}", _negative(number_or_failure(value))
        else:
            if (made_by := about.made_by.get(metric, _MEAN)) != _MEAN:
                sheet.note(f"{name} is a mean here, and in lm-eval {shorten(made_by, 40)}")
            yield name, number_or_failure(value)


def _negative(result: Result) -> Result:
    return Score(-result.value) if isinstance(result, Score) and result.value is not None else result


def _example(line: Fields) -> Example:
    identity = line.value["doc_id"]
    content = {"doc_id": identity, "doc_hash": line.value.get("doc_hash")}
    first = line.fields("arguments").table("gen_args_0").get("arg_0")
    return example_of(content, str(identity), first if isinstance(first, str) else None)


def _side_info(line: Fields) -> JsonMapping:
    replies = line.items("filtered_resps")
    said = {"output": replies[0] if replies else None, "target": line.value.get("target")}
    return {key: shorten(value) for key, value in said.items() if value is not None}
