"""GEPA, driven safely: the only place that imports it.

`adapter` answers what GEPA asks, `reflector` proposes for it, `loop` starts it and reads what it did.
GEPA runs in the thread that calls; what ends a search is raised through it as `Over`.
"""
