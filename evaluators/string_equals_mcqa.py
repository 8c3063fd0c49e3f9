#!/usr/bin/env python3
"""Multiple choice, to the letter: 1 when the candidate's first letter is the right choice, else 0.

The choices are the example's field `choices`: a list, or a text that is a list in JSON or Python. A first
letter that is none of them makes the completion invalid. Case and blanks count.
"""

import json

from _metric import TARGETS, Answer, Asked, Fault, kind, run


def read_choices(found: object) -> list[object]:
    listed = _read_list(found) if isinstance(found, str) else found
    if not isinstance(listed, list):
        raise Fault(f"the choices are no list but {kind(listed)}")
    return listed


def _read_list(text: str) -> object:
    from ast import literal_eval  # noqa: PLC0415  only lists as Python writes them

    for read in (json.loads, literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


def string_equals_mcqa(asked: Asked) -> Answer:
    field = asked.options["choices_field"]
    choices = read_choices(asked.find(field, option="--choices-field"))
    letter = asked.candidate[:1]
    is_correct = letter != "" and letter in asked.texts()
    return {
        "score": float(is_correct),
        "is_correct": is_correct,
        "letter": letter,
        "completion_validity": "valid" if letter in choices else "invalid",
    }


if __name__ == "__main__":
    run(
        string_equals_mcqa,
        fields=("ground_truth_choice", *TARGETS),
        options={
            "--choices-field": {"metavar": "NAME", "default": "choices", "help": "the field with the choices"}
        },
    )
