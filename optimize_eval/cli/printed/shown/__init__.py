"""`--show`: one example or task step by step."""
