"""What of an example's fields is its content, found from the data: not ids, labels, dates or constants.

Two examples are the same where their content is, after what a copy may change without becoming another
question: case, blanks, punctuation, forms of a letter, the order of keys, what stands around the whole.
Brackets and operators inside stay.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from optimize_eval.base import strict_json
from optimize_eval.base.frozen import frozen
from optimize_eval.rows.decoration import DROPPED, undecorated, visible

Flat = Mapping[str, str]  # dotted path → text

MARK = "\N{SYMBOL FOR NULL}"  # between fields: no blank, or "< ( {" + "} )" would equal "< ( { }" + ")"

_LEAST_WITH_BLANKS, _LEAST_DISTINCT, _LEAST_CODE, _LEAST_TELLING = 0.5, 0.2, 0.3, 0.8
_KEY_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NO_CONTENT = frozenset(
    """
    id ids uid uuid guid key keys index idx nr no num number line row hash sha sha1 sha256 md5 digest created
    updated modified at date time datetime timestamp day month year
    """.split()  # noqa: SIM905  words, as they are read
)
_GOLD = frozenset(
    """
    target targets answer answers gold expected reference references label labels solution
    """.split()  # noqa: SIM905  words, as they are read
)
_PLAIN = str.maketrans(
    {**{chr(n): chr(n).lower() for n in range(128)}, **dict.fromkeys(DROPPED, " "), "\0": " "}
)
_BLANKS = str.maketrans(dict.fromkeys(DROPPED, " "))
_CODE = re.compile(r"(?m)(?<=\n)[ \t]+\S.*$|[;{][ \t]*$|</\w+>")


@frozen
class Content:
    """Which fields two splits have in common that say what an example is about."""

    paths: tuple[str, ...]  # all of them have to be the same
    answers: tuple[str, ...]  # what is expected: two that differ are a contradiction
    is_text: bool  # else these are numbers, names and labels, of which only equality tells
    is_code: bool
    is_plain: bool  # fields of the example itself: none is inside of another, or a list

    def fields(self, value: Mapping[str, Any]) -> list[str]:
        """Give the texts that are compared; what an example lacks is empty."""
        texts = [value.get(path) for path in self.paths]
        if self.is_plain and "" not in value and all(type(text) is str for text in texts):
            return cast("list[str]", texts)
        flat = flatten(value)
        return [flat.get(path, "") for path in self.paths]

    def words(self, fields: Sequence[str]) -> list[str]:
        """Give what two equal examples have in common, by words; empty where an example has nothing of it."""
        if not any(fields):
            return []
        words = self._words(fields[0])
        for text in fields[1:]:
            words += [MARK, *self._words(text)]
        return words

    def answer(self, flat: Flat) -> str:
        """Give what is expected, as it is compared."""
        return MARK.join(" ".join(self._words(flat.get(path, ""))) for path in self.answers)

    def _words(self, text: str) -> list[str]:
        return text.split() if self.is_code else split_words(undecorated(text))


def find_content(first: Sequence[Flat], second: Sequence[Flat]) -> Content:
    """Choose the fields that both splits have and whose texts differ from example to example."""
    there = {path for flat in second for path in flat}
    paths = {path: None for flat in first for path in flat if path in there}
    own = [path for path in paths if not is_apart(path)]
    texts = [path for path in own if _is_content(path, first)]
    gold = tuple(path for path in own if _GOLD.intersection(_words_of(path)))
    answers = gold or (_labels(own, texts) if texts else ())
    asked = [path for path in texts if path not in answers]
    others = [path for path in own if path not in answers]
    compared = asked or texts or _telling(others, first) or _all(paths, own, gold, first, second)
    return Content(
        paths=tuple(compared),
        answers=tuple(path for path in answers if path not in compared),
        is_text=bool(texts),
        is_code=_is_code(first, texts),
        is_plain=not any({".", "["} & {*path} for path in compared),
    )


def flatten(value: Mapping[str, Any]) -> Flat:
    """Write an example as texts by dotted paths; what stands in lists stands together."""
    found: dict[str, list[str]] = {}
    _flatten(value, "", found)
    return {path: texts[0] if len(texts) == 1 else MARK.join(texts) for path, texts in found.items()}


def normalise(text: str) -> str:
    """Take away what a copy may change without becoming another question."""
    return " ".join(split_words(text))


def split_words(text: str) -> list[str]:
    """Give the words of a text without what a copy may change."""
    if text.isascii():
        return text.translate(_PLAIN).split()
    return unicodedata.normalize("NFKC", visible(text)).casefold().translate(_BLANKS).split()


def _flatten(value: Any, path: str, found: dict[str, list[str]]) -> None:
    if isinstance(value, str):
        found.setdefault(path, []).append(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else key, found)
    elif isinstance(value, list):
        for inner in value:
            _flatten(inner, f"{path}[]", found)
    else:
        found.setdefault(path, []).append(strict_json.dumps(value).decode())


def _words_of(path: str) -> list[str]:
    """Give the words of a field's own name: createdAt, created_at and created-at are the same two."""
    return [word.lower() for word in _KEY_WORDS.findall(path.rstrip("[]").rpartition(".")[2])]


def is_apart(path: str) -> bool:
    return any(word in _NO_CONTENT for word in _words_of(path)[-1:])


def _is_content(path: str, known: Sequence[Flat]) -> bool:
    values = [flat[path] for flat in known if path in flat]
    with_blanks = sum(len(text.split(None, 1)) > 1 for text in values)
    is_long = with_blanks >= _LEAST_WITH_BLANKS * len(values)
    return is_long and len({*values}) >= _LEAST_DISTINCT * len(values)


def _telling(paths: Sequence[str], known: Sequence[Flat]) -> Sequence[str]:
    """Give fields that tell examples apart; where many agree in them, ids are what examples are known by."""
    different = {tuple(flat.get(path) for path in paths) for flat in known}
    return paths if len(different) >= _LEAST_TELLING * len(known) else ()


def _all(
    paths: Iterable[str], own: Sequence[str], gold: Sequence[str], *splits: Sequence[Flat]
) -> Sequence[str]:
    """Compare by ids, too; by what is expected alone only where examples are nothing else."""
    if set(own).issubset(gold) and any(set(flat) - set(gold) for known in splits for flat in known):
        return [path for path in paths if path not in gold]
    return [*paths]


def _labels(paths: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """Take short fields of the example itself for its answer where none is called so."""
    return tuple(path for path in paths if path not in texts and not {".", "["} & {*path})


def _is_code(known: Sequence[Flat], paths: Sequence[str]) -> bool:
    rows = [flat for flat in known if any(path in flat for path in paths)]
    code = sum(any(_CODE.search(undecorated(flat.get(path, ""))) for path in paths) for flat in rows)
    return bool(rows) and code >= _LEAST_CODE * len(rows)
