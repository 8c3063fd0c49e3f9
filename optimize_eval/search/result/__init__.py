"""What a search came to: numbers corrected for the choice, words, and the document that programs read."""
