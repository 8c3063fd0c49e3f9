"""Solvers: a sample becomes a trace, which is what was said about it."""
