"""Questions with answers: tasks of lm-eval, OpenAI Evals, samples in a log of Inspect, HumanEval and MBPP.

Each names a data file and says how a reply is compared, which becomes checks of each row, or code to run.
None of them names a model, so any may reply.
"""

import ast
import json
import re
import shlex
import string
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from optimize_eval.base import strict_json, strict_yaml
from optimize_eval.foreign.project import (
    ANY_MODEL,
    DATA,
    TASK,
    NotTaken,
    Project,
    SourceFolder,
    Table,
    as_list,
    read_text,
    refuse,
    rows_of_lines,
    rows_of_table,
    table_in,
)

_PASS = {"use": "@checks@pass", "name": "pass"}
_FIELD = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}")


def _any_reply(project: Project) -> None:
    project.run["models"] = [ANY_MODEL]
    project.change("model", f"the file names none, so {ANY_MODEL} replies: name yours")


def _texts(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(text, str) and text for text in listed):
        raise NotTaken("what is right is not a text, and no list of texts")
    return listed


def _any_of(key: str, several: str, texts: list[str], **beside: object) -> Table:
    return {key: texts[0], **beside} if len(texts) == 1 else {several: texts, **beside}


def _pattern(texts: Iterable[str], start: str, end: str) -> str:
    return f"{start}(?:{'|'.join(map(re.escape, texts))}){end}"


def _ask(project: Project, key: str) -> None:
    """Let rows be sent as they are: texts by a prompt, messages by a task."""
    if all(isinstance(row["input"], str) for row in project.rows):
        project.prompts["input.txt"] = "{{input}}"
        project.evaluators.append(dict(_PASS))
        _any_reply(project)
        return
    for row in project.rows:
        row["input"] = (
            [{"role": "user", "content": row["input"]}] if isinstance(row["input"], str) else row["input"]
        )
    project.files[TASK] = _TASK.replace("KEY", json.dumps(key))
    project.change("inputs of several messages", "a task sends them, and a bench ranks models by it")


_TASK = """\
key: KEY
display_name: KEY
description: Made of another tool's file; NOTES.md says what was imported.
definition:
  dataset: {key: data}
  solver:
    type: single_turn_solver
    input_builder: {type: generic, template: '{"messages": {{ sample.input | tojson }}}'}
  scorers:
    - {key: pass, type: evaluator, use: "@checks@pass"}
"""


def _check_messages(value: object) -> Any:
    """Give an input that can be sent."""
    if isinstance(value, str) and value:
        return value
    if not isinstance(value, list) or not value:
        raise NotTaken("its input is not a text, and no list of messages")
    messages = []
    for message in value:
        match message:
            case {"role": ("system" | "user" | "assistant") as role, "content": str(content)}:
                messages.append({"role": role, "content": content})
            case _:
                raise NotTaken("a message of it is more than a role and a text")
    return messages


def _add_rows(project: Project, samples: Iterable[tuple[str, Table]], make: Callable[[Table], Table]) -> None:
    for where, sample in samples:
        try:
            project.rows.append(make(sample))
            project.take("samples")
        except NotTaken as reason:
            project.leave("sample", reason, where)


# lm-eval

_KNOWN = {
    *(
        "task",
        "task_alias",
        "tag",
        "group",
        "metadata",
        "output_type",
        "include",
        "unsafe_code",
        "description",
    ),
    *("dataset_path", "dataset_name", "dataset_kwargs", "test_split", "validation_split", "training_split"),
    *("fewshot_split", "num_fewshot", "fewshot_delimiter", "target_delimiter", "repeats", "doc_to_text"),
    *("doc_to_target", "generation_kwargs", "metric_list", "filter_list", "should_decontaminate"),
    *("doc_to_decontamination_query",),
}


def read_lm_eval(path: str) -> Project:
    """Read a task of lm-eval that generates; what compares probabilities of texts is refused."""
    folder = SourceFolder(path)
    task = _lm_eval_task(path, folder)
    project = Project("lm-eval", Path(path).name)
    kind = task.get("output_type", "generate_until")
    if kind != "generate_until":
        raise refuse(
            path, f"its output_type is {kind}: that asks for the probabilities of texts, which no chat tells"
        )
    for key in ("process_docs", "doc_to_text", "custom_dataset"):
        if isinstance(task.get(key), strict_yaml.Code):
            raise refuse(
                path, f"{key} is code ({task[key]}), which nobody runs here: without it the rows are others"
            )
    for key in sorted(map(str, task.keys() - _KNOWN)):
        project.leave(f"key {key}", "there is nothing like it here")
    if task.get("num_fewshot"):
        project.leave("num_fewshot", "no examples are put before the prompt: write them into it")
    columns = _lm_eval_rows(task, folder, project)
    text = _template(task.get("doc_to_text"), columns, path, "doc_to_text")
    project.prompts["prompt.txt"] = f"{task.get('description') or ''}{text}"
    project.take("prompts")
    check = _lm_eval_check(task, columns, project, path)
    project.files["checks.json"] = json.dumps([check] if check else [], ensure_ascii=False, indent=2) + "\n"
    project.evaluators.append({"use": "@checks@pass --checks checks.json", "name": "pass"})
    if not check:
        project.change("score", "no metric could be imported, so nothing is scored: write checks.json")
    _lm_eval_settings(task, project)
    return project


def _lm_eval_task(path: str, folder: SourceFolder) -> Table:
    """Read the file, over the one that it includes."""
    task: Table = {}
    text, seen = read_text(path), 0
    while True:
        try:
            value = strict_yaml.loads(text, strict_yaml.WithCode)
        except strict_yaml.YamlFault as fault:
            raise refuse(path, fault.reason, fault.line, fault.column) from None
        if not isinstance(value, dict):
            raise refuse(path, "it is not a task of lm-eval")
        task, seen, included = {**value, **task}, seen + 1, value.get("include")
        if not isinstance(included, str) or seen > 8:  # noqa: PLR2004  deeper than anybody includes
            return task
        try:
            text = folder.read(included)
        except NotTaken as reason:
            raise refuse(path, f"include: {reason}") from None


def _template(value: object, columns: set[str], path: str, key: str) -> str:
    """Give a template; the name of a column stands for what is in it."""
    if not isinstance(value, str) or not value:
        raise refuse(path, f"{key} is not a text")
    return f"{{{{{value}}}}}" if value in columns or re.fullmatch(r"[a-z_]\w*", value) else value


def _lm_eval_rows(task: Table, folder: SourceFolder, project: Project) -> set[str]:
    """Read the rows where they are a file beside the task; otherwise say how they are made one."""
    named = table_in(task, "dataset_kwargs").get("data_files")
    path, name = (str(task.get(key) or "") for key in ("dataset_path", "dataset_name"))
    split = str(task.get("test_split") or task.get("validation_split") or "test")
    file = (named.get(split) or next(iter(named.values()), None)) if isinstance(named, dict) else named
    if path in {"json", "csv"} and isinstance(file, str):
        try:
            project.rows += _rows_in(folder, file)
            project.take("samples", len(project.rows))
            return {key for row in project.rows for key in row}
        except NotTaken as reason:
            project.leave("data_files", reason)
    if not path or path in {"json", "csv", "parquet"}:
        project.before.append(f"write the rows to {DATA} in the new folder: they are not beside the task")
        return set()
    arguments = ", ".join(json.dumps(value) for value in (path, name) if value)
    load = f"load_dataset({arguments}, split={json.dumps(split)}).to_json({DATA!r})"
    command = f"python3 -c {shlex.quote(f'from datasets import load_dataset; {load}')}"
    project.before.append(f"fetch the rows, in the new folder, as nothing is fetched here: {command}")
    return set()


def _rows_in(folder: SourceFolder, name: str) -> list[Table]:
    text = folder.read(name)
    if name.endswith(".csv"):
        return [dict(row) for row in rows_of_table(text)]
    if name.endswith(".json") and text.lstrip().startswith("["):
        try:
            rows = strict_json.loads(text, unique_keys=False)
        except strict_json.JsonFault as fault:
            raise NotTaken(f"{name} is not JSON: {fault.reason}") from None
        return [row for row in rows if isinstance(row, dict)]
    return [row for _, row in rows_of_lines(text, name)]


def _lm_eval_check(task: Table, columns: set[str], project: Project, path: str) -> Table | None:
    """Make the one check of all rows, in whose text a field of the row may stand."""
    check = None
    for said in as_list(task.get("metric_list") or "exact_match"):
        metric = said if isinstance(said, dict) else {"metric": said}
        try:
            _refuse_metric(metric.get("metric"), task)
            check = _exact_match(task, metric, columns, path)
            project.take("metric exact_match")
        except NotTaken as reason:
            project.leave(f"metric {metric.get('metric')}", reason)
    return check


def _refuse_metric(name: object, task: Table) -> None:
    if isinstance(name, strict_yaml.Code) or task.get("process_results"):
        raise NotTaken("code computes it, which nobody runs here")
    if name != "exact_match":
        raise NotTaken("it is computed otherwise here, if at all: optimize-eval evaluators lists metrics")


def _exact_match(task: Table, metric: Table, columns: set[str], path: str) -> Table:
    for key in ("regexes_to_ignore", "ignore_punctuation", "ignore_numbers"):
        if metric.get(key):
            raise NotTaken(f"{key} changes both texts: write rows without it, and add a check to checks.json")
    target = task.get("doc_to_target")
    if isinstance(target, strict_yaml.Code):
        raise NotTaken("doc_to_target is code, which nobody runs here")
    text = _template(target, columns, path, "doc_to_target")
    if "{{" in _FIELD.sub("", text) or "{%" in text:
        raise NotTaken("doc_to_target has code in its template")
    return {"equals": text, **({"ignore_case": True} if metric.get("ignore_case") else {})}


def _lm_eval_settings(task: Table, project: Project) -> None:
    said = table_in(task, "generation_kwargs")
    stops = [text for text in as_list(said.get("until")) if isinstance(text, str) and text]
    most, temperature = said.get("max_gen_toks"), said.get("temperature")
    table: Table = {"name": "model", "model": ANY_MODEL}
    table |= {"stop": stops} if stops else {}
    table |= {"max_tokens": most} if type(most) is int and most > 0 else {}
    if said.get("do_sample") is False:
        table["temperature"] = 0
    elif isinstance(temperature, int | float) and 0 <= temperature <= _HOTTEST:
        table["temperature"] = temperature
    project.models.append(table)
    project.change("model", f"the file names none, so {ANY_MODEL} replies, by messages: name yours")
    if type(repeats := task.get("repeats")) is int and repeats > 1:
        project.run["repeats"] = repeats
    _lm_eval_filter(task.get("filter_list"), project)


def _lm_eval_filter(filters: object, project: Project) -> None:
    """Take over the first filter, where it is one pattern whose first match counts."""
    for number, entry in enumerate(as_list(filters)):
        steps = as_list(entry.get("filter")) if isinstance(entry, dict) else []
        steps = [step for step in steps if isinstance(step, dict) and step.get("function") != "take_first"]
        match steps:
            case []:
                pass
            case [{"function": "regex", "regex_pattern": str(pattern)} as step] if not number:
                _take_filter(pattern, step, project)
            case _:
                project.leave(f"filter {entry.get('name')}", _WHICH_FILTER)


_HOTTEST = 2
_WHICH_FILTER = "--extract takes the first match of one pattern"


def _take_filter(pattern: str, step: Table, project: Project) -> None:
    try:
        re.compile(pattern)
        is_one = bool(pattern) and step.get("group_select", 0) == 0
    except (re.error, OverflowError, RecursionError):
        is_one = False
    if not is_one:
        project.leave(f"filter {pattern}", _WHICH_FILTER)
        return
    project.run["extract"] = f"regex:{pattern}"
    project.take("filters")


# OpenAI Evals


def _match(texts: list[str], _arguments: Table) -> Table:
    return {"starts_with": texts[0]} if len(texts) == 1 else {"regex": _pattern(texts, r"\A", "")}


def _includes(texts: list[str], arguments: Table) -> Table:
    return _any_of(
        "contains", "contains_any", texts, **({"ignore_case": True} if arguments.get("ignore_case") else {})
    )


def _fuzzy_match(texts: list[str], _arguments: Table) -> Table:
    return _any_of("contains", "contains_any", texts, ignore_case=True)


def _json_match(texts: list[str], _arguments: Table) -> Table:
    try:
        (value,) = [strict_json.loads(text, unique_keys=False) for text in texts]
    except ValueError:
        raise NotTaken("what is right is not one JSON value") from None
    return {"equals": value if isinstance(value, dict | list) else json.dumps(value)}


_CLASSES: Mapping[str, Callable[[list[str], Table], Table]] = {
    "evals.elsuite.basic.match:Match": _match,
    "evals.elsuite.basic.includes:Includes": _includes,
    "evals.elsuite.basic.fuzzy_match:FuzzyMatch": _fuzzy_match,
    "evals.elsuite.basic.json_match:JsonMatch": _json_match,
}
_GRADED = "modelgraded"


def read_openai_evals(path: str) -> Project:
    """Read an entry of the registry of OpenAI Evals, and the samples that it names."""
    project = Project("OpenAI Evals", Path(path).name)
    name, entry = _entry(path, project)
    compare = _CLASSES.get(entry["class"])
    if compare is None:
        known = ", ".join(each.rpartition(":")[2] for each in _CLASSES)
        judged = "; a model grades it: a judge does so here (docs/judges.md)" * (_GRADED in entry["class"])
        raise refuse(path, f"{name} is of the class {entry['class']}; known are {known}{judged}")
    if compare is _fuzzy_match:
        project.change("FuzzyMatch", "it is contains, without case; what is right may not contain the reply")
    arguments = table_in(entry, "args")
    for key in sorted(map(str, arguments.keys() - {"samples_jsonl", "ignore_case"})):
        project.leave(f"argument {key}", "there is nothing like it here")

    def make(sample: Table) -> Table:
        check = compare(_texts(sample.get("ideal")), arguments)
        if any("name" in message for message in as_list(sample.get("input")) if isinstance(message, dict)):
            project.change("names of messages", "messages have a role and a text here, and no name")
        return {"input": _check_messages(sample.get("input")), "ideal": sample["ideal"], "checks": [check]}

    file = str(arguments.get("samples_jsonl"))
    try:
        text = _samples_of_registry(path, file)
    except NotTaken as reason:
        raise refuse(path, f"{name}: {reason}") from None
    _add_rows(project, ((f"line {number}", row) for number, row in rows_of_lines(text, file)), make)
    _ask(project, _key_of(name))
    return project


def _entry(path: str, project: Project) -> tuple[str, Table]:
    """Find the first entry that has a class."""
    try:
        registry = strict_yaml.loads(read_text(path))
    except strict_yaml.YamlFault as fault:
        raise refuse(path, fault.reason, fault.line, fault.column) from None
    said = registry.items() if isinstance(registry, dict) else ()
    entries = {
        str(name): entry for name, entry in said if isinstance(table_in(registry, name).get("class"), str)
    }
    if not entries:
        raise refuse(path, "no entry of it has a class")
    first, *others = entries
    for other in others:
        project.leave(f"eval {other}", "the first one is imported: put each into a file of its own")
    return first, entries[first]


def _key_of(name: object) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", str(name)).strip("-")[:80] or "task"


def _samples_of_registry(path: str, file: str) -> str:
    """Read samples, which stand in `data` beside the registry's `evals`."""
    folder = SourceFolder(path)
    if folder.root.name == "evals":
        folder.root = folder.root.parent
        return folder.read(f"data/{file}")
    return folder.read(file)


# Inspect

_PUNCTUATION = r"[\s!-/:-@\[-`{-~]*"
_BLANKS = string.whitespace + string.punctuation


def _inspect_match(texts: list[str], options: Table) -> Table:
    location = options.get("location", "end")
    if options.get("numeric") or location not in ("begin", "end", "any"):
        raise NotTaken("match of numbers, or of the whole text, is not taken")
    start = rf"\A{_PUNCTUATION}" if location == "begin" else ""
    end = rf"{_PUNCTUATION}\Z" if location == "end" else ""
    pattern = _pattern((text.strip(_BLANKS) or text for text in texts), start, end)
    return {"regex": pattern, **({} if options.get("ignore_case") is False else {"ignore_case": True})}


def _inspect_includes(texts: list[str], options: Table) -> Table:
    beside = {} if options.get("ignore_case") is False else {"ignore_case": True}
    return _any_of("contains", "contains_any", texts, **beside)


_SCORERS: Mapping[str, Callable[[list[str], Table], Table]] = {
    "match": _inspect_match,
    "includes": _inspect_includes,
}
_GRADERS = {"model_graded_qa", "model_graded_fact"}


def read_inspect(path: str) -> Project:
    """Read the samples of a log of Inspect that is JSON."""
    if Path(path).suffix == ".eval":
        advice = "inspect log convert --to json --output-dir . LOG, and import that"
        raise refuse(path, f"it is a log in a zip: {advice}")
    log = _log(path)
    project = Project("Inspect", Path(path).name)
    _read_solvers(table_in(log, "plan").get("steps"), project)
    about = table_in(log, "eval")
    checks, has_judge = _read_scorers(about.get("scorers"), project)

    def make(sample: Table) -> Table:
        return _inspect_row(sample, checks, needs_target=bool(checks) or has_judge)

    once = [sample for sample in log["samples"] if isinstance(sample, dict) and sample.get("epoch", 1) == 1]
    _add_rows(project, ((f"sample {number}", sample) for number, sample in enumerate(once, 1)), make)
    epochs = table_in(about, "config").get("epochs")
    if type(epochs) is int and epochs > 1:
        project.run["repeats"] = epochs
    _ask(project, _key_of(about.get("task", "task")))
    if has_judge and not project.is_task:
        project.evaluators = [*(project.evaluators if checks else ()), dict(_JUDGE)]
        project.change("model_graded_qa", f"a judge is asked in its own words: {ANY_MODEL}, name yours")
    return project


_JUDGE = {
    "name": "rubric",
    "judge": ANY_MODEL,
    "objective": 'The candidate answers "input" as "target" says.',
    "shows": ["input", "target"],
}


def _log(path: str) -> Table:
    try:
        log = json.loads(read_text(path), parse_constant=lambda _name: None)  # it may have the bare word NaN
    except (ValueError, RecursionError) as error:
        raise refuse(path, f"it is not JSON: {error}") from None
    if not isinstance(log, dict) or not isinstance(log.get("samples"), list) or not log["samples"]:
        raise refuse(path, "it has no samples: only a log of all samples has them")
    return log


def _read_solvers(steps: object, project: Project) -> None:
    for step in as_list(steps):
        name = str(step.get("solver")).rpartition("/")[2] if isinstance(step, dict) else ""
        template = table_in(step, "params").get("template")
        if name == "system_message" and isinstance(template, str) and "{" not in template:
            project.files["system.txt"] = template
            project.run["system"] = "system.txt"
        elif name != "generate":
            project.leave(f"solver {name}", "the input is sent as it is, once")


def _read_scorers(scorers: object, project: Project) -> tuple[list[Callable[[list[str]], Table]], bool]:
    """Give what makes a check of what is right, for each scorer; and whether a model grades."""
    checks: list[Callable[[list[str]], Table]] = []
    has_judge = False
    for scorer in as_list(scorers):
        name = str(scorer.get("name")).rpartition("/")[2] if isinstance(scorer, dict) else ""
        if name in _SCORERS:
            checks.append(partial(_named_check, name, table_in(scorer, "options")))
            project.take(f"scorer {name}")
        elif name in _GRADERS:
            has_judge = True
        else:
            project.leave(f"scorer {name}", "optimize-eval new evaluator begins one")
    if len(checks) > 1:
        project.change("several scorers", "each is a check by its name, and `pass` wants all of them")
    return checks, has_judge


def _named_check(name: str, options: Table, texts: list[str]) -> Table:
    return {**_SCORERS[name](texts, options), "name": name}


def _inspect_row(sample: Table, checks: list[Callable[[list[str]], Table]], *, needs_target: bool) -> Table:
    for key in ("choices", "files", "setup", "sandbox"):
        if sample.get(key):
            raise NotTaken(f"it has {key}")
    targets = _texts(sample.get("target")) if needs_target else []
    return {
        **({"id": str(sample["id"])} if "id" in sample else {}),
        "input": _check_messages(sample.get("input")),
        "target": sample.get("target"),
        "checks": [check(targets) for check in checks],
        **({"metadata": metadata} if (metadata := table_in(sample, "metadata")) else {}),
    }


# HumanEval and MBPP

_COMPLETE = """\
Complete this function. Reply with all of it, its imports too, as one block of code.

```python
{{prompt}}
```
"""
_WRITE = """\
{{text}}

Your code has to pass these tests:

{% for target in targets %}{{ target }}
{% endfor %}
Reply with one block of Python code."""


def read_code_problems(path: str) -> Project:
    """Read HumanEval or MBPP: each test becomes assertions, which code_exec runs in a sandbox."""
    text = read_text(path)
    rows = [*rows_of_lines(text, path)]
    if not rows:
        raise refuse(path, "it has no lines")
    is_humaneval = "entry_point" in rows[0][1]
    project = Project("HumanEval" if is_humaneval else "MBPP", Path(path).name)
    make = _humaneval_row if is_humaneval else _mbpp_row
    _add_rows(project, ((f"line {number}", row) for number, row in rows), make)
    project.prompts["prompt.txt"] = _COMPLETE if is_humaneval else _WRITE
    project.evaluators.append({"use": "@code_exec@assertions --all", "name": "passed"})
    project.change("pass@k", "set repeats = 5 under [run], and gate by --fail-under passed.pass@5=0.8")
    project.change(
        "prompt", "a chat is asked for the whole program, and nothing that it leaves out is put before it"
    )
    _any_reply(project)
    return project


def _humaneval_row(problem: Table) -> Table:
    name, test, prompt = (problem.get(key) for key in ("entry_point", "test", "prompt"))
    if not all(isinstance(value, str) and value for value in (name, test, prompt)):
        raise NotTaken("it lacks entry_point, test or prompt")
    return {
        "id": str(problem.get("task_id", name)),
        "prompt": prompt,
        "targets": _assertions(str(test), str(name)),
    }


def _mbpp_row(problem: Table) -> Table:
    text, tests = problem.get("text") or problem.get("prompt"), problem.get("test_list")
    if not isinstance(text, str) or not tests or not all(isinstance(test, str) for test in as_list(tests)):
        raise NotTaken("it lacks text or test_list")
    if problem.get("test_setup_code") or problem.get("test_imports"):
        raise NotTaken("its tests need code of their own before them")
    return {"id": str(problem.get("task_id", "")), "text": text, "targets": tests}


def _assertions(test: str, name: str) -> list[str]:
    """Give what a test asserts, where it is nothing but assertions; it is parsed, and never run."""
    try:
        body = ast.parse(test).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotTaken("its test is not Python") from None
    checks = [part for part in body if isinstance(part, ast.FunctionDef) and part.name == "check"]
    if len(checks) != 1 or not all(isinstance(part, ast.FunctionDef | ast.Assign) for part in body):
        raise NotTaken("its test is more than a function check")
    made = [_assertion(part, name) for part in checks[0].body if not _says_nothing(part)]
    if not made:
        raise NotTaken("its test asserts nothing")
    return made


def _says_nothing(part: ast.stmt) -> bool:
    """Return True of a docstring, of pass and of what asserts True."""
    said = part.value if isinstance(part, ast.Expr) else part.test if isinstance(part, ast.Assert) else None
    return isinstance(part, ast.Pass) or isinstance(said, ast.Constant)


def _assertion(part: ast.stmt, name: str) -> str:
    if not isinstance(part, ast.Assert):
        raise NotTaken("its test is more than assertions, such as a loop")
    return ast.unparse(_Renamed(name).visit(part.test))


class _Renamed(ast.NodeTransformer):
    """Calls the function by its own name, which the test calls `candidate`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._name, node.ctx) if node.id == "candidate" else node
