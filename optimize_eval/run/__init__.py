"""A session of a run, for commands and for programs that call us: prepare → open → call → summarise.

    inputs                what is loaded before the first call
    replying              models that reply to prompts, and tasks in YAML among evaluators
    opening               a run's folder: found, and held while it is called
    settings              how a plan is carried out
    host                  what a command, or a program that calls us, lends to a session
    sweeps                `run`: candidates × evaluators × examples
    benching              `bench`: models over task files, and the boards that this leaves
    rescoring             another evaluator over a run
    calling               the calls that are owed, and the recheck after them
    finished              what all that leaves
    ending                how a session ended, in words and as an exit code
    python                `sweep(…)` and `bench(…)`: their arguments checked, carried out in the background

Nothing here prints, catches a signal or reads the command line.
"""
