"""The version, written here once: reading it from the installed package would cost each run 10 ms."""

VERSION = "0.1.0"
