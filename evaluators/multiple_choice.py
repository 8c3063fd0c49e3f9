#!/usr/bin/env python3
"""Multiple choice: 1 when the candidate's first letter is that of a target, whatever its case, else 0.

Blanks before it are skipped; an empty candidate is wrong. "Answer: B" begins with an A.
"""

from _metric import Answer, Asked, run


def first_letter(text: str) -> str:
    return text.strip()[:1].upper()


def multiple_choice(asked: Asked) -> Answer:
    letter, wanted = first_letter(asked.candidate), [first_letter(target) for target in asked.texts()]
    return {
        "score": float(letter != "" and letter in wanted),
        "letter": letter,
        "wanted": sorted(set(wanted)),
    }


if __name__ == "__main__":
    run(multiple_choice)
