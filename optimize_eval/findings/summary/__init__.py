"""The summary of a run: its numbers, its verdict in words, and its gates."""
