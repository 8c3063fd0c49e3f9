"""Scorers: a sample and its trace become scores."""
