"""Numbers that some tasks need besides a mean."""
