"""From records to a summary: pure functions on values, standard library only."""
