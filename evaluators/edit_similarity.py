#!/usr/bin/env python3
"""Edit similarity: 1 - edits / letters of the longer text, for the most similar target.

Edits insert, delete or replace a letter (Levenshtein). Nothing is stripped or lowered; two empty texts are
alike (1). Needs rapidfuzz.
"""

from _metric import Answer, Asked, best, library, run


def edit_similarity(candidate: str, target: str) -> Answer:
    edits = library("rapidfuzz.distance.Levenshtein").distance(candidate, target)
    longest = max(len(candidate), len(target))
    return {"score": 1 - edits / longest if longest else 1.0, "edits": edits, "letters": longest}


def best_edit_similarity(asked: Asked) -> Answer:
    return best(edit_similarity, asked)


if __name__ == "__main__":
    run(best_edit_similarity)
