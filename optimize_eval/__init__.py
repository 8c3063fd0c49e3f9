"""Score anything with an evaluator written in any language."""
