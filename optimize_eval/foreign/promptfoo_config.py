"""A configuration of promptfoo: its prompts, providers and tests, whose assertions become checks of each row.

Templates are filled in here where they only name variables; with code in them (`{% %}`, filters, calls) they
are left out, but for prompts, which are templates here, too. Plain values are read as JavaScript has them.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base import strict_yaml
from optimize_eval.foreign.project import (
    ANY_MODEL,
    CODE_SUFFIXES,
    MOST_ROWS,
    NotTaken,
    Project,
    SourceFolder,
    Table,
    as_list,
    file_name,
    read_text,
    refuse,
    rows_of_table,
    table_in,
)
from optimize_eval.foreign.promptfoo_checks import (
    ASSERTIONS,
    BRACES,
    IS_CODE,
    NAME,
    TYPES,
    check_of,
    fill,
    number_in,
    plain_data,
    value_text,
)
from optimize_eval.foreign.promptfoo_models import model_table, read_models

TOOL = "promptfoo"
_MEDIA = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".pdf", ".mp3", ".wav", ".mp4", ".webm")
_OF_FILES = ("file://", "http://", "https://", "package:", "huggingface://", "az://", "exec:", "langfuse://")
_FILE = "file://"
_OVERLOOKED = {  # keys that say nothing of what is compared
    *("description", "prompts", "providers", "targets", "tests", "scenarios", "defaultTest", "outputPath"),
    *("sharing", "tags", "writeLatestResults", "evaluateOptions", "commandLineOptions", "assertionTemplates"),
    *("$schema", "metadata", "outputs"),
}
_CHECKS, _DEMANDS = "checks", "must"
GRADER = "grader"
_ROUNDS = 5  # of variables that name variables


def read(path: str) -> Project:
    """Read a configuration that somebody named."""
    if path.endswith(CODE_SUFFIXES):
        raise refuse(path, f"{IS_CODE}: write what it exports as YAML or JSON, and import that")
    config = _value_in(path, read_text(path))
    if not isinstance(config, dict):
        raise refuse(path, "it is not a configuration of promptfoo")
    folder = SourceFolder(path)
    project = Project(TOOL, Path(path).name, str(folder.root))
    reader = _Reader(config, folder, project)
    for key in sorted(config.keys() - _OVERLOOKED):
        project.leave(f"key {key}", "there is nothing like it here")
    _PromptReader(reader).read_all(config.get("prompts", "{{prompt}}"))
    reader.used = {name for text in project.prompts.values() for name in _names_in(text)}
    _read_tests(reader)
    read_models(config.get("providers") or config.get("targets"), project, reader.data_of)
    _read_settings(config, project)
    if not any(table["name"] != GRADER for table in project.models):
        project.run["models"] = [ANY_MODEL]
        project.change("providers", f"none could be imported, so {ANY_MODEL} replies: name yours")
    return project


def _value_in(path: str, text: str) -> Any:
    try:
        return plain_data(text)
    except strict_yaml.YamlFault as fault:
        raise refuse(path, fault.reason, fault.line, fault.column) from None
    except NotTaken as reason:
        raise refuse(path, str(reason)) from None


class _Reader:
    """A configuration while it is read: its folder, what is made of it, and how it refers to itself."""

    def __init__(self, config: Table, folder: SourceFolder, project: Project) -> None:
        self.config = config
        self.folder = folder
        self.project = project
        self.default = self._default_test()
        self.used: set[str] = set()  # variables that prompts name
        self.models: dict[str, str] = {}  # of judges: what was named → its table

    def _default_test(self) -> Table:
        said = self.config.get("defaultTest") or {}
        try:
            said = self.data_of(said) if isinstance(said, str) else said
        except NotTaken as reason:
            self.project.leave("defaultTest", reason)
            said = {}
        return said if isinstance(said, dict) else {}

    def data_of(self, name: str) -> Any:
        """Read a file of data that is named."""
        path = _local(name)
        try:
            return plain_data(self.folder.read(path))
        except strict_yaml.YamlFault as fault:
            raise NotTaken(f"{path}: {fault}") from None

    def assertion_from(self, value: Any) -> Table:
        """Give an assertion, also one that is named: `$ref: '#/assertionTemplates/x'`."""
        reference = value.get("$ref") if isinstance(value, dict) else None
        made = self._target_of(value, reference) if isinstance(reference, str) else value
        if not isinstance(made, dict) or not isinstance(made.get("type"), str):
            raise NotTaken("it has no type")
        return made

    def _target_of(self, value: Table, reference: str) -> Table:
        target: object = self.config
        for part in reference.removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, dict) else None
        if not isinstance(target, dict) or "$ref" in target:
            raise NotTaken(f"$ref {reference} names nothing in the file")
        return {**target, **{key: item for key, item in value.items() if key != "$ref"}}


def _local(name: object) -> str:
    """Give the path of a file that can be read as data."""
    if not isinstance(name, str):
        raise NotTaken("it is not a file name")
    path = name.removeprefix(_FILE)
    if path.partition(":")[0].endswith(CODE_SUFFIXES):
        raise NotTaken(IS_CODE)
    if path.startswith(_OF_FILES):
        raise NotTaken("it is elsewhere, and nothing is fetched")
    if path.endswith(_MEDIA):
        raise NotTaken("images, sound and documents are not taken")
    return path


# Prompts

_ROLES = {"system", "user", "assistant"}
_PROMPT_FILES = (".txt", ".md", ".j2", ".json", ".jsonl", ".yaml", ".yml", ".csv", *CODE_SUFFIXES)
_SEPARATOR = re.compile(r"(?m)^[ \t]*---[ \t]*\r?$")


class _PromptReader:
    """What becomes files in `prompts`: each with one message, or with messages of several roles."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self._project = reader.project

    def read_all(self, said: object) -> None:
        named = (
            [{"raw": path, "label": label} for path, label in said.items()]
            if isinstance(said, dict)
            else said
        )
        for number, entry in enumerate(as_list(named), 1):
            where = f"prompt {number}"
            try:
                self._read(entry, where)
            except NotTaken as reason:
                self._project.leave("prompt", reason, where)

    def _read(self, entry: object, where: str) -> None:
        table = entry if isinstance(entry, dict) else {"raw": entry}
        raw, label = table.get("raw") or table.get("content") or table.get("id"), table.get("label")
        if not isinstance(raw, str):
            raise NotTaken("it is not a text")
        if "config" in table:
            self._project.leave("config of a prompt", "models are called alike for all prompts", where)
        if not _is_file(raw):
            self._add(raw, str(label or where.replace(" ", "-")), where)
            return
        for path in self._reader.folder.matching(_local(raw)):
            texts = self._texts_in(path)
            for text in texts:
                self._add(text, str(label or Path(path).stem), where)

    def _texts_in(self, path: str) -> list[str]:
        text, suffix = self._reader.folder.read(path), Path(path).suffix.lower()
        if suffix == ".txt":
            return [each.strip() for each in _SEPARATOR.split(text) if each.strip()]
        if suffix == ".jsonl":
            return [line for line in text.splitlines() if line]
        if suffix == ".csv":
            return [row["prompt"] for row in rows_of_table(text) if row.get("prompt")]
        if suffix in {".yaml", ".yml"}:
            return [json.dumps(self._reader.data_of(path), ensure_ascii=False)]
        return [text]

    def _add(self, text: str, name: str, where: str) -> None:
        if text.startswith(_OF_FILES):
            raise NotTaken("it is elsewhere, and nothing is fetched")
        messages = _messages_in(text)
        text = text if messages is None else json.dumps(messages, ensure_ascii=False, indent=2) + "\n"
        if re.search(r"\{\{-?\s*env\b", text):
            raise NotTaken("it takes a value of the environment")
        text = re.sub(r"\|\s*dump\b", "| tojson", text)
        if "{%" in text or re.search(r"\{\{[^{}]*[|(\[]", text):
            self._project.change("code in a prompt's template", "Jinja reads it here, Nunjucks there", where)
        name = file_name(name, self._project.prompts, ".txt" if messages is None else ".json")
        self._project.prompts[name] = text
        self._project.take("prompts")


def _is_file(raw: str) -> bool:
    has_file_name = raw.endswith(_PROMPT_FILES) or raw.partition(":")[0].endswith(CODE_SUFFIXES)
    return raw.startswith(_FILE) or ("\n" not in raw and "{{" not in raw and has_file_name)


def _messages_in(text: str) -> list[Table] | None:
    """Find the messages that a text is; None where it is one message of the user."""
    try:
        start = text.lstrip()
        if start.startswith("- role:"):
            value = plain_data(text)
        else:
            value = json.loads(text) if re.match(r"\{(?![{%#])|\[\s*\{(?![{%#])", start) else None
    except (ValueError, RecursionError, NotTaken):
        raise NotTaken("it becomes messages only when its template is filled in") from None
    if value is None:
        return None
    listed = value.get("messages") if isinstance(value, dict) and value.keys() == {"messages"} else value
    if not isinstance(listed, list) or not listed:
        raise NotTaken("it is JSON, and no list of messages")
    for message in listed:
        match message:
            case {"role": str(role), "content": str()} if role in _ROLES and message.keys() == {
                "role",
                "content",
            }:
                pass
            case _:
                raise NotTaken("a message of it is more than a role and a text")
    return listed


# Tests

_IN_TESTS = {"vars", "assert", "description", "options", "threshold", "metadata"}
_IN_OPTIONS = {"disableDefaultAsserts", "disableVarExpansion", "provider", "repeat"}


def _read_tests(reader: _Reader) -> None:
    project = reader.project
    if reader.config.get("scenarios"):
        tests: Iterator[tuple[str, Table]] = _scenario_tests(reader)
        tests = itertools.chain(tests, _listed_tests(reader, reader.config.get("tests") or []))
    else:
        tests = _listed_tests(reader, reader.config.get("tests") or [{}])
    for where, test in tests:
        try:
            _add_rows(reader, test, where)
        except NotTaken as reason:
            project.leave("test", reason, where)
    _add_evaluators(reader)
    _fill_up(project, reader.used)


def _listed_tests(reader: _Reader, said: object) -> Iterator[tuple[str, Table]]:
    number = 0
    for entry in as_list(said):
        try:
            is_test = isinstance(entry, dict) and "path" not in entry
            tests = [entry] if is_test else [*_tests_in(reader, entry)]
        except NotTaken as reason:
            reader.project.leave(f"tests {_name_of(entry)}", reason)
            continue
        for test in tests:
            number += 1
            if number > MOST_ROWS:
                raise refuse(reader.project.source, f"it has more than {MOST_ROWS:,} tests")
            if isinstance(test, dict):
                yield f"test {number}", test
            else:
                reader.project.leave("test", "it is not an object", f"test {number}")


def _name_of(entry: object) -> str:
    return str(entry.get("path") if isinstance(entry, dict) else entry)


def _tests_in(reader: _Reader, entry: object) -> Iterator[Any]:
    """Read the tests of a file, or of all files that a pattern stands for."""
    for path in reader.folder.matching(_local(_name_of(entry))):
        suffix = Path(path).suffix.lower()
        if suffix == ".csv":
            yield from map(_test_of_row, rows_of_table(reader.folder.read(path)))
        elif suffix == ".jsonl":
            yield from (plain_data(line) for line in reader.folder.read(path).splitlines() if line.strip())
        elif suffix in {".json", ".yaml", ".yml"}:
            yield from map(_test_of_data, as_list(reader.data_of(path)))
        else:
            raise NotTaken(f"tests in {suffix or 'such a file'} are not taken")


def _test_of_data(row: Any) -> Any:
    """Read a test of a file, which may be written as a row of a table is."""
    is_test = not isinstance(row, dict) or row.keys() & {"vars", "assert", "options", "description"}
    return row if is_test else _test_of_row({key: value_text(value) for key, value in row.items()})


def _scenario_tests(reader: _Reader) -> Iterator[tuple[str, Table]]:
    """Make the tests of scenarios: each of their configurations with each of their tests."""
    for number, scenario in enumerate(as_list(reader.config["scenarios"]), 1):
        where = f"scenario {number}"
        if not isinstance(scenario, dict):
            reader.project.leave("scenario", "it is not an object in this file", where)
            continue
        for data in as_list(scenario.get("config")) if isinstance(scenario.get("config"), list) else []:
            for which, test in _listed_tests(reader, scenario.get("tests") or [{}]):
                yield f"{where}, {which}", _merge(data if isinstance(data, dict) else {}, test)


def _merge(below: Table, above: Table) -> Table:
    merged = {**below, **above}
    for key in ("vars", "options", "metadata"):
        merged[key] = {**table_in(below, key), **table_in(above, key)}
    merged["assert"] = [*as_list(below.get("assert")), *as_list(above.get("assert"))]
    return merged


def _test_of_row(row: Mapping[str, str]) -> Table:
    """Read a row of a table as promptfoo does: columns that begin with __ are about the test."""
    test: Table = {"vars": {}, "assert": [], "metadata": {}}
    for key, value in row.items():
        if key.startswith("__expected"):
            test["assert"] += [_assertion_of(value.strip())] if value.strip() else []
        elif key.startswith("__metadata:"):
            test["metadata"][key.removeprefix("__metadata:")] = value
        elif key == "__threshold" and value.strip():
            test["threshold"] = number_in(value)
        elif key in {
            "__description",
            "__prefix",
            "__suffix",
            "__metric",
            "__providerOutput",
        } or key.startswith("__config:"):
            _set_of_column(test, key, value)
        elif key != "__threshold":
            test["vars"][key] = value
    for assertion in test["assert"] if (metric := test.pop("metric", "")) else ():
        assertion["metric"] = metric
    return test


def _set_of_column(test: Table, key: str, value: str) -> None:
    if not value.strip():
        return
    if key in {"__prefix", "__suffix"}:
        test.setdefault("options", {})[key[2:]] = value
    else:
        test[key.removeprefix("__").partition(":")[0]] = value


_EXPECTED = re.compile(r"((?:not-)?[a-z][a-z0-9:-]*?)(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?")


def _assertion_of(text: str) -> Table:
    """Read an assertion that is written as one text."""
    for start, kind in (("fn:", "javascript"), ("eval:", "javascript"), ("grade:", "llm-rubric")):
        if text.startswith(start):
            return {"type": kind, "value": text.removeprefix(start)}
    if text.startswith(_FILE):
        return {"type": "javascript", "value": text}
    if (match := _EXPECTED.fullmatch(text)) and match[1].removeprefix("not-") in ASSERTIONS:
        kind, threshold, value = match.groups()
        value = value if value is None else value.strip()
        return {"type": kind, "value": value, **({"threshold": float(threshold)} if threshold else {})}
    return {"type": "equals", "value": text}


def _add_rows(reader: _Reader, test: Table, where: str) -> None:
    """Make a row of a test, or several where its variables are lists."""
    default = reader.default
    options = {**table_in(default, "options"), **table_in(test, "options")}
    _check_test(reader, test, options, where)
    values = {**table_in(default, "vars"), **_variables(reader, test)}
    asserted = [] if options.get("disableDefaultAsserts") is True else as_list(default.get("assert"))
    asserted = [*asserted, *as_list(test.get("assert"))]
    metadata = {**table_in(default, "metadata"), **table_in(test, "metadata")}
    is_plain = bool(options.get("disableVarExpansion"))
    values = values if is_plain else {key: _files_of(reader, value) for key, value in values.items()}
    for chosen in _combinations(values, is_plain=is_plain):
        fields = _resolve({key: _value(reader, value) for key, value in chosen.items()})
        wanted = _wanted_of(reader, [*asserted], options, fields, where)
        row = {key: _as_written_there(value) for key, value in fields.items()}
        about = {"description": test.get("description"), "metadata": metadata}
        row = {**{key: value for key, value in about.items() if value and key not in reader.used}, **row}
        threshold = test.get("threshold", default.get("threshold"))
        reader.project.rows.append(row | wanted.fields(row, reader.used, threshold))
        reader.project.take("tests")
        if len(reader.project.rows) > MOST_ROWS:
            raise refuse(reader.project.source, f"its tests make more than {MOST_ROWS:,} rows")


def _check_test(reader: _Reader, test: Table, options: Table, where: str) -> None:
    if options.get("transformVars"):
        raise NotTaken("transformVars makes its variables by code")
    if options.get("prefix") or options.get("suffix"):
        raise NotTaken("prefix and suffix make a prompt of its own for it")
    for key in sorted({*test, *reader.default} - _IN_TESTS):
        reader.project.leave(f"{key} of a test", "all prompts and models are tried on all rows", where)
    for key in (
        options.keys() - _IN_OPTIONS - {"transform", "postprocess", "rubricPrompt", "prefix", "suffix"}
    ):
        reader.project.leave(f"option {key} of a test", "there is nothing like it here", where)


def _variables(reader: _Reader, test: Table) -> Table:
    said = test.get("vars")
    if isinstance(said, str | list):
        tables = [
            reader.data_of(name) for path in as_list(said) for name in reader.folder.matching(_local(path))
        ]
        return {key: value for table in tables if isinstance(table, dict) for key, value in table.items()}
    return said if isinstance(said, dict) else {}


def _files_of(reader: _Reader, value: object) -> Any:
    """Give a text for each file that a pattern stands for."""
    if not isinstance(value, str) or not value.startswith(_FILE) or "*" not in value:
        return value
    return [f"{_FILE}{path}" for path in reader.folder.matching(_local(value))]


def _combinations(values: Table, *, is_plain: bool) -> Iterator[Table]:
    """Give a test for each text of each list of texts."""
    if is_plain:
        yield values
        return
    lists = [
        value if isinstance(value, list) and value and isinstance(value[0], str) else [value]
        for value in values.values()
    ]
    for chosen in itertools.product(*lists):
        yield dict(zip(values, chosen, strict=True))


def _value(reader: _Reader, value: object) -> Any:
    """Give a variable's value: a file's content where it names one, and without the line's end."""
    if isinstance(value, str) and value.startswith(_FILE):
        path = _local(value)
        if path.endswith((".yaml", ".yml")):
            return json.dumps(reader.data_of(path), ensure_ascii=False, separators=(",", ":"))
        return reader.folder.read(path).strip()
    if isinstance(value, str) and value.startswith(_OF_FILES[3:4]):
        raise NotTaken(IS_CODE)
    return value.removesuffix("\n") if isinstance(value, str) else value


def _resolve(fields: Table) -> Table:
    """Fill in variables that name variables; what names one that is not there stays as it is."""
    made = dict(fields)
    for _ in range(_ROUNDS):
        changed = {key: fill(value, made) for key, value in made.items() if _names_others(value, made)}
        if not changed:
            break
        made |= changed
    return made


def _names_others(value: object, fields: Table) -> bool:
    if not isinstance(value, str) or not BRACES.search(value):
        return False
    return all(name.partition(".")[0] in fields for name in NAME.findall(value))


def _as_written_there(value: object) -> Any:
    """Give a value that a prompt writes as promptfoo's does."""
    if value is None or isinstance(value, bool | float):
        return value_text(value)
    return value


def _fill_up(project: Project, used: set[str]) -> None:
    """Give every row what prompts name, empty where it is not there, as it is in promptfoo's prompts."""
    missing: set[str] = set()
    for row in project.rows:
        missing |= (gaps := used - row.keys())
        row.update(dict.fromkeys(sorted(gaps), ""))
    for name in sorted(missing):
        project.change(f"{{{{{name}}}}}", "not every test has it: it is empty there, as in promptfoo")


_OWN_NAMES = re.compile(r"\{%-?\s*(?:for|set)\s([^%}=]{1,200}?)(?:\bin\b|=)")
_ASKED_NAMES = re.compile(r"\{%-?\s*(?:el)?if\s+(?:not\s+)?([A-Za-z_]\w*)\s*(?:==|!=|%|-%)")


def _names_in(text: str) -> set[str]:
    """Find the variables that a template needs."""
    own = {name for names in _OWN_NAMES.findall(text) for name in re.split(r"[\s,]+", names)}
    names = {name.split(".")[0] for name in NAME.findall(text)}
    return (names | {*_ASKED_NAMES.findall(text)}) - own - {"loop"}


# Assertions


class _Wanted(NamedTuple):
    """What the assertions of a test become: checks, and demands for a judge."""

    checks: list[Table]
    demands: list[str]

    def fields(self, row: Table, used: set[str], threshold: object) -> Table:
        """Give the fields of a row that say what is wanted."""
        checks: object = self.checks
        if threshold is not None and self.checks:
            if (
                isinstance(threshold, bool)
                or not isinstance(threshold, int | float)
                or not 0 <= threshold <= 1
            ):
                raise NotTaken("its threshold is not a number from 0 to 1")
            checks = {"of": self.checks, "threshold": threshold}
        are_several = len(self.demands) > 1
        demands = [f"{n}. {text}" if are_several else text for n, text in enumerate(self.demands, 1)]
        made = {_CHECKS: checks, **({_DEMANDS: "\n".join(demands)} if demands else {})}
        if clash := made.keys() & (row.keys() | used):
            raise NotTaken(f"it has a variable {min(clash)}, which is a name of its own here")
        return made


def _wanted_of(reader: _Reader, asserted: list[Any], options: Table, fields: Table, where: str) -> _Wanted:
    wanted = _Wanted([], [])
    for assertion in asserted:
        try:
            known = reader.assertion_from(assertion)
            _check_transforms(known, options)
            _add_assertion(reader, known, options, fields, wanted, where)
        except NotTaken as reason:
            kind = assertion.get("type") if isinstance(assertion, dict) else None
            reader.project.leave(f"assertion {kind or 'without a type'}", reason, where)
    if wanted.checks and all(check.get("weight") == 0 for check in wanted.checks):
        reader.project.leave("assertions of weight 0 alone", "nothing would be left to score", where)
        wanted.checks.clear()
    return wanted


def _check_transforms(assertion: Table, options: Table) -> None:
    for said in (assertion.get("transform"), options.get("transform"), options.get("postprocess")):
        if said:
            raise NotTaken("it is about a reply that code has transformed")


def _add_assertion(
    reader: _Reader, assertion: Table, options: Table, fields: Table, wanted: _Wanted, where: str
) -> None:
    kind = assertion["type"]
    if kind == "assert-set":
        _add_set(reader, assertion, options, fields, wanted, where)
    elif kind.removeprefix("not-") in _GRADED:
        wanted.demands.append(_demand(assertion, kind, fields))
        _note_grader(reader, assertion, options, where)
        reader.project.take(f"assertions {kind}")
    else:
        value = None if kind.removeprefix("not-") not in TYPES else _value_of(reader, assertion, fields)
        wanted.checks.append(_beside(assertion, check_of(kind, value, reader.project.change), fields))
        reader.project.take(f"assertions {kind}")


def _add_set(
    reader: _Reader, assertion: Table, options: Table, fields: Table, wanted: _Wanted, where: str
) -> None:
    """Put a set's assertions beside the others, with weights that add up to the set's."""
    if assertion.get("threshold") is not None:
        raise NotTaken("a threshold of a set is not taken")
    inner = _wanted_of(reader, as_list(assertion.get("assert")), options, fields, where)
    if inner.demands or len(inner.checks) < len(as_list(assertion.get("assert"))):
        raise NotTaken("not all of its assertions can be imported")
    total = sum(check.get("weight", 1) for check in inner.checks)
    outer = assertion.get("weight", 1)
    if not isinstance(outer, int | float) or not total:
        raise NotTaken("it weighs nothing")
    wanted.checks.extend(
        {**check, "weight": check.get("weight", 1) * outer / total} for check in inner.checks
    )
    reader.project.take("assertions assert-set")


def _beside(assertion: Table, check: Table, fields: Table) -> Table:
    """Add the weight and the name of an assertion."""
    weight, metric = assertion.get("weight"), assertion.get("metric")
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
            raise NotTaken("its weight is not a number from 0")
        check["weight"] = weight
    if isinstance(metric, str) and metric:
        check["name"] = fill(metric, fields)
    return check


_GRADED = {
    "llm-rubric": "{}",
    "model-graded-closedqa": "It meets this criterion: {}",
    "g-eval": "{}",
    "factuality": "In its facts it agrees with this: {}",
    "model-graded-factuality": "In its facts it agrees with this: {}",
}


def _demand(assertion: Table, kind: str, fields: Table) -> str:
    value = assertion.get("value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if value is None or text.startswith(_OF_FILES):
        raise NotTaken("what it demands is not in the file")
    said = _GRADED[kind.removeprefix("not-")].format(fill(text, fields).strip())
    return f"It is not so that: {said}" if kind.startswith("not-") else said


def _note_grader(reader: _Reader, assertion: Table, options: Table, where: str) -> None:
    kind, project = assertion["type"], reader.project
    if kind.removeprefix("not-") != "llm-rubric":
        project.change(f"assertion {kind}", "a judge is asked in its own words", where)
    if assertion.get("rubricPrompt") or options.get("rubricPrompt"):
        project.leave("rubricPrompt", "a judge has a prompt of its own", where)
    for key in ("threshold", "weight", "metric"):
        if assertion.get(key) is not None:
            project.leave(f"{key} of {kind}", "a judge's score stands beside the checks, from 0 to 1", where)
    grader = (
        assertion.get("provider")
        or options.get("provider")
        or table_in(reader.default, "options").get("provider")
    )
    reader.models.setdefault(json.dumps(grader), where)


def _value_of(reader: _Reader, assertion: Table, fields: Table) -> Any:
    """Give what an assertion compares with, its templates filled in."""
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith(_OF_FILES):
        return _file_value(reader, value)
    if isinstance(value, str):
        return fill(value, fields)
    if isinstance(value, list):
        return [fill(item, fields) if isinstance(item, str) else item for item in value]
    return value


def _file_value(reader: _Reader, value: str) -> Any:
    path = _local(value)
    return (
        reader.data_of(path)
        if path.endswith((".json", ".yaml", ".yml"))
        else reader.folder.read(path).strip()
    )


# Evaluators


def _add_evaluators(reader: _Reader) -> None:
    project = reader.project
    rows = project.rows
    judged = sum(_DEMANDS in row for row in rows)
    checked = any(row[_CHECKS] for row in rows)
    if checked or not judged:
        project.evaluators.append({"use": "@checks@pass", "name": "pass"})
        lists = [row[_CHECKS]["of"] if isinstance(row[_CHECKS], dict) else row[_CHECKS] for row in rows]
        if any(len(checks) > 1 for checks in lists):
            project.evaluators.append({"use": "@checks", "name": "score"})
    for number, row in enumerate(rows, 1):
        if not row[_CHECKS] and _DEMANDS not in row:
            why = "promptfoo passes each reply; here the row is skipped, as nothing can be wrong"
            project.change("test without an assertion", why, f"row {number}")
    if judged:
        judge, objective = _judge(reader), _objective(is_of_all=judged == len(rows))
        project.evaluators.append({**judge, "objective": objective, "shows": [_DEMANDS]})
    if judged and checked:
        why = "a judge is an evaluator of its own here, beside `pass`; promptfoo makes one number of all"
        project.change("assertions that a model grades", why)


def _objective(*, is_of_all: bool) -> str:
    text = f'The candidate does what the field "{_DEMANDS}" demands.'
    return text if is_of_all else f"{text} Where there is no such field, nothing is demanded: the score is 1."


def _judge(reader: _Reader) -> Table:
    """Say who judges: the grader that is named first."""
    named = {grader: where for grader, where in reader.models.items() if grader != "null"}
    if len(named) > 1:
        reader.project.change("several graders", "the first one judges all")
    for grader, where in named.items():
        try:
            table = model_table(json.loads(grader), reader.project)
        except NotTaken as reason:
            reader.project.leave("grader", reason, where)
            continue
        plain = table.keys() == {"name", "model"}
        if not plain:
            reader.project.models.append({**table, "name": GRADER})
        return {"name": "rubric", "judge": table["model"] if plain else GRADER}
    reader.project.change(
        "grader", f"none is named that is known here; {ANY_MODEL} judges: name yours in {'sweep.toml'}"
    )
    return {"name": "rubric", "judge": ANY_MODEL}


def _read_settings(config: Table, project: Project) -> None:
    settings = {**table_in(config, "commandLineOptions"), **table_in(config, "evaluateOptions")}
    for key, ours in (("repeat", "repeats"), ("maxConcurrency", "concurrency")):
        value = settings.pop(key, None)
        if type(value) is int and value > 0:
            project.run[ours] = value
            project.take(f"setting {key}")
    for key in settings.keys() - {
        "cache",
        "showProgressBar",
        "verbose",
        "table",
        "write",
        "share",
        "progressBar",
    }:
        project.leave(f"setting {key}", "there is nothing like it here")
