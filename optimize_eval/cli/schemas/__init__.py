"""JSON Schemas of what people write and what we write, made of the code that reads and writes it."""
