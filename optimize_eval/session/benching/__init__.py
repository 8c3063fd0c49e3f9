"""Models over tasks: what a bench loads, plans, calls and makes boards of."""
