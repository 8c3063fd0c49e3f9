"""Evaluator text → specification → live evaluator; the one table of kinds.

`[NAME=]TARGET` is what `-e` takes. Reaching evaluators is reach's work; scheduling them is run's.
"""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from optimize_eval import shipped
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import Evaluator, EvaluatorSpec, TaskSpecification
from optimize_eval.http import headers
from optimize_eval.names import distinct
from optimize_eval.programs.codec import evaluating
from optimize_eval.programs.command import Command
from optimize_eval.programs.not_started import INTERPRETERS
from optimize_eval.programs.text import split_command

if TYPE_CHECKING:
    from optimize_eval.kinds.judge.rubric import JudgeSpec

HTTP_RETRIES = 2  # of models, too

_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z]+):(//)?\S")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_LAUNCHER = re.compile(r"(env|python|pypy|bash|sh|zsh|node|deno|bun|ruby|perl|php|lua|tclsh|Rscript)[\d.]*$")


def parse_evaluators(texts: Iterable[str], defaults: EvaluatorSpec) -> tuple[EvaluatorSpec, ...]:
    """Read evaluator texts in their order; names that would repeat get -2, -3 and so on."""
    specs = [parse_evaluator(text, defaults) for text in texts]
    names = distinct(spec.name for spec in specs)
    return tuple(replace(spec, name=name) for spec, name in zip(specs, names, strict=True))


def parse_evaluator(text: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Read one evaluator text, `[NAME=]TARGET`; what the text does not say comes from `defaults`.

    >>> parse_evaluator("style=python3 judge.py --strict", EvaluatorSpec()).argv
    ('python3', 'judge.py', '--strict')
    """
    name = given_name(text)
    target = (text if name is None else text[len(name) + 1 :]).strip()
    if not target:
        raise UsageError(
            f"the evaluator {text!r} names nothing to run", hint="give a command: -e './evaluate'"
        )
    parse = next((parse for prefix, parse in _KINDS if target.startswith(prefix)), _parse_command)
    spec = parse(target, defaults)
    return replace(spec, name=name) if name else spec


def given_name(text: str) -> str | None:
    """Read the NAME of `NAME=TARGET`; None where the text gives none.

    >>> given_name("style=python3 judge.py"), given_name("./style=loud")
    ('style', None)
    """
    named = _NAMED.match(text)
    return named[1] if named else None


def parse_headers(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read request headers, each `NAME: VALUE`."""
    return tuple(headers.parse(text) for text in texts)


def check_used(specs: Iterable[EvaluatorSpec], defaults: EvaluatorSpec, say: Callable[[str], None]) -> None:
    """Refuse what is for judges where no judge is named; note what else nothing that is named uses."""
    specs = tuple(specs)
    if defaults.judge and not any(spec.judge for spec in specs):
        raise UsageError(
            "--objective, --rubric and --api-base are for judges, and none is named",
            hint="name one: --judge-model PROVIDER/MODEL",
        )
    if defaults.judge and (base := defaults.judge.api_base):
        from optimize_eval.models.providers import check_one_provider

        check_one_provider(spec.judge.model for spec in specs if spec.judge and spec.judge.api_base == base)
    if defaults.cwd is not None and all(spec.url or spec.judge for spec in specs):
        say("note: --cwd has no effect: it is for programs, and none is named")
    if defaults.headers and not any(spec.url for spec in specs):
        say("note: --header has no effect: it is for URLs, and none is named")


def connect(spec: EvaluatorSpec) -> Evaluator:
    """Make the live evaluator of a specification."""
    if spec.url:
        from optimize_eval.programs.endpoint import Endpoint

        return Endpoint(spec, evaluating(spec.score_range))
    if spec.task:
        from optimize_eval.tasks.evaluator import TaskEvaluator

        return TaskEvaluator(spec, connect)
    if spec.judge:
        from optimize_eval.kinds.judge.live import JudgeEvaluator

        return JudgeEvaluator(spec)
    return Command(spec, evaluating(spec.score_range))


def models_called(spec: EvaluatorSpec, task_models: Iterable[str | None] = ()) -> list[str]:
    """Name the models of providers that an evaluator calls."""
    if spec.judge:
        return [spec.judge.model]
    if spec.task is None:
        return []
    from optimize_eval.tasks.under_test.table import parse_model, without_base

    texts = [spec.task.model] if spec.task.model else [name for name in task_models if name]
    scored_by = models_called(spec.task.scorer) if spec.task.scorer else []
    return [*(without_base(one.rest) for one in map(parse_model, texts) if not one.kind), *scored_by]


def command_spec(argv: tuple[str, ...], defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe a command by its words."""
    if not argv or not argv[0]:
        raise UsageError("the evaluator command is empty", hint="name a program, such as './evaluate'")
    return replace(defaults, name=_default_name(argv), argv=argv, judge=None, retries=defaults.retries or 0)


def endpoint_spec(url: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe an HTTP endpoint; its name is its host and path, never a user, a password or a query."""
    from optimize_eval.http.client import check_url

    name = _endpoint_name(check_url(url))
    retries = HTTP_RETRIES if defaults.retries is None else defaults.retries
    return replace(defaults, name=name, text=url, url=url, judge=None, retries=retries)


def _endpoint_name(url: str) -> str:
    parts = urlsplit(url)
    return _NOT_IN_NAME.sub("-", f"{parts.hostname}{parts.path}").strip("-") or "endpoint"


def judge_spec(model: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe a judge by its model; what it is to look for comes from `defaults`."""
    from optimize_eval.kinds.judge.live import model_of
    from optimize_eval.kinds.judge.rubric import JudgeSpec, check_judge
    from optimize_eval.models import providers

    given = defaults.judge or JudgeSpec()
    called, base = providers.apart(model.strip())
    judge = check_judge(replace(given, model=called, api_base=base or given.api_base))
    providers.split(model_of(judge).name)
    name = _NOT_IN_NAME.sub("-", judge.model.rpartition("/")[2]).strip("-.")
    retries = HTTP_RETRIES if defaults.retries is None else defaults.retries
    return replace(
        defaults, name=name or "judge", text=f"{_JUDGE}{model.strip()}", judge=judge, retries=retries
    )


def plan_judge(options: Mapping[str, Any]) -> "JudgeSpec":
    """Make what judges start from: `rubric` names a file, and the other options win over what it says."""
    from optimize_eval.kinds.judge.rubric import JudgeSpec
    from optimize_eval.kinds.judge.rubric_file import load_rubric

    file = options.get("rubric")
    said = {key: value for key, value in options.items() if key != "rubric" and value not in {None, ""}}
    return replace(load_rubric(file) if file else JudgeSpec(), **said)


def task_spec(
    model: str,
    metrics: Iterable[str],
    defaults: EvaluatorSpec,
    task: TaskSpecification,
    *,
    sandbox: str = "",
) -> EvaluatorSpec:
    """Describe the evaluator that asks a model about tasks; `metrics` are the texts that score them.

    The model may be written NAME=MODEL; what else is known of it is said by `task`. `sandbox` is the level at
    which code is run.
    """
    from optimize_eval.tasks.under_test.table import parse_model, retries_of

    name = given_name(model)
    text = model if name is None else model[len(name) + 1 :]
    named = parse_model(text)
    retries = retries_of(text) if defaults.retries is None else defaults.retries
    return replace(
        defaults,
        name=name or _model_name(named.kind, named.rest),
        text=text,
        retries=retries,
        judge=None,
        task=replace(task, model=text, metrics=_metric_specs(metrics, defaults, sandbox)),
    )


def check_one_base(models: Iterable[str]) -> None:
    """Refuse one base for models of several providers; those that have their own do not count."""
    from optimize_eval.models.providers import apart, check_one_provider
    from optimize_eval.tasks.under_test.table import parse_model

    texts = [text[len(name) + 1 :] if (name := given_name(text)) else text for text in models]
    named = [parse_model(text) for text in texts]
    check_one_provider(one.rest for one in named if not one.kind and not apart(one.rest)[1])


def _model_name(kind: str, rest: str) -> str:
    """Name a program by its script, outputs by their file, a URL by host and path, others as they are."""
    from optimize_eval.tasks.under_test.table import without_base

    if kind == "cmd:":
        return _default_name(split_command(rest) or ("",))
    if kind == "http":
        return _endpoint_name(rest)
    if kind == "replay:":
        return Path(rest).stem
    return kind or without_base(rest)


def _metric_specs(
    metrics: Iterable[str], defaults: EvaluatorSpec, sandbox: str = ""
) -> tuple[EvaluatorSpec, ...]:
    """Describe what scores: in our own folder and environment, whatever the model's are."""
    plain = replace(defaults, environment={}, headers=(), cwd=None, persistent=None, retries=None)
    level = f" --sandbox {shlex.quote(sandbox)}" if sandbox else ""
    texts = dict.fromkeys(text + level * text.startswith("@code_exec") for text in metrics)
    return tuple(parse_evaluator(text, plain) for text in texts)


def _parse_task(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    from optimize_eval.tasks.jsonl.files import load_tasks

    name = target.removeprefix("task:").strip()
    if not name:
        raise UsageError("task: names no file", hint="name a task file: task:tasks.jsonl")
    file = load_tasks(Path(defaults.cwd or ".", name))
    if file.errors:
        raise UsageError(
            f"{name} has {len(file.errors)} lines that are no tasks; the first: {file.errors[0]}",
            hint=f"optimize-eval validate {shlex.quote(name)} tells all of them",
        )
    metrics = _metric_specs((task.evaluator for task in file.tasks), defaults)
    called = _NOT_IN_NAME.sub("-", file.name) or "task"
    return replace(defaults, name=called, text=target, judge=None, task=TaskSpecification(metrics=metrics))


def _parse_metric(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    metric, *arguments = split_command(target)
    name, _, variant = metric[1:].partition("@")
    program = shipped.metric_path(name)
    launcher = sys.executable if program.suffix == ".py" else "sh"
    chosen = ("--variant", variant) if variant else ()
    spec = command_spec((launcher, str(program), *chosen, *arguments), defaults)
    return replace(spec, name=metric[1:], text=target)


def _parse_judge(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    return judge_spec(target.removeprefix(_JUDGE), defaults)


def _parse_command(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    if scheme := _SCHEME.match(target):
        kinds = {prefix.partition(":")[0]: prefix for prefix, _ in _KINDS if ":" in prefix}
        close = get_close_matches(scheme[1].lower(), kinds, n=1)
        if close or scheme[2]:
            hint = f"did you mean {kinds[close[0]]}…?" if close else _KINDS_HINT
            raise UsageError(f"no kind of evaluator is written {scheme[1]}:{scheme[2] or ''}…", hint=hint)
    return replace(command_spec(split_command(target), defaults), text=target)


def _default_name(argv: tuple[str, ...]) -> str:
    """Name a command after its script if an interpreter runs one, else after its program."""
    program = Path(argv[0]).name
    scripts = [word for word in argv[1:] if not word.startswith("-") and _is_script(word)]
    named_after = Path(scripts[0] if scripts and _LAUNCHER.match(program) else program)
    stem = named_after.stem if _is_script(named_after.name) else named_after.name
    return _NOT_IN_NAME.sub("-", stem).strip("-") or "evaluator"


def _is_script(word: str) -> bool:
    return Path(word).suffix.lower() in INTERPRETERS


_JUDGE = "judge:"
_KINDS: tuple[tuple[str, Callable[[str, EvaluatorSpec], EvaluatorSpec]], ...] = (
    ("@", _parse_metric),
    ("http://", endpoint_spec),
    ("https://", endpoint_spec),
    ("task:", _parse_task),
    (_JUDGE, _parse_judge),
)
_KINDS_HINT = (
    "an evaluator is a command ('python3 judge.py'), a URL (http://…), a shipped one (@exact_match), "
    "a model (judge:PROVIDER/MODEL) or a task file (task:tasks.jsonl)"
)
