"""Files of other tools, told by what they hold: whose they are, and what can be done with them here."""

import re
from pathlib import Path

from optimize_eval.base import files
from optimize_eval.base.errors import DataError, Problem

OTHER_TOOL = "other_tool"

_HEAD = 1 << 16  # bytes, in which all of these say what they are
_GUIDE = "docs/from-promptfoo-and-inspect.md"
_CONFIG = f"{_GUIDE} says what its parts are here"
_RESULTS = "`run --candidate-field FIELD -e … --dataset ROWS.jsonl` scores outputs, written as a row each"
_TOOLS = (  # what it is, what to do, what stands in it
    ("a configuration of promptfoo", _CONFIG, (r"^prompts:", r"^(providers|targets|tests|defaultTest):")),
    ("a configuration of promptfoo", _CONFIG, (r"\A\s*\{", r'"prompts":', r'"(providers|targets|tests)":')),
    ("results of promptfoo", _RESULTS, (r'\A\s*\{\s*"evalId":', r'"results":')),
    ("results of promptfoo", _RESULTS, (r'"promptIdx":', r'"testIdx":', r'"(gradingResult|response)":')),
    ("a log of Inspect", _RESULTS, (r"\APK\x03\x04", r"header\.json|_journal/start\.json")),
    ("a log of Inspect", _RESULTS, (r"\A\s*\{", r'"eval":', r'"(task_id|run_id)":', r'"(plan|status)":')),
    ("a task of Inspect", _CONFIG, (r"^(from|import) inspect_ai\b", r"^@task\b")),
    ("a task of lm-eval", _CONFIG, (r"^task:", r"^(doc_to_text|doc_to_target|output_type):")),
    ("results of lm-eval", _RESULTS, (r'"doc_id":', r'"(resps|filtered_resps)":')),
    ("results of lm-eval", _RESULTS, (r"\A\s*\{", r'"results":', r'"(n-samples|configs)":')),
)


def said_whose(error: DataError) -> DataError:
    """Say whose files are, where that is known, instead of all that is wrong with them as tasks."""
    about = {problem.path: whose(problem.path) for problem in error.problems}
    foreign = {path: tool for path, tool in about.items() if tool}
    ours = [problem for problem in error.problems if problem.path not in foreign]
    return DataError([*foreign.values(), *ours])


def whose(path: str) -> Problem | None:
    """Say which other tool a file is of, and what can be done with it here; None where nothing shows it."""
    try:
        data = files.read(path, files.DATASET) if Path(path).is_file() else b""
    except DataError:
        return None
    head = re.sub(r'"\s+:', '":', data[:_HEAD].decode("utf-8", "replace"))
    ends = data[-_HEAD:].decode("latin-1") if head.startswith("PK") else ""  # where a zip lists its members
    for what, advice, marks in _TOOLS:
        if all(re.search(mark, head + ends, re.MULTILINE) for mark in marks):
            return Problem(path=path, rule=OTHER_TOOL, reason=f"it holds {what}: {advice}")
    return None
