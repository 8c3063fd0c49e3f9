"""Examples: read from files with every problem at its line, and which of them take part."""
