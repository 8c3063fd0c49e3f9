"""A language model as an evaluator: how a judge is written, what it takes, what makes it the same."""

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

import orjson

from optimize_eval.base import checks
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.base.secrets import mask
from optimize_eval.evaluators.kinds import (
    Checks,
    Kind,
    ShellCall,
    TargetKey,
    as_format,
    as_name,
    plain,
    served_retries,
)
from optimize_eval.models.chat import ChatSpec, essence
from optimize_eval.models.judging.judge import instructions
from optimize_eval.models.judging.rubric import (
    JudgeSpec,
    PanelMember,
    Vote,
    check_judge,
    judge_of,
    load_rubric,
    model_of,
    read_rubric,
    said_in,
    shown_example,
)
from optimize_eval.models.providers import apart, base_around, check_one_provider, split
from optimize_eval.programs.exchange import show_url
from optimize_eval.programs.identity import Identity

_BEGINS = "judge:"


class ModelTable(Protocol):
    """A table [[model]] of a sweep file."""

    @property
    def text(self) -> str: ...
    @property
    def spec(self) -> ChatSpec: ...
    def handled(self, manners: Manners | None) -> Manners | None: ...


def judge_spec(model: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe a judge by its model; what it is to look for comes from `defaults`."""
    given = judge_of(defaults)
    called, base = apart(model.strip())
    judge = check_judge(replace(given, model=called, api_base=base or given.api_base))
    split(model_of(judge).name)
    name = as_name(judge.model.rpartition("/")[2]).strip("-.") or "judge"
    return defaults.at(judge, name=name, text=f"{_BEGINS}{model.strip()}", retries=served_retries(defaults))


def plan_judge(options: JsonMapping) -> JudgeSpec:
    """Make what judges start from: `rubric` names a file, and the other options win over what it says."""
    file = options.get("rubric")
    given = {key: value for key, value in options.items() if key != "rubric" and value not in (None, "", ())}
    return replace(load_rubric(file) if file else JudgeSpec(), **given)


def judge_by(rubric: str | Path | JsonMapping | None, given: JsonMapping) -> JudgeSpec:
    """Make a judge of a rubric's file or of what such a file would say; what is given beside it wins."""
    source = str(rubric) if isinstance(rubric, str | Path) else "llm_judge_evaluator"
    keys = said_in(source) if isinstance(rubric, str | Path) else {**(rubric or {})}
    return read_rubric(keys | {key: value for key, value in given.items() if value is not None}, source)


def _parse(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    return judge_spec(target.removeprefix(_BEGINS), defaults)


def _of_models(
    models: "str | ModelTable | list[str | ModelTable]", defaults: EvaluatorSpec, settings: JsonMapping
) -> EvaluatorSpec:
    """Make a judge of a model, or a panel of several; the first of them gives it its name."""
    first, *others = models if isinstance(models, list) else [models]
    judge = plan_judge(settings)
    judge = replace(judge, panel=tuple(_member(other, judge.api_base) for other in others))
    return _of_model(first, defaults, judge)


def _member(model: "str | ModelTable", usual_base: str) -> PanelMember:
    """Describe a further model; one without a base of its own is where all are."""
    called, base = apart(model.strip() if isinstance(model, str) else model.text)
    table = None if isinstance(model, str) else model.spec
    split(called)
    return PanelMember(model=called, api_base=base or ("" if table else usual_base), table=table)


def _of_model(model: str | ModelTable, defaults: EvaluatorSpec, judge: JudgeSpec) -> EvaluatorSpec:
    """Make a judge of a model's text, or of a table of its own."""
    if isinstance(model, str):
        return judge_spec(model, replace(defaults, target=judge))
    judge = replace(judge, table=model.spec)
    return judge_spec(model.text, replace(defaults, target=judge, manners=model.handled(defaults.manners)))


def _settings(folder: str) -> checks.Keys:
    def path(value: object) -> str:
        name = checks.text(value)
        return name if name.startswith("@") else checks.beside(folder, name)

    return {
        "objective": checks.text,
        "rubric": path,
        "api_base": checks.url,
        "temperature": checks.temperature,
        "max_tokens": checks.count,
        "seed": checks.whole,
        "shows": checks.fields,
        "hides": checks.fields,
        "human": checks.fields,
        "human_range": checks.span,
        "shows_prompt": checks.boolean,
        "shows_model": checks.boolean,
        "against": checks.text,
        "vote": checks.Choice(kind=Vote),
        "quorum": checks.count,
        "samples": checks.count,
    }


def _check_defaults(defaults: EvaluatorSpec, judges: Sequence[EvaluatorSpec]) -> None:
    if not judges:
        judging = judge_of(defaults)
        said = {
            "--objective": judging.objective,
            "--rubric": judging.rubric_file,
            "--api-base": judging.api_base,
        }
        named = [option for option, value in said.items() if value] or [*said]
        raise UsageError(
            f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'} for judges, and none is named",
            hint="name one: --judge-model PROVIDER/MODEL",
        )
    if base := judge_of(defaults).api_base:
        check_one_provider(judge.model for judge in map(judge_of, judges) if judge.api_base == base)


def _targets() -> dict[str, TargetKey]:
    return {"judge": TargetKey(checks.model, _of_models, is_model=True)}


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    from optimize_eval.models.judging.votes import JudgeEvaluator

    return JudgeEvaluator(spec)


def _identify(spec: EvaluatorSpec) -> Identity:
    return identify(spec.name, judge_of(spec))


def _shell(spec: EvaluatorSpec, payload: Payload) -> ShellCall:
    """Write what scores a candidate on stdin with a judge; its key stays in the environment."""
    judge = judge_of(spec)
    example = shown_example(judge, payload)
    options = {
        "--objective": judge.objective,
        "--rubric": judge.rubric_file,
        "--api-base": judge.api_base,
        "--task-model": payload.task_model,
        "--example": None if example is None else plain(example),
        "--timeout": f"{spec.timeout:g}",
    }
    given = [word for option, value in options.items() if value for word in (option, value)]
    words = ["optimize-eval", "score", "-", "-e", f"{_BEGINS}{judge.model}", *given]
    return ShellCall(shlex.join(words), writer=f"printf -- {as_format(payload.candidate)}")


def _models(spec: EvaluatorSpec, _task_models: Iterable[str | None]) -> list[str]:
    return [member.model for member in judge_of(spec).members]


KIND = Kind(
    noun="a judge",
    parse=_parse,
    targets=_targets,
    settings=_settings,
    check_defaults=_check_defaults,
    connect=_connect,
    identify=_identify,
    shell=_shell,
    checks=Checks.MODELS,
    models=_models,
)


def _identify_member(member: PanelMember) -> JsonDict:
    base = show_url(member.api_base) if member.api_base else ""
    spec = ChatSpec(name=member.model, api_base=member.api_base)
    return {"model": member.model, "api_base": base, **essence(member.table), "around": base_around(spec)}


_USUAL = JudgeSpec()
_LATER_IN_RUBRICS = ("levels", "abstain")
_LATER = (
    *("shows", "hides", "shows_prompt", "shows_model", "hides_model"),
    *("against", "panel", "vote", "quorum", "samples"),
)


def identify(name: str, judge: JudgeSpec) -> Identity:
    """Digest what a judge is."""
    known = asdict(replace(judge, table=None))
    del known["table"]
    del known["rubric_file"]  # a rubric may move
    del known["human"], known["human_range"]  # which it is not shown, as others
    known["hides"] = judge.blind_to
    known["rubric"] = {
        key: value for key, value in known["rubric"].items() if value or key not in _LATER_IN_RUBRICS
    }
    for key in _LATER:
        if known[key] == getattr(_USUAL, key):
            del known[key]  # so that a judge that is as usual is the one that it was in older runs
    known["api_base"] = show_url(judge.api_base) if judge.api_base else ""
    if judge.panel:
        known["panel"] = list(map(_identify_member, judge.panel))
    document = {**known, "rubric": {key: value for key, value in known["rubric"].items() if value}}
    document |= {"human": judge.human} if judge.human else {}
    document |= {"human_range": judge.human_range} if judge.human_range else {}
    table = essence(judge.table)  # without it a judge is the one that it was in older runs
    parts = [known, instructions(judge), *([table] if table else []), *base_around(model_of(judge))]
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS))
    return Identity(
        name=name, text=mask(f"judge:{judge.model}"), files=(), sha256=digest.hexdigest(), judge=document
    )
