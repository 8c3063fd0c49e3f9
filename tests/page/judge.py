"""An evaluator for pages: scores, reasons and failures that depend on its payload alone.

`judge.py judge [WORDS]` grades an answer to a support ticket with much side information, `judge.py policy`
gives 0 or 1.
"""

import json
import random
import sys
from typing import Any

_LIFT = {"baseline": 0.0, "v2-fewshot": 0.03, "v3-structured": 0.07, "v4-verbose": 0.02}
_REASONS = (
    "Correct steps for {topic}, in the right order. Nothing essential is missing and the tone is friendly.",
    "Invents a support address that does not exist; the customer would write into the void about {topic}.",
    "Right direction, but the step with the authorisation code is missing, so {topic} fails at the end.",
    "Too long: the first useful word about {topic} comes after three sentences of apologies and thanks.",
    "Answers a different question: prices of {topic} instead of the steps that the customer asked for.",
    "Says plainly that it does not know and names whom to ask about {topic}, which the policy wants.",
)
_WORDS = ("archive", "invoice", "refund", "domain", "plan", "quota", "ticket", "answer", "reset", "policy")


def _grade(name: str, example: dict[str, Any], words: int) -> dict[str, Any]:
    identity = str(example.get("id", "v-0"))
    number, is_train = int(identity.split("-")[1]), identity.startswith("t-")
    if name == "v4-verbose" and number % 41 == 7:
        return {"error": "the model said nothing within 10 s; the call was given up"}
    if name == "v2-fewshot" and number % 97 == 42:
        return {"score": "n/a"}
    chance = random.Random(f"judge {name} {identity}")
    lift = _LIFT.get(name, 0.01 * (sum(map(ord, name)) % 7))
    if name == "v2-fewshot":
        lift = 0.15 if is_train else -0.01
    base = random.Random(f"judge {identity}").betavariate(4, 3)
    score = _step(base + lift + chance.gauss(0, 0.1))
    reason = chance.choice(_REASONS).format(topic=example.get("topic", "it"))
    return {
        "score": score,
        "reasoning": f"{reason} {example.get('question', '')}",
        "dims": {key: round(_unit(score + chance.gauss(0, 0.12)), 2) for key in ("accuracy", "tone")},
        "grounded": chance.random() < 0.5 + 0.4 * score,
        "verdict": "good" if score > 0.7 else "partly" if score > 0.4 else "bad",
        "tokens": {"in": chance.randint(350, 650), "out": int(chance.expovariate(1 / 140)) + 20},
        "answer": " ".join(chance.choices(_WORDS, k=words)),
    }


def _check_policy(name: str, example: dict[str, Any]) -> dict[str, Any]:
    chance = random.Random(f"policy {name} {example.get('id')}")
    is_kept = chance.random() < 0.62 + _LIFT.get(name, 0.0)
    return {"score": float(is_kept), "rule": example.get("expected_policy", "none"), "quoted": is_kept}


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def _step(value: float) -> float:
    return round(_unit(value) * 20) / 20


def _answer(payload: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    name = payload["candidate"].split("\n", 1)[0].strip("# ")
    if sys.argv[1] == "policy":
        return _check_policy(name, example)
    return _grade(name, example, int(sys.argv[2]) if len(sys.argv) > 2 else 60)


def main() -> None:
    for line in sys.stdin:
        payload = json.loads(line)
        if "examples" in payload:
            examples = payload["examples"]
            answer: dict[str, Any] = {"results": [_answer(payload, example) for example in examples]}
        else:
            answer = _answer(payload, payload.get("example") or {})
        declared = {"_capabilities": {"persistent": True, "batch": 64}, "_id": payload.get("_id")}
        print(json.dumps({**answer, **declared}), flush=True)  # noqa: T201  the protocol


if __name__ == "__main__":
    main()
