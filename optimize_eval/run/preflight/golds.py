"""What an evaluator's trial is made of: rows with their golds, and candidates that are nearly right.

Pure but for the files that are named. A near miss differs from the gold in what no sound metric lets pass:
never in case, in blanks, in the order of words, or in how a number is written.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, KnownGood
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Payload
from optimize_eval.data.candidates import load_candidate
from optimize_eval.data.selection import value_at
from optimize_eval.run.splits import SplitSource, has_path

MOST_ROWS = 4

_MOST_READ = 10_000  # examples in which rows are looked for
_USUAL = ("target", "targets", "answer", "gold", "expected", "reference", "label", "solution")
_WHOLE = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)")
_DECIMAL = re.compile(r"-?\d{1,15}\.\d{1,15}")
_IN_FRONT = re.compile(r"0+([1-9]\d*)")  # zeros, as codes have them
_FROM_A_THOUSAND = 1_000


@frozen
class GoldRow:
    """A row on which an evaluator is tried: its payload with the gold as the candidate."""

    payload: Payload
    golds: tuple[str, ...]
    wrong: str = ""  # another row's gold; empty: there is none
    wholes: tuple[
        str, ...
    ] = ()  # the list that has the golds, in each of its forms: it may be the gold itself

    @property
    def gold(self) -> str:
        return self.golds[0]

    @property
    def is_fair(self) -> bool:
        """Return True if the other row's gold is surely wrong here: neither text holds the other."""
        plain, golds = plain_of(self.wrong), [plain_of(gold) for gold in self.golds]
        return bool(self.wrong) and not any(plain in gold or gold in plain for gold in golds)

    @property
    def payloads(self) -> list[Payload]:
        """List what is right here, and what is wrong, if there is such a thing."""
        return [self.payload, *([self.with_candidate(self.wrong)] if self.wrong else [])]

    def with_candidate(self, text: str) -> Payload:
        return replace(self.payload, candidate=text)

    def in_place_of_gold(self, text: str) -> "GoldRow":
        return replace(self, payload=self.with_candidate(text), golds=(text,))


@frozen
class Known:
    """What is known of an evaluator before its trial."""

    field: str  # of the golds; empty: a file has the one that is good for all rows
    rows: tuple[GoldRow, ...]
    bad: Mapping[str, str]  # texts by their files
    has_near_misses: bool
    files: tuple[str, ...] = ()  # of the data, which no evaluator changes
    without_gold: int = 0  # examples

    @property
    def is_varied(self) -> bool:
        """Return True if rows have different golds, so that one is wrong where another is right."""
        return bool(self.rows[0].wrong)


def known_of(
    spec: EvaluatorSpec,
    sources: Sequence[SplitSource],
    *,
    task_model: str | None = None,
    has_near_misses: bool = True,
) -> Known | None:
    """Find the rows of an evaluator's trial; None where it is not on trial."""
    if spec.good is None:
        if spec.bad:
            raise UsageError(
                "--bad needs --good: it has to score lower than that", hint="name a known good candidate"
            )
        return None
    is_field = any(has_path(e.value, spec.good.written) for s in sources for e in _first(s))
    payloads = [
        (e.value, Payload(candidate="", example=e.raw, line=e.line, split=source.name, task_model=task_model))
        for source in sources
        for e in _first(source)
    ]
    field = spec.good.written if is_field else ""
    golds = [(golds, payload) for example, payload in payloads if (golds := golds_of(example, field))]
    rows = (
        _choose_rows(golds, field)
        if is_field
        else _rows_of_file(
            spec.good, [p for _, p in payloads] or [Payload(candidate="", task_model=task_model)]
        )
    )
    if not rows:
        raise UsageError(
            f"no example has a text or a number in {field!r}, which is to be the gold",
            hint="name the field of the right answer: --good target",
        )
    return Known(
        field=field,
        rows=rows,
        bad={path: load_candidate(path) for path in spec.bad},
        has_near_misses=has_near_misses,
        files=tuple(source.file for source in sources if Path(source.file).is_file()),
        without_gold=len(payloads) - len(golds),
    )


def _first(source: SplitSource) -> Iterable[Any]:
    return islice(source.examples, _MOST_READ)


def offer_gold(sources: Sequence[SplitSource]) -> str:
    """Name a field that may well be the gold: it is offered, and never taken by itself."""
    examples = [example.value for source in sources for example in islice(source.examples, 1)]
    return next((name for name in _USUAL if any(golds_of(example, name) for example in examples)), "")


def golds_of(example: JsonMapping, field: str) -> tuple[str, ...]:
    """List the golds in a field: of a list each, a number and an object as text.

    >>> golds_of({"target": ["Paris", 7]}, "target"), golds_of({"target": None}, "target")
    (('Paris', '7'), ())
    """
    value = value_at(example, field)
    return tuple(text for item in (value if isinstance(value, list) else [value]) if (text := _text(item)))


def _text(value: object) -> str:
    if isinstance(value, bool | int | float) or (isinstance(value, dict) and value):
        return orjson.dumps(value).decode()
    return value if isinstance(value, str) and value.strip() else ""


def _rows_of_file(good: KnownGood, payloads: Sequence[Payload]) -> tuple[GoldRow, ...]:
    if not Path(good.path).is_file():
        raise UsageError(
            f"{good.written!r} is neither a field of the examples nor a file",
            hint="--good takes the field of the right answer, or the file of a known good candidate",
        )
    text = load_candidate(good.path)
    return tuple(
        GoldRow(payload=replace(payload, candidate=text), golds=(text,)) for payload in payloads[:MOST_ROWS]
    )


def plain_of(text: str) -> str:
    """Reduce a text to what all metrics mind: letters and digits in small letters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or folded


_WANTED: Sequence[Callable[[str], bool]] = (  # what finds most, if a gold is so
    lambda gold: not gold.isascii(),
    lambda gold: not any(letter.isascii() and letter.isalnum() for letter in gold),
    lambda gold: gold != gold.strip(),
    lambda gold: bool(_IN_FRONT.fullmatch(gold)),
    lambda gold: gold.strip() in {"0", "false"},  # which many a language takes for nothing
    lambda gold: decimal_of(gold) is not None,
    lambda gold: gold.startswith("0."),  # for which a tolerance may be too wide
    lambda gold: any(word.isupper() and len(word) > 1 for word in gold.split()),
    lambda gold: abs(number_of(gold) or 0) >= _FROM_A_THOUSAND,
    lambda gold: len(gold.split()) > 2,  # noqa: PLR2004  and one is left when the last is gone
    lambda gold: (number_of(gold) or 0) < 0,
)


def _choose_rows(known: Sequence[tuple[tuple[str, ...], Payload]], field: str) -> tuple[GoldRow, ...]:
    """Choose rows whose golds differ, those first whose golds find most."""
    distinct = {plain_of(golds[0]): (golds, payload) for golds, payload in reversed(known)}
    left = list(reversed(distinct.values()))
    wanted = (next((row for row in left if like(row[0][0])), None) for like in _WANTED)
    chosen = list({id(row): row for row in [*(row for row in wanted if row), *left]}.values())[:MOST_ROWS]
    return _each_with_wrong(
        [
            GoldRow(payload=replace(payload, candidate=golds[0]), golds=golds, wholes=_wholes(payload, field))
            for golds, payload in chosen
        ]
    )


def _each_with_wrong(rows: Sequence[GoldRow]) -> tuple[GoldRow, ...]:
    return tuple(_with_wrong(row, [*rows[number:], *rows[:number]]) for number, row in enumerate(rows, 1))


def _wholes(payload: Payload, field: str) -> tuple[str, ...]:
    """Write the list that a field has as JSON, and with commas."""
    value = value_at(_example_of(payload), field)
    if not isinstance(value, list):
        return ()
    return orjson.dumps(value).decode(), ", ".join(filter(None, map(_text, value)))


def take_whole(known: Known, form: int) -> Known:
    """Take lists for golds, not each of their items."""
    rows = [
        replace(row.in_place_of_gold(row.wholes[form]), wrong="", wholes=()) if row.wholes else row
        for row in known.rows
    ]
    return replace(known, rows=_each_with_wrong(rows))


def _with_wrong(row: GoldRow, others: Sequence[GoldRow]) -> GoldRow:
    """Take the next row's gold as wrong here, or that of one which surely is."""
    tried = [replace(row, wrong=other.gold) for other in others if other.gold != row.gold]
    return next((made for made in tried if made.is_fair), tried[0] if tried else row)


def number_of(gold: str) -> int | None:
    """Read a gold that is a whole number, and nothing else.

    >>> number_of("-1,234"), number_of("12 apples")
    (-1234, None)
    """
    return int(gold.replace(",", "")) if _WHOLE.fullmatch(gold.strip()) else None


def all_of(row: GoldRow, rows: Sequence[GoldRow]) -> str:
    """List the golds of all rows in one line, this row's neither first nor last."""
    golds = [other.gold for other in rows]
    if all(len(gold) == 1 for gold in golds):
        return " ".join(sorted(golds))
    others = [gold for gold in golds if gold != row.gold]
    return ", ".join([*others[:1], row.gold, *others[1:]])


def _last_word(gold: str) -> re.Match[str]:
    """Find the last word that metrics see: an emoji is none."""
    words = list(re.finditer(r"\S+", gold))
    seen = [word for word in words if any(letter.isalnum() for letter in word[0])]
    return seen[-1] if seen else words[0]


def words_in(gold: str) -> int:
    if (value := read_json(gold)) is not None:
        return len(value)
    return sum(any(letter.isalnum() for letter in word) for word in gold.split())


def read_json(gold: str) -> Any:
    """Read a gold that is an object or a list in JSON; None where it is none, or there is nothing in it."""
    with suppress(orjson.JSONDecodeError):
        return (gold.lstrip()[:1] in {"{", "["} and orjson.loads(gold)) or None
    return None


def _first_items(value: Any, many: int) -> str:
    first = value[:many] if isinstance(value, list) else dict(islice(value.items(), many))
    return orjson.dumps(first).decode() if many else ""


def with_items(gold: str, wrong: str) -> str:
    """Add the items of another list in JSON to this one; empty where either is none."""
    own, others = read_json(gold), read_json(wrong)
    if not (isinstance(own, list) and isinstance(others, list)):
        return ""
    return orjson.dumps([*own, *(item for item in others if item not in own)]).decode()


def with_more(row: GoldRow) -> str:
    """Add what is wrong to what is right."""
    return with_items(row.gold, row.wrong) or f"{row.gold}\n{row.wrong}"


def _change_last(value: Any) -> Any:
    """Change the last value in what JSON has."""
    match value:
        case dict() if value:
            return {**value, (last := [*value][-1]): _change_last(value[last])}
        case list() if value:
            return [*value[:-1], _change_last(value[-1])]
        case bool():
            return not value
        case int() | float():
            return value * 7 + 1_003
    return f"{value[::-1]}x" if isinstance(value, str) else "x"


def without_last_word(gold: str) -> str:
    """Leave out the last word, and what is behind it; empty where there is one alone."""
    if (value := read_json(gold)) is not None:
        return _first_items(value, len(value) - 1)
    return gold[: _last_word(gold).start()].rstrip()


def says_twice(gold: str) -> bool:
    """Return True if the last word stands elsewhere too, so that nothing is lost without it."""
    return read_json(gold) is None and plain_of(_last_word(gold)[0]) in map(
        plain_of, without_last_word(gold).split()
    )


_FEWEST_ITEMS, _MOST_WORDS = 3, 4  # of a list, and of what is listed


def without_items(gold: str) -> list[str]:
    """Leave out of a list its first item, and the first and the last in the alphabet, each for itself."""
    items = re.split(r"[,;]\s+|\n", gold.strip())
    if len(items) < _FEWEST_ITEMS or any(len(item.split()) > _MOST_WORDS for item in items):
        return []
    between = gold.strip()[len(items[0]) :].partition(items[1])[0]
    left_out = dict.fromkeys([items[0], min(items), max(items)])
    return [between.join(item for item in items if item != other) for other in left_out]


def in_a_circle(gold: str) -> str:
    """Go round from a word to where it stands again; empty where that has all words, or there is none."""
    words = gold.split()
    plain = [plain_of(word) for word in words]
    for end, word in enumerate(plain):
        circle = words[(start := plain.index(word)) : end]
        if circle and {*plain} - {*plain[start:end]}:
            return " ".join((circle * len(words))[: len(words)])
    return ""


def first_half(gold: str) -> str:
    if (value := read_json(gold)) is not None:
        return _first_items(value, len(value) // 2)
    words = gold.split()
    return " ".join(words[: len(words) // 2])


@frozen
class Misspelt:
    """A text that is nearly the gold, and what is wrong where it scores as much."""

    text: str
    fault: str
    is_part: bool = False  # so that a metric which looks for the gold in a text takes it
    shorter: str = ""  # what says as much, where that scores as much as the gold
    is_fault: bool = True  # else it may be meant


def misspelt(gold: str) -> list[Misspelt]:
    """Change the words of a gold; none where they have no letters."""
    if (value := read_json(gold)) is not None:
        return [Misspelt(text=orjson.dumps(_change_last(value)).decode(), fault=_OTHER_VALUE)]
    first, last = gold.split(maxsplit=1)[0], _last_word(gold)[0]
    if len(gold.strip()) == 1 and gold.strip().isalpha():
        return [
            Misspelt(text=f"The answer is {gold.strip()}xyz.", fault=_BEGINS, is_part=True, is_fault=False)
        ]
    if len(last) <= 1 or number_of(last) is not None or not any(letter.isalpha() for letter in last):
        return []
    back = last[::-1] if last[::-1] != last else f"{last}x"
    made = [Misspelt(text=_with_last_word(gold, back), fault=_BACKWARDS)]
    if plain_of(first) not in {plain_of(last), ""}:
        again = _with_last_word(gold, first)
        made.append(Misspelt(text=again, fault=_AGAIN, shorter=without_last_word(gold)))
    seen = [index for index, letter in enumerate(gold) if letter.isalnum()]
    within = f"{gold[: seen[0]]}x{gold[seen[0] : seen[-1] + 1]}x{gold[seen[-1] + 1 :]}"
    return [*made, Misspelt(text=within, fault=_WITHIN, is_part=True)]


_OTHER_VALUE = "its last value is another one: does it compare names, or as many as there are?"
_BACKWARDS = "its last word is written backwards: a threshold, rounding, or letters in any order?"
_AGAIN = "its first word stands for the last one: does it count a word as often as it is said?"
_BACK = "upside down it scores as much, and in another order less: is a sign lost?"
_CIRCLE = "it goes round in a part of the gold: does it count words more often than the gold has them?"
_BEGINS = "a word that begins so counts: does it look where the word ends?"
_WITHIN = "letters before and behind it cost nothing: is a part of a word the word?"
_NOT_ASCII = "letters that are not ASCII are left out: does it see them?"


def _with_last_word(gold: str, word: str) -> str:
    last = _last_word(gold)
    return f"{gold[: last.start()]}{word}{gold[last.end() :]}"


def upside_down(gold: str) -> Misspelt | None:
    """Turn a list round, where it counts that its first two items change places."""
    listed, numbers = read_json(gold), gold.split()
    items = listed if isinstance(listed, list) else re.split(r"[,;]\s+|\n", gold.strip())
    between = ", "
    if len(numbers) >= _FEWEST_ITEMS and all(number_of(number) is not None for number in numbers):
        items, between = numbers, " "
    if len(items) < _FEWEST_ITEMS or isinstance(listed, dict) or items[0] == items[1] or items == items[::-1]:
        return None
    back, swapped = (
        orjson.dumps(made).decode() if listed else between.join(made)
        for made in (items[::-1], [items[1], items[0], *items[2:]])
    )
    return Misspelt(text=back, fault=_BACK, shorter=swapped, is_fault=False)


def going_round(gold: str) -> Misspelt | None:
    text = in_a_circle(gold)
    return Misspelt(text=text, fault=_CIRCLE, shorter=without_last_word(gold)) if text else None


def without_letters(gold: str) -> Misspelt | None:
    """Leave out the letters that are not ASCII, where others are left of each word."""
    words = gold.split()
    left = ["".join(a for a in word if a.isascii() or not a.isalpha()) for word in words]
    if gold.isascii() or left == words or not all(any(a.isalnum() for a in word) for word in left):
        return None
    return Misspelt(text=" ".join(left), fault=_NOT_ASCII, is_fault=False)


@frozen
class NumberMiss:
    """A number that is nearly the gold, and maybe a text by which a metric of texts is known."""

    text: str
    fault: str
    control: str = ""
    is_near: bool = False  # so that a tolerance may take it
    is_fault: bool = True  # else it may be meant


NO_NUMBER = NumberMiss(
    text="NaN", fault="NaN passes, which is not a number: every comparison with it is false"
)


def as_sum(number: int) -> NumberMiss:
    fault = "it is calculated: is what candidates say run?"
    return NumberMiss(text=f"({number - 1}) + 1", fault=fault, is_fault=False)


def without_zeros(gold: str) -> NumberMiss | None:
    """Leave out the zeros in front, which are a part of what is no number but a code."""
    zeros = _IN_FRONT.fullmatch(gold)
    fault = "zeros in front count nothing: are codes taken for numbers?"
    return NumberMiss(text=zeros[1], fault=fault, is_fault=False) if zeros else None


def far_from(number: float) -> str:
    return str(int(abs(number)) * 7 + 1_003)


def next_to(number: int) -> list[NumberMiss]:
    return [NumberMiss(text=str(number + step), fault="off by one", is_near=True) for step in (1, -1)]


def near_numbers(number: int) -> list[NumberMiss]:
    """Write numbers that look like this one."""
    digits, sign = str(abs(number)), "-" if number < 0 else ""
    made = [NumberMiss(text=f"{sign}1{digits}", fault="it minds the end alone")]
    if number:
        made.append(NumberMiss(text=str(-number), fault="the sign is lost", control=f";{digits}"))
    if digits[:1] != digits[1:2] and len(digits) > 1:
        swapped = f"{sign}{digits[1]}{digits[0]}{digits[2:]}"
        made.append(NumberMiss(text=swapped, fault="the order of digits is lost"))
    if abs(number) >= _FROM_A_THOUSAND:
        grouped = f"{number:,}"
        made.append(
            NumberMiss(
                text=grouped.replace(",", "."),
                fault="a decimal point is taken for a separator of thousands",
                control=grouped.replace(",", ";"),
            )
        )
    return made


def decimal_of(gold: str) -> float | None:
    """Read a gold that is a decimal number, and nothing else."""
    return float(gold) if _DECIMAL.fullmatch(gold.strip()) else None


def is_measured(gold: str) -> bool:
    """Return True if all but the last word is a number, as in 42 km."""
    rest = without_last_word(gold)
    return number_of(rest) is not None or decimal_of(rest) is not None


def twice(gold: str) -> NumberMiss | None:
    """Double a number with a unit."""
    rest = without_last_word(gold)
    if not is_measured(gold) or not (number := float(rest.replace(",", ""))):
        return None
    fault = "twice as much counts: is a tolerance too wide for what is small?"
    return NumberMiss(text=f"{2 * number:g}{gold.strip()[len(rest) :]}", fault=fault)


def stands_in(gold: str, text: str) -> bool:
    """Return True if a text has the words of a gold, so that it may be right."""
    words, wanted = plain_words(text), plain_words(gold)
    return bool(wanted) and wanted <= words


def plain_words(text: str) -> set[str]:
    return {plain_of(word) for word in text.split()}


def cut_decimals(gold: str) -> list[NumberMiss]:
    """Leave out what is behind the point, and round up."""
    digits = gold.removeprefix("-")
    whole, _, part = digits.partition(".")
    sign = "-" if gold.startswith("-") else ""
    wholes = (f"{sign}{whole}", f"{sign}{int(whole) + 1}") if int(part) else ()
    return [NumberMiss(text=text, fault="what is behind the point is lost", is_near=True) for text in wholes]


def near_decimals(gold: str) -> list[NumberMiss]:
    """Write numbers that look like this one, which has a point."""
    sign, digits = ("-", gold[1:]) if gold.startswith("-") else ("", gold)
    made = [NumberMiss(text=f"{sign}1{digits}", fault="it minds the end alone")]
    if float(gold):
        other = digits if sign else f"-{digits}"
        made.append(NumberMiss(text=other, fault="the sign is lost", control=f";{digits}"))
    return [*made, *cut_decimals(gold)]


_NAMED_ROW = ("id", "line", "row", "index", "nr")
_FURTHER = 1_001  # an odd number, and few rows have an id that is so much higher


def rename_row(payload: Payload, times: int) -> Payload | None:
    """Give a row another id, line or number; None where it has none."""
    example = orjson.loads(payload.example or b"{}")
    named = {key: example[key] for key in _NAMED_ROW if isinstance(example.get(key), int | str)}
    if not named:
        return None
    changed = {**example, **{key: _other_id(value, times) for key, value in named.items()}}
    return replace(payload, example=orjson.dumps(changed))


def _other_id(value: int | str, times: int) -> int | str:
    if isinstance(value, int):
        return value + times * _FURTHER
    if match := re.search(r"\d{1,9}(?=\D*$)", value):
        return f"{value[: match.start()]}{int(match[0]) + times * _FURTHER}{value[match.end() :]}"
    return f"{value}-{times * _FURTHER}"


def without_field(payload: Payload, path: str) -> Payload:
    """Take a field out of the row."""
    return replace(payload, example=orjson.dumps(_change_at(_example_of(payload), path)))


def with_gold(payload: Payload, path: str, text: str) -> Payload:
    """Let a row have another gold, which is the candidate."""
    example = _example_of(payload)
    gold = [text] if isinstance(value_at(example, path), list) else text
    return replace(payload, candidate=text, example=orjson.dumps(_change_at(example, path, gold)))


def _example_of(payload: Payload) -> JsonDict:
    return dict(orjson.loads(payload.example or b"{}"))


def _change_at(value: JsonDict, path: str, item: object = None) -> JsonDict:
    """Put something else at a dotted path; None takes away what stands there."""
    if path in value:
        return {**_without(value, path), **({} if item is None else {path: item})}
    head, _, rest = path.partition(".")
    below = value.get(head)
    return {**value, head: _change_at(below, rest, item)} if isinstance(below, dict) else value


def _without(value: JsonDict, key: str) -> JsonDict:
    return {name: item for name, item in value.items() if name != key}


_ALIKE: Mapping[str, Callable[[str], str]] = {
    "stripped": str.strip,
    "in small letters": str.lower,
    "in capitals": str.upper,
    "composed letters": lambda text: unicodedata.normalize("NFKC", text),
    "without punctuation": lambda text: re.sub(r"[^\w\s]", "", text),
    "without letters that are not ASCII": lambda text: text.encode("ascii", "ignore").decode(),
}


def alike(gold: str) -> list[tuple[str, str]]:
    """Write a gold as evaluators make texts before they compare them, on both sides if they are right."""
    made: dict[str, str] = {}
    for what, make in _ALIKE.items():
        made.setdefault(make(gold), what)
    return [(what, text) for text, what in made.items() if text.strip() and text != gold]


_MOST_FIELDS = 4


def other_fields(payload: Payload, field: str) -> list[tuple[str, str]]:
    """List what stands in the row's other fields."""
    others = {name: golds_of({"": value}, "")[:1] for name, value in _example_of(payload).items()}
    texts = [(name, text) for name, own in others.items() for text in own if name != field.partition(".")[0]]
    return [(name, text) for name, text in texts if text != payload.candidate][:_MOST_FIELDS]
