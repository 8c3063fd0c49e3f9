"""Scorers that ask a model for a verdict; they are loaded where a task has one.

Where a judge's output is structured, it is held to a schema, and nothing is added to the prompts. Otherwise
the system prompt ends with one line, which says what to answer with.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.models.judging.judge import THE_OBJECT, Question, ask, usage_of
from optimize_eval.models.judging.rubric import AnswerForm, Rubric, schema_of
from optimize_eval.models.judging.verdicts import Judgement, parse_reply
from optimize_eval.tasks.definition import Classifier, JudgeScore, Labeler, RagChecker
from optimize_eval.tasks.rag import rag_checker
from optimize_eval.tasks.scorer_parts import Case, Scored, Scoring, Tools, text_of

_THE_LABEL = "the label"

Judge = Classifier | JudgeScore | Labeler


def classifier(how: Classifier, tools: Tools) -> Scoring:
    rubric = Rubric(
        form=AnswerForm.CLASSIFIER,
        correct_labels=tuple(how.correct_labels),
        incorrect_labels=tuple(how.incorrect_labels),
    )

    def scores(read: Judgement) -> JsonMapping:
        return {"is_correct": read.side_info["is_correct"]}

    return _by_judge(how, tools, rubric, _one_of(rubric.known_labels), scores)


def judge_score(how: JudgeScore, tools: Tools) -> Scoring:
    rubric = Rubric(form=AnswerForm.SCORER, score_min=how.score_min, score_max=how.score_max)
    form = f"one number from {how.score_min:g} to {how.score_max:g}"
    return _by_judge(how, tools, rubric, form, lambda read: {"score": read.score})


def labeler(how: Labeler, tools: Tools) -> Scoring:
    rubric = Rubric(form=AnswerForm.LABELER, labels=tuple((label, 1.0) for label in how.valid_labels))
    form = _one_of(how.valid_labels) if how.valid_labels else _THE_LABEL
    return _by_judge(
        how, tools, rubric, form, lambda read: {"label": read.side_info["label"]}, has_number=False
    )


def _by_judge(
    how: Judge,
    tools: Tools,
    rubric: Rubric,
    form: str,
    scores: Callable[[Judgement], JsonMapping],
    *,
    has_number: bool = True,
) -> Scoring:
    chat, user = tools.model(how.model_key), text_of(how.user_prompt)
    schema = schema_of(rubric) if how.use_structured_outputs else None
    system = text_of(how.system_prompt)
    ending = "" if schema or form == _THE_LABEL else f"Answer with {form}"

    def score(case: Case, deadline: float) -> Scored:
        messages = _messages(_end_with(system(case), ending), user(case))
        judged = _foreign(case)
        question = Question(how.model_key, messages, schema, THE_OBJECT if schema else form)
        asked = ask(chat, question, lambda text: parse_reply(text, rubric, judged), deadline)
        fields = scores(asked.read)
        others = {key: value for key, value in asked.read.side_info.items() if key not in fields}
        return Scored(
            primary=asked.read.score if has_number else None,
            scores=fields,
            metadata={**others, "usage": usage_of(asked.replies)},
            spent=asked.spent,
        )

    return score


def _end_with(text: str, line: str) -> str:
    """Put a line at the end of a text, if there is one."""
    return f"{text}\n{line}" if text and line and not text.endswith("\n") else text + line


def _messages(system: str, user: str) -> list[dict[str, str]]:
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": user}]


def _foreign(case: Case) -> list[str]:
    """Give what others wrote: a verdict that stands there is only quoted."""
    trace = [*case.trace.items] if case.trace else []
    return [strict_json.dumps(dict(case.sample)).decode(), strict_json.dumps(trace).decode()]


def _one_of(labels: Iterable[str]) -> str:
    return f"exactly one of: {', '.join(labels)}"


KINDS_BY_JUDGES: Mapping[type, Callable[[Any, Tools], Scoring]] = {
    Classifier: classifier,
    JudgeScore: judge_score,
    Labeler: labeler,
    RagChecker: rag_checker,
}
