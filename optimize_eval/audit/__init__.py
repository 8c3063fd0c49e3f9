"""A run's numbers once more, by code that shares nothing with the rest.

    python -m optimize_eval.audit RUN

Reads run.json, the journal and what was stored; computes everything that a decision hangs on from the
journal, in the plainest way there is, and names each field that differs. It is slower than the rest, and
readable as a description of the numbers: `numerics` has the formulas, `journaled` what was recorded,
`summary` and `claims` what summary.json says, `leaderboard` what leaderboard.json says.
"""
