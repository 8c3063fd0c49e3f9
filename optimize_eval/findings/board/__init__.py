"""Leaderboards of models: their numbers, their words, their gates, and how they are kept."""
