"""A search for a better candidate: the dataset drives it, the valset is opened once, by a final sweep.

`search_plan` is what it is given, `goal` what it climbs, `scorer` scores for it, live or from what is there.
`proposals` makes new texts; `evolution` drives GEPA, and nothing else knows of it. `state` lets it go on
after a kill, `ending` ends it, `candidate_tree` and `result` are what it found, `searching` puts this
together, and `optimizing` adds the final sweep.
"""
