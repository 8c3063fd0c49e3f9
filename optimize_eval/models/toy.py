"""Two models that need nothing: `toy` knows the answers of what ships, `silent` says nothing at all.

The toy reads the prompt, never an id: it computes, and knows some facts and texts by heart. To any other
question it says that it does not know.
"""

import operator
import re
from collections.abc import Callable, Sequence

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Capacity
from optimize_eval.models.under_test import Output, Prompt
from optimize_eval.programs.exchange import call_singly

_SUM = re.compile(r"(?:compute: |Question: )(-?\d+) ([-+*/]) (-?\d+)(?:\nAnswer:)?")
_PRODUCT = re.compile(r"What is (\d) times (\d)\? Write the number in words\.")
_OPTION = re.compile(r"\b([A-E])\) (\w+)")
_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_SMALL = [*_WORDS.split(), "seventeen", "eighteen", "nineteen"]
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
}
_CHOICES = {  # what a question asks for → the option that is right
    "planet is closest to the sun": "Mercury",
    "number is even": "8",
    "numbers is prime": "37",
    "animal is a mammal": "bat",
    "metal is liquid": "mercury",
    "number is a square": "49",
    "month has the fewest days": "February",
}
_KNOWN = {  # what stands in a prompt → what to answer
    "capital of France": "It is Paris.",
    "what do bees make": "Bees make honey.",
    "blue and yellow paint": "They make green.",
    "who wrote Hamlet": "William Shakespeare did.",
    "the staff were kind": "Positive",
    "Cold soup and a rude waiter": "Negative",
    "charged twice": "Billing",
    "It rained all week": "Because of rain the fair moved to the school hall and drew twice as many people.",
    "The old bridge, closed": "The old bridge reopened two months early after repairs.",
    "argued about the budget": "The committee approved the budget unchanged.",
    "two weeks without wind": "A storm on Sunday let the race start.",
    "The bakery on Mill Street": "The bakery on Mill Street will close in May.",
    "counted the swifts": "The number of swifts over the city has halved in ten years.",
}
_CODE = {  # what a function is to do → how it is written
    "returns the sum of its arguments": "def add(a, b):\n    return a + b\n",
    "counts the letters a, e, i, o and u": (
        "def count_vowels(text):\n    return sum(letter in 'aeiou' for letter in text.lower())\n"
    ),
    "doubles its input": "def f(x):\n    return 2 * x\n",
    "reverses a text": "def f(x):\n    return x[::-1]\n",
    "returns the largest number of a list": "def f(x):\n    return max(x)\n",
    "tells whether a number is even": "def f(x):\n    return x % 2 == 0\n",
}


class ToyModel:
    """Answers at once, the same to the same prompt."""

    note = ""
    capacity = Capacity()

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def generate(self, prompt: Prompt, _deadline: float) -> Output:
        return Output(text=self._answer(prompt.text))

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.generate)

    def close(self) -> None:
        pass


def toy(prompt: str) -> str:
    r"""Answer the last question of a prompt.

    >>> toy("Question: 2 + 2\nAnswer: 4\n\nQuestion: 17 + 24\nAnswer:")
    '41'
    """
    question = prompt.rpartition("\n\n")[2].rstrip()
    return next((said for find in _WAYS if (said := find(question)) is not None), "I do not know.")


def silent(_prompt: str) -> str:
    return ""


def _compute(question: str) -> str | None:
    found = list(_SUM.finditer(question))
    if not found:
        return None
    left, sign, right = found[-1].groups()
    return None if sign == "/" and not int(right) else str(_OPERATIONS[sign](int(left), int(right)))


def _spell(question: str) -> str | None:
    found = _PRODUCT.search(question)
    if not found:
        return None
    tens, ones = divmod(int(found[1]) * int(found[2]), 10)
    if tens < 2:  # noqa: PLR2004  up to nineteen each number has a word
        return _SMALL[10 * tens + ones]
    return _TENS[tens] + (f"-{_SMALL[ones]}" if ones else "")


def _choose(question: str) -> str | None:
    right = _find_words(question, _CHOICES)
    return next((letter for letter, option in _OPTION.findall(question) if option == right), None)


def _write(question: str) -> str | None:
    code = _find_words(question, _CODE)
    return None if code is None else f"```python\n{code}```"


def _find_words(question: str, known: dict[str, str]) -> str | None:
    return next((said for words, said in known.items() if words in question), None)


_WAYS: tuple[Callable[[str], str | None], ...] = (
    _compute,
    _spell,
    _choose,
    _write,
    lambda question: _find_words(question, _KNOWN),
)


def connect_toy(_rest: str, _model: object) -> ToyModel:
    return ToyModel(toy)


def connect_silent(_rest: str, _model: object) -> ToyModel:
    return ToyModel(silent)
