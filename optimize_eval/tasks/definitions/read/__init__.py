"""Task files read: YAML with includes and references → nodes, parameters put in, and what is made of them.

What fields may be, the tables in `fields` say.
"""
