"""GEPA, driven safely: the only place that imports it.

`adapter` answers GEPA's calls, `reflector` proposes for it, `loop` starts it and reads what it did.
GEPA runs in the thread that calls; what ends a search is raised through it as `Over`.
"""
