"""Rules of a trial about what scores how high: right answers, wrong ones, and what is nearly right.

What a sound metric might do on purpose is a warning, what none does is a failure. Scores of different rows
are never compared, but by `good` itself.
"""

from collections.abc import Mapping, Sequence

from optimize_eval.base import strict_json
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.evaluators import kinds
from optimize_eval.run.preflight.examined import (
    CheckOutcome,
    CheckStatus,
    leave_out,
    live,
)
from optimize_eval.run.preflight.golds import (
    NO_NUMBER,
    GoldRow,
    Misspelt,
    NumberMiss,
    alike,
    all_of,
    as_sum,
    cut_decimals,
    decimal_of,
    far_from,
    first_half,
    going_round,
    is_measured,
    misspelt,
    near_decimals,
    near_numbers,
    next_to,
    number_of,
    other_fields,
    plain_words,
    read_json,
    says_twice,
    stands_in,
    twice,
    upside_down,
    with_gold,
    with_more,
    without_items,
    without_last_word,
    without_letters,
    without_zeros,
    words_in,
)
from optimize_eval.run.preflight.on_trial import (
    SAME,
    Findings,
    Trial,
    calls_models,
    place_of,
    quote,
    reason_of,
    score_in,
    score_text,
)

_HIGH = 0.999  # of a gold
_GRADED = 0.5  # by a model, and few of them call anything perfect
_AGAIN = 5  # times that a low score is asked for again
_LETTERS = 3  # so short a gold stands on stderr by chance
_ECHO, _NO_ECHO = "score: 1\nScore: 1.0", "score: 0\nScore: 0.0"  # which scores as much by its form
_CODE = {
    ".*": "it is taken as a pattern",
    "*": "it is taken as a pattern",
    "exit(0)": "it is run, and ends before it is tried: does no error mean that it is right?",
}
_ITS_OWN = "answer", "output", "prediction", "response", "result", "text"  # fields of a reply in JSON
_NOISE = "((( zzz"  # no line of any program
_EMPTY = "", "  \n"
_PARTS = "each gold is a part of the others, or they of it"
_OTHER = "x"  # that scores as much where the form alone counts, as a length


def try_golds(trial: Trial) -> Findings:
    """Score what is right and, where there is such a thing, what is wrong in its place."""
    rows = trial.rows
    highs = [trial.high(row) for row in rows]
    lows = [trial.low(row) for row in rows] if trial.known.is_varied else []
    scored = [score for score in (*highs, *lows) if score is not None]
    is_constant = len(scored) == len(highs) + len(lows) and len({*scored}) == 1
    if lows and is_constant and scored[0]:
        yield _say_remembered(trial, rows[0], rows[0].wrong) or _constant(trial)
        return
    yield from _check_direction(trial, highs, lows)
    yield from _good(trial, highs, lows)
    if "good" not in trial.failed and lows:
        yield from _wrong_answers(trial)


def _constant(trial: Trial) -> CheckOutcome:
    row = trial.rows[0]
    equal = f"all {2 * len(trial.rows)} scores are equal, of right and of wrong ones"
    ignored = "the candidate, or is constant"
    if not trial.reaches(row, _OTHER):
        ignored = "the example, or remembers the candidate"
    why = f"{equal}: it ignores {ignored}"
    return trial.beside_gold("constant", row, row.wrong, why)


def _say_remembered(trial: Trial, row: GoldRow, text: str) -> CheckOutcome | None:
    """Say of a process that stays that a text scores otherwise in one that was called for nothing else."""
    if not trial.is_kept_alive:
        return None
    payload = row.with_candidate(text)
    with live(trial.spec, persistent=False) as evaluator:
        alone = trial.ask_again(payload, evaluator)
    before = trial.ask(payload)
    if score_in(alone) in {None, score_in(before)}:
        return None
    words = f"{place_of(row)}: {quote(text)} scores {score_text(before)} after other calls"
    message = f"{words}, and {score_text(alone)} in a process of its own: it remembers what it was sent"
    line = kinds.call_in_one(trial.spec, [row.payload, payload])
    return trial.finding("same answer", message, line)


def _check_direction(trial: Trial, highs: Sequence[float | None], lows: Sequence[float | None]) -> Findings:
    right, wrong = ([score for score in scores if score is not None] for scores in (highs, lows))
    if not (right and wrong):
        return
    high, low = sum(right) / len(right), sum(wrong) / len(wrong)
    if low > high + SAME:
        row = next(
            (row for row in trial.rows if (trial.low(row) or 0) > (trial.high(row) or 0)), trial.rows[0]
        )
        asked = "is it a distance?" if _is_all_high(trial, row) else "does it look at another row?"
        why = f"wrong ones score more in the mean ({low:.3g} against {high:.3g}): {asked}"
        yield trial.beside_gold("inverted", row, row.wrong, why)


def _is_all_high(trial: Trial, row: GoldRow) -> bool:
    """Return True if a text that is nobody's gold scores more than the gold."""
    score = None if calls_models(trial.spec) else trial.score(row.with_candidate(_OTHER))
    return score is None or score > (trial.high(row) or 0) + SAME


def _good(trial: Trial, highs: Sequence[float | None], lows: Sequence[float | None]) -> Findings:
    rows = dict(zip(highs, trial.rows, strict=True))  # of equal scores the last
    scored = [high for high in highs if high is not None]
    if None in rows:
        result = trial.ask(rows[None].payload)
        yield _not_so_good(trial, rows[None], f"is not scored: {reason_of(result)}")
        return
    lowest, best = min(scored), max(scored)
    if trial.spec.score_range is ScoreRange.ANY and lowest < best - SAME:
        yield _not_so_good(trial, rows[lowest], f"scores {lowest:g}, another {best:g}", is_fault=False)
    elif trial.spec.score_range is ScoreRange.UNIT and lowest < _HIGH:
        why = f"scores {lowest:g} {_why_low(trial, rows[lowest], [*highs, *lows])}"
        yield _not_so_good(trial, rows[lowest], why, is_fault=not _may_be_meant(trial, lowest, best))
    else:
        yield CheckOutcome("good", CheckStatus.PASS, f"{len(highs)} good ones score {lowest:g} or more")


def _other_score(trial: Trial, row: GoldRow) -> float | None:
    """Give another score of a gold, if it gets one when it is asked for again."""
    before = score_in(trial.ask(row.payload))
    for _ in range(0 if before is None else 1 if calls_models(trial.spec) else _AGAIN):
        after = score_in(trial.ask_again(row.payload, trial.evaluator))
        if after not in {None, before}:
            return after
    return None


def _may_be_meant(trial: Trial, lowest: float, best: float) -> bool:
    """Return True where what is good need not be perfect: by a model's word, or one file for all rows."""
    return (calls_models(trial.spec) and lowest >= _GRADED) or (not trial.known.field and best > 0)


def _not_so_good(trial: Trial, row: GoldRow, why: str, *, is_fault: bool = True) -> CheckOutcome:
    before = trial.ask(row.payload)
    if is_fault and (after := _other_score(trial, row)) is not None:
        again = f"scores {score_text(before)}, and {after:g} when it is asked again"
        message = f"{place_of(row)}: the good {quote(row.gold)} {again}"
        return trial.finding("same answer", message, kinds.call_twice(trial.spec, row.payload))
    line = kinds.call_once(trial.spec, row.payload)
    message = f"{place_of(row)}: the good {quote(row.gold)} {why}"
    return trial.finding("good", message, line, is_fault=is_fault)


def _why_low(trial: Trial, row: GoldRow, scores: Sequence[float | None]) -> str:
    is_looked_for = not (calls_models(trial.spec) or "inverted" in trial.failed)
    if is_looked_for and (better := _say_what_scores_more(trial, row)):
        return better
    if len(scores) > len(trial.rows) and not any(scores):
        return "as wrong ones do: does it look at the right field, or compare what is never equal?"
    return "only: what is right should score 1"


def _say_what_scores_more(trial: Trial, row: GoldRow) -> str:
    """Try what would be right if one side alone were changed, or another field were the gold."""
    high, field = trial.high(row) or 0.0, trial.known.field
    for what, text in alike(row.gold) if field else ():
        score = trial.score(with_gold(row.payload, field, text))
        if score is not None and score > high + SAME:
            return f"only, and {score:g} where row and candidate are {what}: is one side alone made so?"
    for name, text in other_fields(row.payload, field):
        score = trial.score(row.with_candidate(text))
        if score is not None and score > high + SAME:
            return f"only, and what stands in {quote(name)} {score:g}: does it look at the wrong field?"
    return ""


def _wrong_answers(trial: Trial) -> Findings:
    fair = [row for row in trial.rows if row.is_fair]
    if not fair:
        yield leave_out("wrong answers", _PARTS)
        yield leave_out("stderr", _PARTS)
    if reached := [row for row in fair if trial.reaches(row, row.wrong)]:
        wrong, why = reached[0], f"another row's gold counts as much: {_why_wrong(reached, fair)}"
        alone = _say_remembered(trial, wrong, wrong.wrong)
        yield alone or trial.beside_gold("wrong answers", wrong, wrong.wrong, why)
    for row in fair:
        result = trial.ask(row.with_candidate(row.wrong))
        if len(row.gold) > _LETTERS and row.gold in getattr(result, "stderr", ""):
            while_scored = f"stands on stderr while {quote(row.wrong)} is scored: logs tell it"
            message = f"{place_of(row)}: the gold {quote(row.gold)} {while_scored}"
            line = kinds.call_once(trial.spec, row.with_candidate(row.wrong))
            yield trial.finding("stderr", message, line, is_fault=False)
            return


def _why_wrong(reached: Sequence[GoldRow], fair: Sequence[GoldRow]) -> str:
    words = [plain_words(text) for text in (reached[0].gold, reached[0].wrong)]
    if len(reached) == len(fair):
        return "it ignores the example, or remembers the candidate"
    if words[0] & words[1]:
        return "does it take what they have in common for enough, by a threshold or by rounding?"
    return "does it look at the form alone, or remember the candidate?"


def try_nothing(trial: Trial) -> Findings:
    row = trial.best_row
    for text in _EMPTY:
        if trial.reaches(row, text):
            is_of_form = not trial.known.field and trial.reaches(row, _OTHER)
            why = f"nothing at all scores as what is right{_why_nothing(trial, row)}"
            yield trial.beside_gold("empty", row, text, why, is_fault=not is_of_form)
            return


def _why_nothing(trial: Trial, row: GoldRow) -> str:
    part = row.gold[: len(row.gold) // 2]
    if not trial.known.field or trial.reaches(row, _OTHER) or not trial.reaches(row, part):
        return ""
    return f", and so does {quote(part)}: is the candidate looked for in the gold, not the gold in it?"


def try_bad(trial: Trial) -> Findings:
    of_rows = any if trial.known.field else all  # what is good for all rows may do no better on some
    reached = [
        path
        for path, text in trial.known.bad.items()
        if of_rows(trial.reaches(row, text) for row in trial.rows)
    ]
    for path in reached[:1]:
        text = trial.known.bad[path]
        row, *rest = [row for row in trial.rows if trial.reaches(row, text)]
        is_right = trial.known.is_varied and all(stands_in(each.gold, text) for each in [row, *rest])
        why = (
            f"{' and '.join(reached)} should score less{', or is it right in this row?' if is_right else ''}"
        )
        yield trial.beside_gold("bad", row, text, why, is_fault=not is_right)


def try_echoes(trial: Trial) -> Findings:
    row = trial.best_row
    for text, control in {_ECHO: _NO_ECHO, **_reply_in_json(trial)}.items():
        if not trial.reaches(row, text):
            continue
        is_any = trial.reaches(row, control)
        if trial.known.field or not is_any:
            why = _why_any(trial, row, text) if is_any else "it obeys the candidate, or reads its score there"
            yield trial.beside_gold("echo", row, text, why)
            return


def _reply_in_json(trial: Trial) -> Mapping[str, str]:
    """Write a reply that brings its score, and its own gold with an answer that is equal to that."""
    own = dict.fromkeys([*_ITS_OWN, trial.known.field.rpartition(".")[2] or "target"], _OTHER)
    text, control = (strict_json.dumps({"score": score, **own}).decode() for score in (1, 0))
    return {text: control}


def _why_any(trial: Trial, row: GoldRow, text: str) -> str:
    if trial.reaches(row, _OTHER):
        return "any text does"
    if text == _ECHO or trial.reaches(row, strict_json.dumps({"answer": _OTHER}).decode()):
        return "does its length or its form count alone?"
    return "it brings its own gold: are its fields put into the row?"


def try_code(trial: Trial) -> Findings:
    """Try what is taken for something else than a text where it is run, or matched."""
    row = trial.best_row
    if "empty" in trial.failed:
        yield leave_out("code", "nothing at all scores as much, and signs may be nothing")
        return
    for text, why in _CODE.items():
        if trial.reaches(row, text) and not trial.reaches(row, _OTHER):
            yield trial.beside_gold("code", row, text, why)
            return


def try_newline(trial: Trial) -> Findings:
    """Let the gold end as files do, where candidates of files are to be scored, or as replies do."""
    row = next(filter(_ends_in_newline, trial.rows), trial.best_row)
    text, why = (
        f"{row.gold}\n",
        "candidates here end in a newline: strip it in the files, or in the evaluator",
    )
    if _ends_in_newline(row):
        text, why = (
            row.gold.rstrip("\r\n"),
            "replies end in no newline: strip it in the data, or the evaluator",
        )
    high, score = trial.high(row), trial.score(row.with_candidate(text))
    if high is not None and score is not None and score < high - SAME:
        yield trial.beside_gold("newline", row, text, why, is_fault=False)


def has_newline(trial: Trial) -> bool:
    """Return True if a candidate ends in a newline, or a gold does."""
    payloads = (payload for payloads in trial.on.material.splits.values() for payload in payloads)
    ends = any(payload.candidate.endswith("\n") for payload in payloads)
    return ends or any(map(_ends_in_newline, trial.rows))


def _ends_in_newline(row: GoldRow) -> bool:
    return row.gold.endswith("\n")


def try_more(trial: Trial) -> Findings:
    """Try texts that hold the gold and more."""
    rows, longest = trial.rows, longest_of(trial.rows)
    row = rows[_middle(rows)]
    if trial.reaches(row, text := all_of(row, rows)):
        yield trial.beside_gold("listed", row, text, "whoever names all answers is right", is_fault=False)
    if trial.reaches(rows[0], text := embedded_in(rows[0])):
        yield trial.beside_gold(
            "embedded", rows[0], text, "what is denied counts, as the gold stands in it", is_fault=False
        )
    if trial.reaches(longest, text := with_more(longest)) and not _minds_noise(trial, longest):
        why = f"a wrong line more costs nothing: does it {_why_more(trial, longest)}?"
        yield trial.beside_gold("extra", longest, text, why, is_fault=False)


def _minds_noise(trial: Trial, row: GoldRow) -> bool:
    """Return True if what is no line of a program costs something, so that the other line was one."""
    return read_json(row.gold) is None and not trial.reaches(row, f"{row.gold}\n{_NOISE}")


def _why_more(trial: Trial, row: GoldRow) -> str:
    if trial.reaches(row, without_last_word(row.gold)):
        return _START
    if trial.reaches(row, f"{row.gold} {row.wrong}"):
        return "count what is missing alone (recall), or look for the gold in it"
    return "read the first line, or what comes first, alone"


def embedded_in(row: GoldRow) -> str:
    return f"It is certainly not {row.gold}, it is {row.wrong}."


def longest_of(rows: Sequence[GoldRow]) -> GoldRow:
    """Choose the gold of most words."""
    return max(rows, key=lambda row: (words_in(row.gold), len(row.gold)))


def _middle(rows: Sequence[GoldRow]) -> int:
    """Choose a row whose gold is neither the first nor the last of all."""
    by_gold = sorted(range(len(rows)), key=lambda number: rows[number].gold)
    return by_gold[(len(rows) - 1) // 2]


def try_less(trial: Trial) -> Findings:
    several = max(trial.rows, key=lambda row: len(row.golds))
    if all_golds := next((text for text in several.wholes if trial.reaches(several, text)), ""):
        yield trial.beside_gold("truncated", several, all_golds, _ANY_OF, is_fault=False)
        return
    row = longest_of(trial.rows)
    text = without_last_word(row.gold)
    if not text:
        yield leave_out("truncated", "no gold has two words")
        return
    if not trial.reaches(row, text):
        yield from _try_items(trial)
        return
    if says_twice(row.gold):
        yield leave_out("truncated", "the last word of the longest gold stands in it twice")
        return
    half = first_half(row.gold)
    is_by_keywords = half != text and trial.reaches(row, half) and trial.reaches(row, with_more(row))
    last = row.gold.removeprefix(text).strip()
    is_meant = is_by_keywords or is_measured(row.gold)
    asked = _PRECISION if trial.reaches(row, last) else _START
    why = f"what is left out costs nothing: does it {asked}?"
    yield trial.beside_gold("truncated", row, text, why, is_fault=not is_meant)


def _try_items(trial: Trial) -> Findings:
    """Leave out items of a list."""
    row = row_of_items(trial.rows)
    for text in without_items(row.gold) if row else ():
        if row and trial.reaches(row, text):
            yield trial.beside_gold(
                "truncated", row, text, "an item that is left out costs nothing: off by one?"
            )
            return


def row_of_items(rows: Sequence[GoldRow]) -> GoldRow | None:
    return next((row for row in rows if without_items(row.gold)), None)


_START = "mind the start alone, a threshold, or rounding"
_ANY_OF = "the first of them does as well as all: does it count what is there alone (precision), or one hit?"
_PRECISION = "count what is there alone (precision), or look for the candidate in the gold"


def try_misspelt(trial: Trial) -> Findings:
    """Try texts whose letters are nearly those of the gold; of a model the first one alone."""
    misses = misses_of(trial.rows)
    if not misses:
        yield leave_out("near miss", "the last word of the longest gold has no letters to change")
    for row, miss in misses[:1] if calls_models(trial.spec) else misses:
        shorter = miss.shorter or (without_last_word(row.gold) if is_measured(row.gold) else "")
        is_told = shorter and trial.reaches(row, shorter)
        if not is_told and trial.reaches(row, miss.text) and not (miss.is_part and _takes_parts(trial)):
            yield trial.beside_gold("near miss", row, miss.text, miss.fault, is_fault=miss.is_fault)
            return


def misses_of(rows: Sequence[GoldRow]) -> list[tuple[GoldRow, Misspelt]]:
    row = longest_of(rows)
    without = [(row, miss) for row in rows if (miss := without_letters(row.gold))]
    circles = [(row, miss) for row in rows if (miss := going_round(row.gold))]
    backs = [(row, miss) for row in rows if (miss := upside_down(row.gold))]
    return [*((row, miss) for miss in misspelt(row.gold)), *backs[:1], *circles[:1], *without[:1]]


def _takes_parts(trial: Trial) -> bool:
    return trial.reaches(trial.rows[0], embedded_in(trial.rows[0]))


def try_numbers(trial: Trial) -> Findings:
    misses = numbers_beside(trial.rows)
    if not misses:
        yield leave_out("number", "no gold is a number")
    warned = False
    for row, miss in misses:
        if not trial.reaches(row, miss.text, is_number=True):
            continue
        is_any = miss.is_near and trial.reaches(row, far_from(float(row.gold.replace(",", ""))))
        is_meant = not is_any and (not miss.is_fault or _is_meant(trial, row, miss))
        if is_meant and miss.control and not any(map(_has_sign_or_point, trial.rows)):
            continue  # a metric of texts, and nothing to lose
        if is_meant and miss.is_near and _is_within_a_hundredth(row.gold, miss.text):
            continue  # as many a tolerance has it
        if not (warned and is_meant):
            fault = "any number does" if is_any else miss.fault
            yield trial.beside_gold("number", row, miss.text, fault, is_fault=not is_meant)
        if not is_meant:
            return
        warned = True


def numbers_beside(rows: Sequence[GoldRow]) -> list[tuple[GoldRow, NumberMiss]]:
    """Choose what is near to the smallest whole number, and what looks like the largest, or a decimal one."""
    wholes = {abs(number): row for row in rows if (number := number_of(row.gold)) is not None}
    decimals = {abs(decimal): row for row in rows if (decimal := decimal_of(row.gold)) is not None}
    if wholes:
        small, large = wholes[min(filter(None, wholes), default=0)], wholes[max(wholes)]
        number = number_of(large.gold) or 0
        near = [(small, miss) for miss in next_to(number_of(small.gold) or 0)]
        codes = [(row, miss) for row in rows if (miss := without_zeros(row.gold))][:1]
        others = [*near_numbers(number), NO_NUMBER, as_sum(number)]
        cut = [(row, miss) for row in decimals.values() for miss in cut_decimals(row.gold.strip())][:2]
        return [*near, *cut, *codes, *((large, miss) for miss in others)]
    if not decimals:
        doubled = [(row, miss) for row in rows if (miss := twice(row.gold))]
        return sorted(doubled, key=lambda pair: abs(float(pair[1].text.split()[0])))[:1]
    row = decimals[max(decimals)]
    return [(row, miss) for miss in [*near_decimals(row.gold.strip()), NO_NUMBER]]


def _is_within_a_hundredth(gold: str, text: str) -> bool:
    number, other = (float(each.replace(",", "")) for each in (gold, text))
    return abs(number - other) <= abs(number) / 100


def _has_sign_or_point(row: GoldRow) -> bool:
    return row.gold.startswith("-") or decimal_of(row.gold) is not None


def _is_meant(trial: Trial, row: GoldRow, miss: NumberMiss) -> bool:
    """Return True where a metric takes it for a part of a text, or for near enough."""
    if _takes_parts(trial):
        return True
    if miss.is_near:
        number = float(row.gold.replace(",", ""))
        texts = [f"{number * 1.02:.6g}", *([f"{number + 0.5}"] if number.is_integer() else [])]
        return any(trial.reaches(row, text, is_number=True) for text in texts)
    is_of_text = bool(miss.control) and trial.reaches(row, miss.control, is_number=True)
    return is_of_text and not trial.reaches(row, f"about {row.gold} pieces")
