"""One HTML file to look at a run: its numbers, and each record as far as there is room.

`source` is all that is read of a run on disk, `columns` the numbers of its records, `priority` which examples
are told in full, `details` how, `document` the file. What happens in a browser is program/*.js and
style/*.css, which are put into the file as they are.
"""
