"""Pairs of a candidate and an example in, outcomes out: `scorer` says what a search needs, `live` calls.

`elsewhere` finds what other runs have scored.
"""
