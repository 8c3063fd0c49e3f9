"""Prompts: candidates that a model is sent with an example's fields in them; tasks calls the model."""
