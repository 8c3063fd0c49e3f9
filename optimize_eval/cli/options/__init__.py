"""The options of commands: one name, one help line, one meaning."""
