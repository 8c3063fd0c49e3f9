"""Options, each declared once: its flags, what it may be, its help, and where else it has its name.

A group is what a command takes as one object. From its declarations come the flags and the help of
commands (cli/groups), the keys of a sweep file (sweep_files), and the arguments of `sweep`, `bench` and
`optimize` (arguments). One rule maps the names: a field has the name of the argument in Python and of the key
in a sweep file; its flag has dashes, and loses the s of what may be repeated (`task_models`,
`--task-model`). What is called otherwise says so in its declaration. Nothing here knows a command line.
"""
