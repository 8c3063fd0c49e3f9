"""What a search came to: the final sweep, numbers corrected for the choice, words, and the document."""
