"""The text that a model is sent: the examples of a task, then its prompt. The same for every model."""

from collections.abc import Iterable, Mapping
from typing import Any

from optimize_eval.tasks.jsonl.spec import TaskSpec


def render(record: Mapping[str, Any] | TaskSpec) -> str:
    r"""Put the examples before the prompt, a blank line between; nothing is trimmed.

    >>> render({"prompt": "3 + 3 =", "few_shot_examples": [{"prompt": "1 + 1 =", "completion": "2"}]})
    '1 + 1 = 2\n\n3 + 3 ='
    """
    if isinstance(record, TaskSpec):
        return _joined(
            ((example.prompt, example.completion) for example in record.few_shot_examples), record.prompt
        )
    examples = record.get("few_shot_examples") or ()
    return _joined(((example["prompt"], example["completion"]) for example in examples), record["prompt"])


def _joined(examples: Iterable[tuple[str, str]], prompt: str) -> str:
    return "\n\n".join([*(f"{question} {answer}" for question, answer in examples), prompt])
