"""Task files in JSONL: both dialects, read and checked line by line."""
