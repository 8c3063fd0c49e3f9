"""The command line: parse, call, print, exit code. One module per command; app puts them together."""

from optimize_eval.cli.app import main

__all__ = ["main"]
