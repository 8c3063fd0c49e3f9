"""Two runs, or two leaderboards, against each other."""
