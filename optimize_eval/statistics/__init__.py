"""From lists of floats to estimates, intervals, tests, selection and power; standard library only."""
