"""`python -m optimize_eval` is `optimize-eval`."""

from optimize_eval.cli import main

if __name__ == "__main__":
    main()
