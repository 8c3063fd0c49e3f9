"""A search for a better candidate: the dataset drives it, the valset is opened once, by a final sweep.

`plan` is what it is given, `scores` who scores for it, live or from what is recorded. `proposing`
makes new texts; `evolution` drives GEPA, and nothing else knows of it. `state` lets it go on after a kill,
`budget` and `stopping` end it, `tree` is what it found, and `searching` puts all this together.
"""
