"""Results that other tools wrote: recognised, read, put into one table, and stored as an ordinary run.

`reading` opens what people name, `tools` knows whose a file is, a module a tool reads it row by row, `sheet`
makes one table of the rows of all files, `stored` writes that table as a run. Nothing is executed,
extracted or fetched; a file with a part that is not understood is refused as a whole.
"""
