"""Metrics of tasks: a scorer's fields over all samples become numbers; pure, whatever the rows are of."""
