#!/usr/bin/env python3
"""Label in set: 1 when the candidate, its ends stripped, is one of the allowed labels, else 0.

The labels are the example's field `allowed`, else its targets; or `--label yes --label no` for all examples.
"""

from _metric import TARGETS, Answer, Asked, run, shortened


def label_in_set(asked: Asked) -> Answer:
    label, allowed = asked.candidate.strip(), asked.options["label"] or asked.texts()
    passed = label in allowed
    return {
        "score": float(passed),
        "passed": int(passed),
        "failed": int(not passed),
        "label": shortened(label),
        "allowed": len(set(allowed)),
    }


if __name__ == "__main__":
    run(
        label_in_set,
        fields=("allowed", *TARGETS),
        options={"--label": {"action": "append", "help": "an allowed label, for all examples; repeatable"}},
    )
