"""Task files read and checked: YAML → nodes with places → values that all rules hold for; all problems told.

`document` and `nodes` know YAML and files, `values` and `entities` what a field may be, `of_…` the tables of
fields of each entity, `making` what is made of them.
"""
