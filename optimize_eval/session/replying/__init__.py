"""Models that a session calls, and prompts that they reply to."""
