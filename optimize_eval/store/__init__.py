"""A run on disk: folder, axes, journal, and where the newest record of each unit is. It calls nothing."""
