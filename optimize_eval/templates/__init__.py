"""Texts with {{field}} in them: parsed, checked, and rendered within bounds."""
