"""The command line: parse, call, print, exit code. One module per command; app puts them together."""

import sys


def main() -> None:
    """Run the program and exit; also an interrupt while its modules load ends without a traceback."""
    try:
        from optimize_eval.cli.app import execute  # noqa: PLC0415  guarded: this is what takes time

        status = execute()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
