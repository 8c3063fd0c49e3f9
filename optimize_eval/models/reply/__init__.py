"""What comes back from a model's server, read by pure functions."""
