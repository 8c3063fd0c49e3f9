"""Models under test: what `--model` takes, made live, their outputs written down."""
