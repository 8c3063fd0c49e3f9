"""An evaluator's trial: RULES is the table of what is tried, in which order, and for how many calls.

Candidates that are nearly right are made in golds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.run.preflight.examined import (
    CheckOutcome,
    CheckStatus,
    Examined,
    leave_out,
    live,
)
from optimize_eval.run.preflight.golds import Known, decimal_of, number_of
from optimize_eval.run.preflight.on_trial import Findings, Trial, calls_models
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
    try_bad,
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


class Rule(NamedTuple):
    """What is tried together: what it can find, each with what else is so; its most calls, and how."""

    finds: Mapping[str, str]
    calls: Callable[[Known], int]
    look: Callable[[Trial], Findings]
    is_varied: bool = False  # it needs rows whose golds differ
    is_dear: bool = False  # it is not for judges
    applies: Callable[[Trial], bool] = lambda _: True  # else there is nothing to say of it
    cut: int = 0  # the first to be left out where there would be too many calls; 3: of near misses


def _has_numbers(known: Known) -> bool:
    return any((number_of(row.gold), decimal_of(row.gold)) != (None, None) for row in known.rows)


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
        lambda _: 3,
        try_more,
        is_varied=True,
        cut=3,
    ),
    Rule({"truncated": "a missing last word scores less"}, lambda _: 2, try_less, is_varied=True, cut=3),
    Rule({"near miss": "a misspelt last word scores less"}, lambda _: 2, try_misspelt, is_varied=True, cut=3),
    Rule(
        {"number": "numbers beside it score less"},
        lambda known: 8 * _has_numbers(known),
        try_numbers,
        is_varied=True,
        cut=3,
    ),
    Rule({"same answer": "asked again, it scores the same"}, lambda _: 10, ask_again),
    Rule({"id": "the row's id counts nothing"}, lambda _: 3, change_ids, is_varied=True, is_dear=True, cut=2),
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
    Rule({"memory": "it does not grow"}, lambda _: KEPT, watch_memory, is_varied=True, is_dear=True, cut=1),
    Rule({"writes": "the data stay as they are"}, lambda _: 0, look_at_files, is_varied=True, is_dear=True),
    Rule({"network": "it asks nobody"}, lambda _: 1, watch_network, is_varied=True, is_dear=True),
)


def stand_trial(on: Examined, known: Known) -> Findings:
    """Try an evaluator by all rules that there is something to try by; what it finds comes as it is found."""
    if calls_models(on.spec):
        known = replace(known, rows=known.rows[:_ROWS_OF_JUDGES])
    chosen, left = choose_rules(on.spec, known)
    files = files_as_they_are(known.files)
    with live(on.spec) as evaluator:
        trial = Trial(on=on, known=known, evaluator=evaluator, files=files)
        for rule in chosen:
            if not rule.applies(trial):
                continue
            trial.crash = ""
            findings = [*rule.look(trial)]
            yield from findings
            yield from _say_what_passed(rule, findings, trial)
            if rule is RULES[0] and trial.failed:
                return
    yield from left


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


def choose_rules(spec: EvaluatorSpec, known: Known) -> tuple[list[Rule], list[CheckOutcome]]:
    """Choose what can be tried with so many calls, and say of the rest why it is not."""
    rules = [rule for rule in RULES if not (rule.is_dear and calls_models(spec))]
    left: dict[str, str] = {}
    chosen = []
    for rule in rules:
        if rule.is_varied and not known.is_varied:
            left |= dict.fromkeys(
                rule.finds, "there is one gold alone, so none is wrong where another is right"
            )
        elif rule.cut == _OF_NEAR_MISSES and not known.has_near_misses:
            left |= dict.fromkeys(rule.finds, "--no-near-misses")
        else:
            chosen.append(rule)
    for cut in (1, 2, _OF_NEAR_MISSES):
        if sum(rule.calls(known) for rule in chosen) > MOST_CALLS:
            spared = {name for rule in chosen if rule.cut == cut for name in rule.finds}
            left |= dict.fromkeys(sorted(spared), f"a trial has {MOST_CALLS} calls at most")
            chosen = [rule for rule in chosen if rule.cut != cut]
    return chosen, [leave_out(name, why) for name, why in left.items()]
