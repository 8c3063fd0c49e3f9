"""Task files in YAML: a file becomes nodes with their places, then checked values, then a task as plain data.

`yaml_file` reads it, `parameters` are put in; what it may say is in tables (`task_fields`, `part_fields`) of
what `fields` and `snippet_fields` can read. `making` makes the task; `loading` does all of it in order.
"""
