"""The kinds of evaluators, and the one table of them."""
