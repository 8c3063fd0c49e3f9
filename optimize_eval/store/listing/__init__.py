"""What stands in a folder, at a glance: `runs`, and `searches` that are no run yet."""
