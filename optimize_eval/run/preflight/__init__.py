"""The checks before a long run: whether an evaluator runs, replies right, in parallel too, and how fast.

A failure (not runnable, a bad answer to a real payload, other answers when called at once) stops a run; a
warning says what will not work so well. Each comes with a shell line that shows it (evaluators.kinds).
What the outcome looks like is decided in reports.
"""

DEFAULT_BUDGET = 10.0  # seconds for each evaluator
BUDGET_OF_TRIAL = 60.0  # the same, where it is called sixty times
