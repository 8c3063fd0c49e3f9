"""What failed as annotations of GitHub Actions: one for each gate that was missed and each group of failures.

Pure: summary → lines. Foreign text is escaped, so that no line of it is a command of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from optimize_eval.findings.gates import Gate
from optimize_eval.findings.summary_shape import FailureGroup, Summary
from optimize_eval.findings.wording import count
from optimize_eval.reports.cells import candidates_of, most_frequent, words_of
from optimize_eval.reports.inert import inert, shortened

MOST = 10  # of a kind that GitHub shows of a step

_LONGEST = 500
_OF_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_OF_TITLES = {**_OF_DATA, ":": "%3A", ",": "%2C"}


def _evaluator(failures: FailureGroup) -> str:
    return failures.evaluator


def lines(
    summary: Summary, gates: Sequence[Gate], who: Callable[[FailureGroup], str] = _evaluator
) -> Iterator[str]:
    """Write the annotations: missed gates as errors, failures as warnings, the most frequent first.

    `who` names whose failures some are.
    """
    missed = (gate for gate in gates if not gate.is_met)
    yield from (_command("error", "gate missed", gate.text) for gate in islice(missed, MOST))
    for entry in most_frequent(summary)[:MOST]:
        title = f"{who(entry.first)}: {count(entry.count, 'call')} failed ({entry.first.kind})"
        yield _command("warning", title, f"{candidates_of(entry)}: {words_of(entry.first)}")


def _command(kind: str, title: str, text: str) -> str:
    r"""Write a command of a workflow.

    >>> _command("error", "a: b", "100 %\n::error::no")
    '::error title=a%3A b::100 %25%0A::error::no'
    """
    return f"::{kind} title={_escaped(title, _OF_TITLES)}::{_escaped(text, _OF_DATA)}"


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    shown = inert(shortened(text, _LONGEST), ci=False)
    return "".join(signs.get(sign, sign) for sign in shown)
