"""The version, said here once: asking the installed package for it would cost each run 10 ms."""

VERSION = "0.1.0"
