"""An evaluator's trial: RULES is the table of what is tried, in which order, and for how many calls.

Candidates that are nearly right are made in golds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from optimize_eval.evaluators import kinds
from optimize_eval.run.preflight.examined import (
    CheckOutcome,
    CheckStatus,
    Examined,
    leave_out,
    live,
    say_noted,
)
from optimize_eval.run.preflight.golds import Known, rename_row, take_whole
from optimize_eval.run.preflight.on_trial import SAME, Findings, Trial, calls_models, is_program, score_in
from optimize_eval.run.preflight.rules_of_calls import (
    AT_ONCE,
    KEPT,
    LENGTHS,
    ask_again,
    call_at_once,
    change_ids,
    files_as_they_are,
    look_at_files,
    send_long,
    take_gold_away,
    watch_memory,
    watch_network,
)
from optimize_eval.run.preflight.rules_of_scores import (
    has_newline,
    misses_of,
    numbers_beside,
    row_of_items,
    try_bad,
    try_code,
    try_echoes,
    try_golds,
    try_less,
    try_misspelt,
    try_more,
    try_newline,
    try_nothing,
    try_numbers,
)

MOST_CALLS = 60

_ROWS_OF_JUDGES = 3
_OF_NEAR_MISSES = 3
_WHERE_CALLS_ARE_LEFT = 1
_TOO_MANY = f"a trial has {MOST_CALLS} calls at most"


class Rule(NamedTuple):
    """What is tried together: what it can find, each with what else is so; its most calls, and how."""

    finds: Mapping[str, str]
    calls: Callable[[Known], int]
    look: Callable[[Trial], Findings]
    is_varied: bool = False  # it needs rows whose golds differ
    is_dear: bool = False  # it is not for judges
    applies: Callable[[Trial], bool] = lambda _: True  # else there is nothing to say of it
    cut: int = 0  # what is left out first where there are too many calls: 1 in the end; 3: near misses


RULES: Sequence[Rule] = (
    Rule(
        {
            "good": "what is right scores high",
            "constant": "scores differ",
            "wrong answers": "another row's gold scores less",
            "inverted": "right ones score more than wrong ones",
            "stderr": "no gold stands there while a wrong answer is scored",
        },
        lambda known: len(known.rows) * (1 + known.is_varied),
        try_golds,
    ),
    Rule({"empty": "nothing at all scores less"}, lambda _: 2, try_nothing),
    Rule(
        {"bad": "it scores less"},
        lambda known: len(known.bad) * len(known.rows),
        try_bad,
        applies=lambda trial: bool(trial.known.bad),
    ),
    Rule({"echo": "a score in the candidate counts nothing"}, lambda _: 2, try_echoes),
    Rule(
        {"code": "what would be run, or is a pattern, counts nothing"},
        lambda _: 3,
        try_code,
        is_varied=True,
        is_dear=True,
        applies=lambda trial: bool(trial.known.field),
        cut=2,
    ),
    Rule(
        {"newline": "a newline at the end counts nothing"},
        lambda _: 1,
        try_newline,
        is_dear=True,
        applies=has_newline,
    ),
    Rule(
        {
            "listed": "all golds in one line score less",
            "embedded": "a gold that is denied scores less",
            "extra": "a wrong line more scores less",
        },
        lambda _: 4,
        try_more,
        is_varied=True,
        cut=3,
    ),
    Rule(  # a second call spares one of the next rule
        {"truncated": "what is not complete scores less"},
        lambda known: 1 + 3 * bool(row_of_items(known.rows)),
        try_less,
        is_varied=True,
        cut=3,
    ),
    Rule(
        {"near miss": "what is misspelt scores less"},
        lambda known: len(misses_of(known.rows)),
        try_misspelt,
        is_varied=True,
        cut=3,
    ),
    Rule(
        {"number": "numbers beside it score less"},
        lambda known: len(numbers_beside(known.rows)),
        try_numbers,
        is_varied=True,
        cut=3,
    ),
    Rule(
        {"same answer": "asked again, it scores the same"}, lambda known: 11 + 4 * bool(known.bad), ask_again
    ),
    Rule(
        {"id": "the row's id counts nothing"},
        lambda _: 3,
        change_ids,
        is_varied=True,
        is_dear=True,
        applies=lambda trial: rename_row(trial.rows[0].payload, 1) is not None,
        cut=2,
    ),
    Rule(
        {"missing gold": "without a gold there is no score"},
        lambda _: 2,
        take_gold_away,
        is_varied=True,
        is_dear=True,
        cut=2,
    ),
    Rule(
        {"at once": f"{AT_ONCE} calls at the same time are answered as one by one"},
        lambda _: AT_ONCE,
        call_at_once,
        is_dear=True,
    ),
    Rule(
        {"slow": "long candidates take no longer than they should"},
        lambda _: len(LENGTHS),
        send_long,
        is_varied=True,
        is_dear=True,
        cut=1,
    ),
    Rule(
        {"memory": "it does not grow"},
        lambda _: KEPT,
        watch_memory,
        is_varied=True,
        is_dear=True,
        applies=lambda trial: trial.is_kept_alive,
        cut=1,
    ),
    Rule(
        {"writes": "the data stay as they are"},
        lambda _: 0,
        look_at_files,
        is_varied=True,
        is_dear=True,
        applies=lambda trial: bool(trial.files),
    ),
    Rule(
        {"network": "it asks nobody"},
        lambda _: 1,
        watch_network,
        is_varied=True,
        is_dear=True,
        applies=lambda trial: is_program(trial.spec),
        cut=_WHERE_CALLS_ARE_LEFT,
    ),
)


def stand_trial(on: Examined, known: Known) -> Findings:
    """Try an evaluator by all rules that there is something to try by; what it finds comes as it is found."""
    if calls_models(on.spec):
        known = replace(known, rows=known.rows[:_ROWS_OF_JUDGES])
    with live(on.spec) as evaluator:
        trial = Trial(on=on, known=known, evaluator=evaluator, files=files_as_they_are(known.files))
        yield from _keep_alive(trial)
        if trial.failed:
            return
        _take_lists_whole(trial)
        chosen, left = choose_rules(trial)
        for rule in chosen:
            if rule.cut == _WHERE_CALLS_ARE_LEFT and on.calls_on_trial + rule.calls(trial.known) > MOST_CALLS:
                yield from (leave_out(name, _TOO_MANY) for name in rule.finds)
                continue
            trial.crash = ""
            findings = [*rule.look(trial)]
            yield from findings
            yield from _say_what_passed(rule, findings, trial)
            if rule is RULES[0] and trial.failed:
                return
    yield from left
    yield from _say_which_scores(trial)


def _keep_alive(trial: Trial) -> Findings:
    """Say of a process that is to stay why it does not; each further call would wait for it in vain."""
    for row in trial.rows[:2]:  # what the first call declares holds for the second
        trial.high(row)
    if not trial.evaluator.note:
        return
    line = kinds.call_one_process(trial.spec, trial.payloads[:2], seconds=2)
    said = say_noted("kept alive", trial.evaluator.note, line)
    if said.status is CheckStatus.FAIL:
        yield trial.finding(said.name, said.message, line)


def _take_lists_whole(trial: Trial) -> None:
    """Take a list of golds for the gold itself, in the form that scores more than the first of them."""
    row = max(trial.rows, key=lambda row: len(row.golds))
    if len(row.golds) == 1 or calls_models(trial.spec):
        return
    scores = [trial.score(row.with_candidate(text)) or 0.0 for text in row.wholes]
    if scores and max(scores) > (trial.high(row) or 0.0) + SAME:
        trial.known = take_whole(trial.known, scores.index(max(scores)))


def _say_what_passed(rule: Rule, findings: Sequence[CheckOutcome], trial: Trial) -> Findings:
    """Say what else is so; of a gold that failed, nothing is known, nor of what broke the evaluator."""
    if rule is RULES[0] and any(check.status is CheckStatus.FAIL for check in findings):
        return
    rest = rule.finds.keys() - {check.name for check in findings}
    for name in rule.finds if trial.known.is_varied else [*rule.finds][:1]:
        if name in rest and trial.crash:
            yield leave_out(name, trial.crash)
        elif name in rest:
            yield CheckOutcome(name, CheckStatus.PASS, rule.finds[name])


def _say_which_scores(trial: Trial) -> Findings:
    """Say where nothing was right in part: who divides whole numbers gets no other scores."""
    scores = [score for result in trial.answers.values() if (score := score_in(result)) is not None]
    if {*scores} == {0, 1}:
        yield CheckOutcome("scores", CheckStatus.PASS, f"0 or 1 in all of {len(scores)} calls, none between")


def choose_rules(trial: Trial) -> tuple[list[Rule], list[CheckOutcome]]:
    """Choose what can be tried with so many calls, and say of the rest why it is not."""
    known, left, chosen = trial.known, dict[str, str](), list[Rule]()
    for rule in RULES:
        if not rule.applies(trial) or (rule.is_dear and calls_models(trial.spec)):
            continue
        if rule.is_varied and not known.is_varied:
            left |= dict.fromkeys(
                rule.finds, "there is one gold alone, so none is wrong where another is right"
            )
        elif rule.cut == _OF_NEAR_MISSES and not known.has_near_misses:
            left |= dict.fromkeys(rule.finds, "--no-near-misses")
        else:
            chosen.append(rule)
    most = MOST_CALLS - trial.on.calls_on_trial + sum(payload in trial.answers for payload in trial.payloads)
    while sum(rule.calls(known) for rule in chosen if rule.cut != _WHERE_CALLS_ARE_LEFT) > most:
        spared = min((rule for rule in reversed(chosen) if rule.cut > 1), key=lambda rule: rule.cut)
        left |= dict.fromkeys(spared.finds, _TOO_MANY)
        chosen.remove(spared)
    return chosen, [leave_out(name, why) for name, why in left.items()]
