"""What people hand us, read strictly: files opened safely, JSON and TOML with every problem at its place."""
