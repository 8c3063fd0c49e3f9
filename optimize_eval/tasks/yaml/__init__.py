"""What the fields of a task file may be: tables, and (`entities`, `values`) what tables are made of.

`nodes` are values with their places, `context` is where problems go. What a file is, is not known here.
"""
