"""What a report can be written as: one module for each format, and the table of them."""
