"""A session of a run, for commands and for programs that call us: prepare → open → call → summarise.

    inputs                what is loaded before the first call
    prompting, defining   models that reply to prompts, and tasks in YAML among evaluators
    plan, opening         what is to be called, and a run's folder: found, and held while it is called
    settings              how a plan is carried out
    host                  what a command, or a program that calls us, lends to a session
    sweeps                `run`: candidates × evaluators × examples
    bench                 `bench`: models over task files, and the boards that this leaves
    rescoring             another evaluator over a run
    calls                 the calls that are owed, the recheck after them, and what all that leaves
    runner, engine        owed units → records, in slots; attempt makes one of them
    ending                how a session ended, in words and as an exit code

Nothing here prints, catches a signal or reads the command line.
"""
