"""Options and commands that people know from other tools, and what they are called here.

What a shell offers after Tab where an option's value is one of ours; for the rest it offers files.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.base import shipped
from optimize_eval.base.errors import UsageError
from optimize_eval.cli.output import QUOTE
from optimize_eval.models.providers import PROVIDERS
from optimize_eval.store.folder import MANIFEST

_NO_SUCH_OPTION = re.compile(r"No such option: (-[\w-]++)(.*)")
_OUT_OF_RANGE = re.compile(r"Invalid value for .*'(-[\w-]+)': (\S+) is not in the range (.+?)\.?")
_NO_NUMBER = re.compile(r"Invalid value for .*'(-[\w-]+)': (.+) is not a valid (int|float)\b.*")
_ENDS = re.compile(r"(?:([\d.]+)<=)?x(?:([<>]=?)([\d.]+))?")

_HERE: Mapping[str, str] = {
    "--parallel": "--concurrency N sets how many calls are made at once",
    "--model": "--reflection-model MODEL proposes, --judge-model MODEL judges, --task-model NAME is metadata",
    "--evaluator-command": "-e 'bash eval.sh', quoted as one word",
    "--evaluator-url": "-e http://HOST/PATH",
    "--evaluator-cwd": "--cwd DIR",
    "--intake-json": "--rubric FILE, with that JSON in the file",
}
_NEW = "`optimize-eval new` writes files to start from"
_EVALUATE = "`optimize-eval run` compares candidates over data, `optimize-eval score` scores one"
_LIST = "`optimize-eval runs` lists runs, `optimize-eval evaluators list` what ships"
_TEST = "`optimize-eval preflight` checks evaluators before a run, `optimize-eval validate` checks files"
_COMMANDS: Mapping[str, str] = {
    "init": _NEW,
    "create": _NEW,
    "eval": _EVALUATE,
    "evaluate": _EVALUATE,
    "compare": "`optimize-eval run` compares candidates, `optimize-eval diff A B` two runs",
    "list": _LIST,
    "ls": _LIST,
    "test": _TEST,
    "check": _TEST,
    "show": "`optimize-eval report RUN` prints a result again, `optimize-eval view` shows it in a browser",
    "benchmark": "`optimize-eval bench` ranks models by task files",
}


def unknown_command(word: str, *others: str, names: Sequence[str]) -> UsageError:
    """Say which command of ours a word is, that is none."""
    close = get_close_matches(word, names, n=1)
    if word == "help":
        hint = f"optimize-eval {f'{others[0]} ' if [*others] and others[0] in names else ''}--help"
    elif word in _COMMANDS:
        hint = _COMMANDS[word]
    elif close:
        hint = f"did you mean optimize-eval {close[0]}?"
    else:
        hint = f"the commands are {', '.join(names)}"
    return UsageError(f"there is no command {word!r}", hint=hint)


def refused(message: str, command: str) -> tuple[str, str]:
    """Say what is wrong with a command line, and what to do; options of other optimizers have names here."""
    if unknown := _NO_SUCH_OPTION.fullmatch(message):
        close = get_close_matches(unknown[1], re.findall(r"--?[\w-]+", unknown[2]), n=1, cutoff=0)
        hint = f"did you mean {close[0]}?" if close else f"{command} --help"
        here = _HERE.get(unknown[1]) if command.endswith(" optimize") else None
        return f"{command} has no option {unknown[1]}", here or hint
    if beyond := _OUT_OF_RANGE.fullmatch(message):
        return f"{beyond[1]} {beyond[2]} is out of range", f"write a number {_range_words(beyond[3])}"
    if wrong := _NO_NUMBER.fullmatch(message):
        kind = "a whole number" if wrong[3] == "int" else "a number"
        return f"{wrong[1]} needs {kind}, not {wrong[2]}", f"{command} --help"
    what, is_no_choice, choices = message.partition("' is not one of ")
    if is_no_choice:
        option, _, value = what.removeprefix("Invalid value for ").partition("': '")
        _, _, flag = option.rpartition("'")
        return f"{flag} cannot be {value!r}", f"write one of {choices.replace(chr(39), '').rstrip('.')}"
    return message, QUOTE if "unexpected extra argument" in message else f"{command} --help"


def _range_words(bounds: str) -> str:
    """Write a range in words.

    >>> _range_words("x>=1"), _range_words("0<=x<=65535"), _range_words("x>0")
    ('from 1', 'from 0 to 65535', 'above 0')
    """
    match = _ENDS.fullmatch(bounds)
    if not match:
        return f"such as {bounds}"
    least, sign, end = match.groups()
    if least:
        return f"from {least} to {end}" if end else f"from {least}"
    return {">=": f"from {end}", ">": f"above {end}", "<": f"below {end}"}.get(sign, f"up to {end}")


_RUNS = Path("runs")
_MODELS = ("toy", "silent", "cmd:", "replay:", "http://", "https://")
_EVALUATORS = ("task:", "judge:", "http://", "https://")


def complete_run(incomplete: str) -> list[str]:
    """Offer the runs under runs/."""
    return _match_beginning((str(path.parent) for path in sorted(_RUNS.glob(f"*/{MANIFEST}"))), incomplete)


def complete_model(incomplete: str) -> list[str]:
    """Offer what a model's text can begin with."""
    return _match_beginning([*_MODELS, *(f"{name}/" for name in PROVIDERS)], incomplete)


def complete_evaluator(incomplete: str) -> list[str]:
    """Offer the evaluators that ship, and what other kinds begin with."""
    return _match_beginning([*(f"@{name}" for name in _list_shipped()), *_EVALUATORS], incomplete)


COMPLETIONS = {  # by an option's metavar
    "RUN": complete_run,
    "RUN|auto": complete_run,
    "BENCH": complete_run,
    "MODEL": complete_model,
    "SPEC": complete_evaluator,
}


def complete_shipped(incomplete: str) -> list[str]:
    """Offer the names of evaluators that ship, with or without their @."""
    return _match_beginning(
        (f"{'@' * incomplete.startswith('@')}{name}" for name in _list_shipped()), incomplete
    )


def _list_shipped() -> Iterable[str]:
    return shipped.programs()


def _match_beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
