"""Texts with {{field}} in them: parsed, checked, rendered within bounds; and the host that bounds time."""
