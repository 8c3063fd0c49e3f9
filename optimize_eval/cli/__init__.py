"""The command line: parse, call, print, exit code. One module per command; app puts them together."""

import atexit
import gc
import os
import signal
import sys

_INTERRUPTED = 130
_BETWEEN_COLLECTIONS = 100_000  # objects: loading makes up to 60,000, of which none is garbage
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the program and exit; an interrupt never ends in a traceback, while modules load as at the end."""
    _leave_on(signal.SIGINT)  # what takes time now is loading, which needs no cleaning up
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # the interpreter's end looks through all that is left, or through nothing
    from optimize_eval.cli.app import execute  # noqa: PLC0415  see above

    status = _INTERRUPTED
    try:
        try:
            status = execute()
        finally:
            _leave_on(*_SIGNALS)  # nothing is left to be cleaned up
    except KeyboardInterrupt:  # the last that could be raised, within these lines
        _leave_on(*_SIGNALS)
    sys.exit(status)


def _leave_on(*numbers: signal.Signals) -> None:
    """Let signals end the process at once, but for those that are ignored, as nohup and a shell's & want."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(*_: object) -> None:
    os._exit(_INTERRUPTED)
