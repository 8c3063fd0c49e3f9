"""A task in YAML: its file is read (`yaml_file`), held to tables (`fields`, `*_fields`), and made plain data.

`loading` puts this together, `making` makes the data. What the values mean is known to `tasks` alone.
"""
