"""The line of a failed program's stderr that says why, whatever language the program is written in.

A traceback has the reason at its end in one language, at its start in another, and often words after it that
say nothing. Each pattern meets one line, cut before, and is linear in it.
"""

import re

_SHOWN_LINE = 200
_MATCHED = 500  # letters of a line that are looked at
_CRASHES = tuple(  # how a runtime says that it gave up; in text that holds several, the first line counts
    map(
        re.compile,
        (
            r"panic: |fatal error: ",  # Go
            r"PHP (?:Fatal|Parse) error: |(?:Fatal|Parse) error: ",  # PHP, OCaml
            r"(?:<internal:)?[^:\s][^:]*:\d+:in [`'][^']*': ",  # Ruby
            r"[^:\s][^:]*\.rb:\d+: (?!warning)",
            r"Can't locate |Global symbol |syntax error at ",  # Perl
            r"lua[\d.]*: ",
            r"thread '[^']*' (?:\(\d+\) )?panicked at ",  # Rust
            r"[^:\s][^:]*:(?:\d+:)+ (?:fatal )?error: |error\[E\d+\]: ",  # compilers
            r"(?:\./)?[^:\s]+\.go:\d+:\d+: ",
            r"jq: error",
            r"  what\(\):  ",  # C++
            r"(?:[^:\s]+: )?[^:\s]+:\d+: [^\n]*?\bAssertion ",  # C
            r"Unhandled exception|\*\* \(\w",  # .NET, Elixir
        ),
    )
)
_CAUSE = re.compile(r"Caused by: ")  # Java: the last one began it all
_EXCEPTION = re.compile(r"(Uncaught )?[\w.]*(Error|Exception)\b")
_AFTER = re.compile(  # what runtimes print after the reason
    r"\s*$|BEGIN failed--|Compilation failed in require|Execution of \S+ aborted|\S+ had compilation errors"
    r"|Execution halted|exit status \d+$|\d+ errors?$|error: compilation failed|Aborted|note: run with "
)
_TRACED = ("    while executing", "CallStack (from HasCallStack):")  # Tcl, Haskell: the reason stands before
_PLACE = re.compile(r"<internal:[^>]*>:\d+:in [`'][^']*': ")  # of a library of Ruby's own
_SEARCHED = " (@INC "  # where Perl looked, which is long
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_UNSET = tuple(  # how a language says that the environment has no variable of a name
    map(
        re.compile,
        (
            r"KeyError: '(?P<name>\w+)'$",  # Python, whose traceback says whether it was the environment
            r".*: key not found: \"(?P<name>\w+)\" \(KeyError\)",  # Ruby
            r"[^:]*: (?:line )?\d+: (?P<name>\w+): (?:unbound variable|parameter not set)",
        ),
    )
)
_PYTHONS = ("os.environ", "<frozen os>", "/os.py")


def telling_line(stderr: str) -> str:
    """Choose the line that says why a program failed; else its last one."""
    lines = stderr.strip("\r\n").split("\n")
    number = _number_of_telling([line[:_MATCHED].rstrip() for line in lines])
    line = lines[number].strip()
    if line.endswith(":") and number + 1 < len(lines) and _goes_on(line, lines[number + 1]):
        line = f"{line} {lines[number + 1].strip()}"
    line = _PLACE.sub("", line[:_MATCHED], count=1)
    return line.partition(_SEARCHED)[0][:_SHOWN_LINE]


def unset_variable(stderr: str) -> str:
    """Name the variable of the environment whose lack ended a program; empty where it was not that."""
    line = telling_line(stderr)
    if line.startswith("KeyError") and not any(word in stderr for word in _PYTHONS):
        return ""
    unset = next(filter(None, (pattern.match(line) for pattern in _UNSET)), None)
    return unset["name"] if unset and _VARIABLE.fullmatch(unset["name"]) else ""


def _number_of_telling(lines: list[str]) -> int:
    backwards = range(len(lines) - 1, -1, -1)
    for pattern in _CRASHES:
        if (first := next((n for n, line in enumerate(lines) if pattern.match(line)), None)) is not None:
            return first
    for pattern in (_CAUSE, _EXCEPTION):
        if (last := next((n for n in backwards if pattern.match(lines[n])), None)) is not None:
            return last
    if (traced := next((n for n, line in enumerate(lines) if line in _TRACED), 0)) > 0:
        return traced - 1
    return next((n for n in backwards if not _AFTER.match(lines[n])), len(lines) - 1)


def _goes_on(line: str, following: str) -> bool:
    """Return True where the reason stands on the next line: Rust's message, and R's where it is long."""
    return "panicked at " in line or (line.startswith("Error") and following.startswith("  "))
