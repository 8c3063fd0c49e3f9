"""Files that are something else than their name says: what they are, and how they become what can be read.

Those of other tools are told by what they hold, with what can be done with them here.
"""

import json
import re
import shlex
from pathlib import Path

from optimize_eval.base import files
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.data.example import BOM

NOT_JSONL = "not_jsonl"  # the rule that a file breaks which is something else as a whole
_TABLES = (".csv", ".tsv", ".json", ".parquet")

_FOREIGN = (  # first bytes, what the file is, how it becomes text
    (b"\x1f\x8b", "gzip", "gunzip -c < FILE > OUT"),
    (b"\xff\xfe\0\0", "UTF-32", "iconv -f UTF-32 -t UTF-8 FILE > OUT"),
    (b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > OUT"),
    (b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > OUT"),
    (b"{\0", "UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE > OUT"),
    (b"\0{", "UTF-16", "iconv -f UTF-16BE -t UTF-8 FILE > OUT"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "unzip -p FILE > OUT, or export it as CSV"),
    (b"BZh", "bzip2", "bunzip2 -c < FILE > OUT"),
    (b"\xfd7zXZ\x00", "xz", "xz -dc < FILE > OUT"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc < FILE > OUT"),
)
_PARQUET = b"PAR1"
# json keeps integers of any size, which jq would round.
_ARRAY_TO_JSONL = (
    "python3 -c 'import json, sys; [print(json.dumps(row)) for row in json.load(sys.stdin)]' < FILE > OUT"
)
_SEMICOLONS_TO_JSONL = (
    "python3 -c 'import csv, json; "
    'rows = csv.DictReader(open(0, encoding="utf-8-sig", newline=""), delimiter=";"); '
    "[print(json.dumps(row)) for row in rows]'"
    " < FILE > OUT"
)


def find_foreign(path: str, data: bytes) -> Problem | None:
    """Recognise by its first bytes what is not a text in UTF-8."""
    if data.startswith(_PARQUET):
        return _misnamed_file(path, "Parquet", ".parquet")
    for magic, what, conversion in _FOREIGN:
        if data.startswith(magic):
            suffix = next((ending for ending in reversed(Path(path).suffixes) if ending in _TABLES), ".jsonl")
            return _convert(path, f"the file is {what}, not text in UTF-8", conversion, suffix)
    return None


def find_other_form(path: str, data: bytes, *, has_records: bool) -> Problem | None:
    """Recognise a file that is not one record a line at all, so that its thousand bad lines become one."""
    try:
        text = data.removeprefix(BOM).decode().strip(" \t\r\n")
    except UnicodeDecodeError:
        return None
    if text.startswith("[") and _spans(text) == len(text):
        reason = "the file is one JSON array, not JSONL: a dataset of that form has a name that ends in .json"
        return _convert(path, reason, _ARRAY_TO_JSONL, ".jsonl")
    if text.startswith("{") and "\n" in text[: _spans(text)]:
        reason = "the file is pretty-printed JSON, a record must be one line"
        return _convert(path, reason, "jq -c . FILE > OUT", ".jsonl")
    return None if has_records or text[:1] in "{[" else _find_table(path, text)


def find_semicolons(path: str, text: str) -> Problem | None:
    """Recognise a table whose columns are separated by semicolons, as some spreadsheets write them."""
    return _find_table(path, text) if _delimiter(text) == ";" else None


def _find_table(path: str, text: str) -> Problem | None:
    match _delimiter(text):
        case ",":
            return _misnamed_file(path, "CSV", ".csv")
        case "\t":
            return _misnamed_file(path, "TSV", ".tsv")
        case ";":
            return _convert(path, "the file is a table with semicolons", _SEMICOLONS_TO_JSONL, ".jsonl")
    return None


def _spans(text: str) -> int:
    """Count the characters of the JSON value that a text starts with; 0 when it starts with none."""
    try:
        return json.JSONDecoder().raw_decode(text)[1]
    except (ValueError, RecursionError):
        return 0


def _delimiter(text: str) -> str:
    """Find what separates the columns of the first rows; empty when they are no table."""
    import csv  # noqa: PLC0415  most data are what their name says

    for delimiter in ",\t;":
        try:
            widths = {len(row) for row in csv.reader(text.split("\n", 5)[:5], delimiter=delimiter) if row}
        except csv.Error:
            continue
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    return ""


def _misnamed_file(path: str, what: str, suffix: str) -> Problem:
    reason = f"the file is {what}, which is read from files whose name ends in {suffix}"
    out = _unused_beside(Path(path), suffix)
    steps = f"mv {shlex.quote(path)} {shlex.quote(str(out))}"
    return Problem(path=path, rule=NOT_JSONL, line=1, column=1, reason=f"{reason}; rename it: {steps}")


def _convert(path: str, reason: str, conversion: str, suffix: str) -> Problem:
    out = _unused_beside(Path(path), suffix)
    steps = conversion.replace("FILE", shlex.quote(path)).replace("OUT", shlex.quote(str(out)))
    return Problem(path=path, rule=NOT_JSONL, line=1, column=1, reason=f"{reason}; convert it: {steps}")


def _unused_beside(source: Path, suffix: str) -> Path:
    """Name another file: d.txt and d.jsonl.gz become d.jsonl, unless there is one."""
    stem = source.stem.removesuffix(suffix)
    out = source.with_name(f"{stem}{suffix}")
    return source.with_name(f"{stem}-lines{suffix}") if out == source or out.exists() else out


OTHER_TOOL = "other_tool"

_HEAD = 1 << 16  # bytes, in which all of these say what they are
_GUIDE = "docs/from-promptfoo-and-inspect.md"
_CONFIG = "`optimize-eval import FILE --out DIR` makes a folder of it that runs here"
_CODE = f"it is code, which nobody runs here; {_GUIDE} says what its parts are"
_EXPORT = "`promptfoo export eval EVAL_ID -o results.json` writes what `optimize-eval report` reads"
_TOOLS = (  # what it is, what to do, what stands in it
    ("a configuration of promptfoo", _CONFIG, (r"^prompts:", r"^(providers|targets|tests|defaultTest):")),
    (
        "a configuration of promptfoo",
        _CONFIG,
        (r"^(providers|targets):", r"^(tests|defaultTest|scenarios|redteam):"),
    ),
    ("a configuration of promptfoo", _CONFIG, (r"\A\s*\{", r'"prompts":', r'"(providers|targets|tests)":')),
    ("results of promptfoo as YAML", _EXPORT, (r"\A(---\s*)?evalId:",)),
    ("a task of Inspect", _CODE, (r"^(from|import) inspect_ai\b", r"^@task\b")),
    ("a task of lm-eval", _CONFIG, (r"^task:", r"^(include|doc_to_text|doc_to_target|output_type):")),
    ("a task of lm-eval", _CONFIG, (r"^include:", r"^(doc_to_text|doc_to_target|output_type):")),
    ("an entry of OpenAI Evals", _CONFIG, (r"^[ \t]+class: *evals\.", r"^[ \t]+args:")),
    ("problems of HumanEval", _CONFIG, (r"\A\s*\{", r'"entry_point":', r'"test":')),
    ("problems of MBPP", _CONFIG, (r"\A\s*\{", r'"test_list":', r'"task_id":')),
)


def name_tools(error: DataError) -> DataError:
    """Say whose files are, where that is known, instead of all that is wrong with them as tasks."""
    about = {problem.path: whose(problem.path) for problem in error.problems}
    foreign = {path: tool for path, tool in about.items() if tool}
    ours = [problem for problem in error.problems if problem.path not in foreign]
    return DataError([*foreign.values(), *ours])


def whose(path: str) -> Problem | None:
    """Say which other tool a file is of, and what can be done with it here; None where nothing shows it."""
    if not Path(path).is_file():
        return None
    try:
        with files.open_file(path) as stream:
            head = stream.read(_HEAD).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    head = re.sub(r'"\s+:', '":', head)
    for what, advice, marks in _TOOLS:
        if all(re.search(mark, head, re.MULTILINE) for mark in marks):
            return Problem(
                path=path,
                rule=OTHER_TOOL,
                reason=f"it holds {what}: {advice.replace('FILE', shlex.quote(path))}",
            )
    return None
