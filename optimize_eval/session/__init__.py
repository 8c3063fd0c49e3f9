"""A session of a run, for commands and for programs that call us: prepare → open → call → summarise.

    inputs, task_files    what is loaded before the first call
    opening               a run's folder: found, and held while it is called
    settings              how a plan is carried out
    host                  what a command, or a program that calls us, lends to a session
    sweeps                `run`: candidates × evaluators × examples
    benches               `bench`: models over task files
    rescoring             another evaluator over a run; rescore_bench: over what the models of a bench said
    calling               the calls that are owed, and the recheck after them
    boards                the leaderboards of a bench
    finished              what all that leaves
    ending                how a session ended, in words and as an exit code
    python                `sweep(…)` and `bench(…)`: their arguments checked, carried out in the background

Nothing here prints, catches a signal or reads the command line.
"""
