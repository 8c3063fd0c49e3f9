"""Metrics of tasks in YAML as people read them: what each report lays out in its own way."""
