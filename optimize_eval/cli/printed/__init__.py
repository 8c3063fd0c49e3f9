"""What commands write for people and files."""
