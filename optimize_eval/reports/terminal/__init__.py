"""What people read in a terminal, made by pure functions."""
