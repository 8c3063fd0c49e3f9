"""What of a plan goes together in a session: who is counted, who has a lane, whose program changed."""
