"""A scorer of a task as an evaluator: made live, called, and known again."""
