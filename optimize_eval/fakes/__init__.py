"""Stand-ins for servers, for tests and demos; they import nothing of ours, and nothing imports them."""
