"""Scorers that are evaluators: those that ship, and any other. Their answers become fields."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator
from optimize_eval.base.protocol import Answer, Payload, Skip
from optimize_eval.tasks.definition import COVERAGE, Bleu, ChoiceEquals, FunctionCalls, Program, StringEquals
from optimize_eval.tasks.scorer_parts import Case, Scored, Tools, evaluator_keys, unusable
from optimize_eval.tasks.templates.template import Native, native_of, task_template_of

Scoring = Callable[[Case, float], Scored | Skip]
Text = Callable[[Case], str]
Fields = Mapping[str, Any]


def bleu(how: Bleu, tools: Tools) -> Scoring:
    evaluator, value, truth = _live(how, tools), text_or_last(how.value), text_of(how.ground_truth)

    def score(case: Case, deadline: float) -> Scored | Skip:
        answer = _called(evaluator, value(case), {"ground_truth": truth(case)}, deadline)
        return answer if isinstance(answer, Skip) else _parted(answer, ("bleu_score",))

    return score


def string_equals(how: StringEquals, tools: Tools) -> Scoring:
    evaluator, value, truth = _live(how, tools), text_or_last(how.value), text_of(how.ground_truth)

    def score(case: Case, deadline: float) -> Scored | Skip:
        said, wanted = value(case), truth(case)
        answer = _called(evaluator, said, {"ground_truth": wanted}, deadline)
        if isinstance(answer, Skip):
            return answer
        return _parted(answer, ("is_correct",), {"answer_gt": wanted, "answer_pred": said})

    return score


def choice_equals(how: ChoiceEquals, tools: Tools) -> Scoring:
    evaluator, truth, choices = _live(how, tools), text_of(how.ground_truth_choice), _choices_of(how.choices)

    def score(case: Case, deadline: float) -> Scored | Skip:
        wanted, offered = truth(case), choices(case)
        example = {"ground_truth_choice": wanted, "choices": offered}
        answer = _called(evaluator, case.last_text, example, deadline)
        if isinstance(answer, Skip):
            return answer
        chosen = str(answer.side_info.get("letter", ""))
        metadata = {
            "completion_validity": answer.side_info["completion_validity"] if chosen else "unknown",
            "ground_truth_choices": _read(offered) if isinstance(offered, str) else offered,
            "ground_truth_correct_choice": wanted,
            "predicted_choice": chosen,
        }
        return Scored(
            primary=answer.score,
            scores={"is_correct": answer.side_info["is_correct"]},
            metadata=metadata,
            spent=answer.spent,
        )

    return score


def function_calls(how: FunctionCalls, tools: Tools) -> Scoring:
    evaluator = _live(how, tools)
    wanted = how.function_calls
    required = native_of(wanted, is_needed=True) if isinstance(wanted, str) else None

    def score(case: Case, deadline: float) -> Scored | Skip:
        made = [_call(item) for item in case.trace.function_calls] if case.trace else []
        listed = _calls_in(required(case.fields)) if required else wanted
        answer = _called(evaluator, _json(made), {"function_calls": listed}, deadline)
        return answer if isinstance(answer, Skip) else _parted(answer, COVERAGE)

    return score


def program(how: Program, tools: Tools) -> Scoring:
    evaluator, value = _live(how, tools), text_or_last(how.value)

    def score(case: Case, deadline: float) -> Scored | Skip:
        answer = _called(evaluator, value(case), case.sample, deadline)
        if isinstance(answer, Skip):
            return answer
        scores = {"score": answer.score, **answer.side_info}
        return Scored(primary=answer.score, scores=scores, spent=answer.spent)

    return score


def text_of(template: str) -> Text:
    """Parse a template, which is rendered for each case."""
    render = task_template_of(template).render
    return lambda case: render(case.fields)


def text_or_last(template: str | None) -> Text:
    return _last if template is None else text_of(template)


def _last(case: Case) -> str:
    return case.last_text


def _choices_of(choices: Sequence[str] | str) -> Callable[[Case], Sequence[str] | str]:
    """Render each choice, or the text that is a list of them."""
    if isinstance(choices, str):
        return partial(_offered, native_of(choices, is_needed=True))
    each = [text_of(choice) for choice in choices]
    return lambda case: [text(case) for text in each]


def _offered(choices: Native, case: Case) -> Sequence[str] | str:
    """Give a list, or a text that the evaluator reads as one."""
    value = choices(case.fields)
    return value if isinstance(value, list) else str(value)


def _live(how: Any, tools: Tools) -> Evaluator:
    keys = evaluator_keys(how)
    assert keys is not None  # noqa: S101  for the checker
    return tools.evaluator(keys)


def _called(evaluator: Evaluator, candidate: str, example: Fields, deadline: float) -> Answer | Skip:
    try:
        return evaluator.call(Payload(candidate=candidate, example=strict_json.dumps(example)), deadline)
    except (UsageError, TypeError, ValueError) as error:  # no text or number of JSON
        raise unusable(f"it cannot be sent as JSON: {error}") from None


def _parted(answer: Answer, names: Sequence[str], metadata: Fields | None = None) -> Scored:
    """Take those fields of an answer that are scores; without metadata of one's own, the others are it."""
    fields = answer.side_info
    scores = {name: fields[name] for name in names}
    others = (
        {key: value for key, value in fields.items() if key not in scores} if metadata is None else metadata
    )
    return Scored(primary=answer.score, scores=scores, metadata=others, spent=answer.spent)


def _call(item: Mapping[str, Any]) -> Fields:
    return {"name": item["name"], "arguments": item.get("arguments")}


def _calls_in(value: Any) -> Any:
    """Take a list, or read one in JSON."""
    try:
        return strict_json.loads(value, unique_keys=False) if isinstance(value, str) else value
    except strict_json.JsonFault as fault:
        raise unusable(f"function_calls is no list in JSON: {fault}") from None


def _read(text: str) -> Any:
    """Read a list in JSON; one as Python writes it, which the evaluator reads, stays a text."""
    try:
        return strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault:
        return text


def _json(value: Any) -> str:
    return strict_json.dumps(value).decode()
