"""Tasks written down in YAML: read and checked, their samples solved by models, what comes of it scored.

`task` says what a checked task is, as plain data; `solve` makes a trace of a sample, `score` its scores.
"""
