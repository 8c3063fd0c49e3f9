"""A task as an evaluator: render → model → post-process → score; models and metrics are real processes."""

import pickle
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Answer, Answered, Payload
from optimize_eval.evaluators.kinds import connect, identify, parse_evaluator
from optimize_eval.evaluators.task_kind import of_records, of_stored
from optimize_eval.models.model_kinds import ModelSpec, identify_model, model_has_changed
from optimize_eval.programs.exchange import argv_of
from optimize_eval.run.prompting import identified, identity_of, model_of
from optimize_eval.tasks.targets import RecordTask, models_of, task_of, with_task
from tests.fake_model import served_model
from tests.front_door import Cli
from tests.paths import PROGRAMS, PYTHON, ROOT
from tests.tools import write_program

MODEL = f"cmd:{PYTHON} {PROGRAMS / 'model.py'}"
DEFAULTS = EvaluatorSpec(timeout=10, workers=1)
EXACT = "@exact_match@normalised"
ARITHMETIC = ROOT / "datasets" / "tasks" / "arithmetic.jsonl"


def record(prompt: str, target: str, **more: Any) -> bytes:
    return orjson.dumps({"prompt": prompt, "targets": [target], "metric": "exact_match", **more})


def named(text: str, how: EvaluatorSpec = DEFAULTS, **options: Any) -> ModelSpec:
    return replace(model_of(text, ModelSpec(how=how, **options)), name="m")


def over(model: ModelSpec, *, metrics: tuple[str, ...] = (EXACT,), **task: Any) -> EvaluatorSpec:
    return of_records("e", "e.jsonl", metrics, RecordTask(models=(model,), **task), model.how, sandbox="")


def metrics_of(spec: EvaluatorSpec) -> tuple[EvaluatorSpec, ...]:
    task = task_of(spec)
    return task.evaluators if task else ()


def spec_of(model: str, **more: Any) -> EvaluatorSpec:
    return over(named(model), **more)


def written(spec: EvaluatorSpec, outputs: str) -> EvaluatorSpec:
    """Let an evaluator's model write its replies down."""
    (model,) = models_of(spec)
    known = identified(replace(model, outputs=outputs))
    return with_task(spec, models=(known,))


@contextmanager
def live(spec: EvaluatorSpec) -> Iterator[Evaluator]:
    with Opened() as opened:
        yield connect(spec, opened)


def ask(evaluator: Evaluator, example: bytes, candidate: str = "", **more: Any) -> Answer:
    payload = Payload(candidate=candidate, example=example, task_model="m", **more)
    answer = evaluator.call(payload, time.monotonic() + 10)
    assert isinstance(answer, Answer)
    return answer


def failure(evaluator: Evaluator, example: bytes, seconds: float = 10, **more: Any) -> tuple[str, str]:
    payload = Payload(candidate="", example=example, task_model="m", **more)
    with pytest.raises(EvaluationError) as caught:
        evaluator.call(payload, time.monotonic() + seconds)
    return str(caught.value.kind), caught.value.message


def test_an_answer_tells_output_prediction_metric_and_what_metric_and_model_said() -> None:
    raw = orjson.dumps(
        {
            "task_id": "q",
            "category": "classification",
            "prompt": "Say it: yes",
            "targets": ["yes"],
            "metric_name": "exact_match",
            "post_process": "lower",
            "few_shot_examples": [{"prompt": "Say it: no", "completion": "no"}],
        }
    )
    with live(spec_of(MODEL, metrics=("@exact_match@strict",))) as evaluator:
        answer = ask(evaluator, raw, "Be brief.")
        assert answer.score == 1.0
        assert answer.side_info == {
            "matched": "yes",
            "targets": 1,
            "output": "YES",
            "prediction": "yes",
            "metric": "exact_match@strict",
            "model": {"tokens": 2 + 4 + 3},  # the candidate, the shot, the prompt
        }
        assert evaluator.capacity.calls == 1


def test_the_candidate_stands_before_the_prompt_and_an_empty_one_leaves_nothing(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with live(spec_of(f"{MODEL} counts {seen}")) as evaluator:
        ask(evaluator, record("say a", "a"), "Think.")
        ask(evaluator, record("say a", "a"))
    assert [orjson.loads(line) for line in seen.read_text().splitlines()] == ["Think.\n\nsay a", "say a"]


def test_a_metrics_failure_keeps_what_was_scored_and_what_the_metric_says(tmp_path: Path) -> None:
    reply = """echo '{"error": "no", "why": "odd", "prediction": 7}'"""
    fails = parse_evaluator(str(write_program(tmp_path / "m.sh", ["#!/bin/sh", reply])), DEFAULTS)
    task = RecordTask(models=(named(MODEL),), metrics=(replace(fails, name="exact_match@normalised"),))
    with live(replace(DEFAULTS, target=task)) as evaluator, pytest.raises(EvaluationError) as caught:
        ask(evaluator, record("say a", "a"))
    assert caught.value.message == "metric: no"
    kept = caught.value.side_info
    assert (kept["why"], kept["prediction"]) == ("odd", kept["output"])
    assert isinstance(kept["output"], str)


def test_a_failure_says_at_which_stage() -> None:
    sleeps, says = shlex.quote(str(PROGRAMS / "sleeps.sh")), shlex.join(["echo", '{"text": "x"}'])
    late = replace(DEFAULTS, timeout=0.5)
    with live(over(named(f"cmd:{sleeps}", late))) as evaluator:
        assert failure(evaluator, record("x", "x"), 0.5)[0] == "timeout"
        assert failure(evaluator, record("x", "x"), 0.5)[1].startswith("model: no answer within 0.5 s")
    hangs = replace(parse_evaluator(sleeps, late), name="exact_match@normalised")
    task = RecordTask(models=(named(f"cmd:{says}"),), metrics=(hangs,))
    with live(replace(late, target=task, timeout=2)) as evaluator:
        kind, message = failure(evaluator, record("x", "x"), 2)
        assert (kind, message[:8]) == ("timeout", "metric: ")
    with live(spec_of(MODEL)) as evaluator:
        assert failure(evaluator, record("refuse", "x")) == ("reported", "model: no comment")
        with pytest.raises(EvaluationError) as caught:
            evaluator.call(
                Payload(candidate="", example=record("refuse", "x"), task_model="m"), time.monotonic() + 5
            )
        assert caught.value.stage == "model"
        kind, message = failure(evaluator, record("x", "x", targets=[]))
        assert (kind, message.startswith("the example is not a task: bad_type targets: ")) == (
            "model_error",
            True,
        )
        assert failure(evaluator, b'{"input": "x"}')[1].startswith("the example is not a task")
        assert failure(evaluator, record("x", "x", metric="f1"))[1].startswith("metric: f1 is not among")
        with pytest.raises(EvaluationError, match="there is no example"):
            evaluator.call(Payload(candidate=""), time.monotonic() + 5)


def test_a_batch_is_answered_as_single_calls_are(tmp_path: Path) -> None:
    examples = [record(f"say {word}", word) for word in ("a", "b", "refuse", "c", "d", "e")]
    examples.insert(3, b'{"input": 1}')
    payloads = [Payload(candidate="", example=example, task_model="m") for example in examples]
    batching, single = spec_of(f"{MODEL} batch"), list[object]()
    for spec in (batching, written(batching, str(tmp_path / "outputs.jsonl"))):
        with live(spec) as evaluator:
            single = [_outcome(evaluator, payload) for payload in payloads]
            assert evaluator.capacity.batch == 4
            many = evaluator.call_many(payloads, 10)
        assert [_told(one) for one in many] == single
        assert next(told for told in single if not isinstance(told, float)) == "model: no comment"
    with live(written(batching, str(tmp_path / "new.jsonl"))) as evaluator:
        ask(evaluator, examples[0])  # who declares that it takes batches
        many = evaluator.call_many([*payloads, payloads[1], payloads[2]], 10)
        assert [_told(one) for one in many] == [*single, single[1], single[2]]
    lines = (tmp_path / "new.jsonl").read_bytes().splitlines()[1:]
    assert sorted(orjson.loads(line)["output"] for line in lines) == ["A", "B", "C", "D", "E"]
    with live(spec_of(f"{MODEL} batch", batch_size=2)) as evaluator:
        ask(evaluator, examples[0])
        assert evaluator.capacity.batch == 2


def _outcome(evaluator: Evaluator, payload: Payload) -> object:
    try:
        return _told(evaluator.call(payload, time.monotonic() + 10))
    except EvaluationError as error:
        return _told(error)


def _told(one: Answered | EvaluationError) -> object:
    return (
        one.score if isinstance(one, Answer) else one.message if isinstance(one, EvaluationError) else one.why
    )


def test_an_output_that_is_stored_is_not_asked_for_again(tmp_path: Path) -> None:
    seen, outputs = tmp_path / "seen", str(tmp_path / "outputs.jsonl")
    spec = written(spec_of(f"{MODEL} counts {seen}"), outputs)
    with Opened() as opened:
        evaluator, other = connect(spec, opened), connect(replace(spec, name="other"), opened)
        first = ask(evaluator, record("say a", "a"))
        again = ask(other, record("say a", "b"))  # another target, the same output
        assert (again.score, again.output) == (0.0, first.output)
        assert failure(evaluator, record("refuse", "x"))[0] == "reported"
        assert failure(other, record("refuse", "x")) == ("reported", "model: no comment")
    asked = len(seen.read_text().splitlines())
    assert asked == 2
    assert first.score == 1.0


def test_what_was_written_down_is_scored_by_another_and_the_model_is_never_started(tmp_path: Path) -> None:
    outputs = str(tmp_path / "outputs.jsonl")
    model = write_program(tmp_path / "m.sh", ["#!/bin/sh", 'echo started >> log; echo \'{"text": "A"}\''])
    spec = written(over(named(f"cmd:{model}", replace(DEFAULTS, cwd=str(tmp_path)))), outputs)
    with live(spec) as evaluator:
        ask(evaluator, record("say a", "A"), line=7)
        ask(evaluator, record("say a", "A"), line=7, repeat=2)
    model.unlink()
    scorer = parse_evaluator("@length_limit --max 0", EvaluatorSpec())
    recorded = spec_of(f"replay:{outputs}#cmd:m.sh", scorer=scorer)
    for stored, missing in (
        (recorded, "no output of 'ex-8'"),
        (of_stored(scorer, models_of(spec)), "no reply of m is stored"),
    ):
        with live(stored) as evaluator:
            told = ask(evaluator, record("say a", "A"), line=7)
            assert (told.score, told.side_info["metric"]) == (0.0, "length_limit")
            assert told.side_info["output"] == "A"
            again = ask(evaluator, record("say a", "A"), line=7, repeat=2)
            assert replace(again, output="") == replace(told, output="")
            lacking = failure(evaluator, record("say a", "A"), line=7, repeat=3)
            assert lacking[0] == "model_error"
            assert missing in failure(evaluator, record("say a", "A"), line=8)[1]
            examples = [(record("say a", "A"), line) for line in (7, 8)]
            many = [Payload(candidate="", example=one, line=line, task_model="m") for one, line in examples]
            assert [isinstance(one, Answer) for one in evaluator.call_many(many, 5)] == [True, False]
    assert (tmp_path / "log").read_text() == "started\nstarted\n"


def test_a_providers_model_is_sent_one_message_and_tells_its_tokens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-yours")
    with served_model([{"text": "A"}], tmp_path) as server:
        spec = over(model := named("openai/gpt-4o-mini", api_base=server.base, temperature=0.5))
        assert model.retries == 2
        with live(spec) as evaluator:
            answer = ask(evaluator, record("say a", "a"), "Think.")
        (body,) = server.bodies()
        assert body["messages"] == [{"role": "user", "content": "Think.\n\nsay a"}]
        assert body["temperature"] == 0.5
        assert (answer.score, answer.side_info["model"]["prompt_tokens"] > 0) == (1.0, True)
        assert "sk-none" not in str(answer.side_info) + repr(spec) + str(identify(spec).to_dict())


def test_names_and_identities_of_models(tmp_path: Path) -> None:
    program = write_program(tmp_path / "my_model.sh", ["#!/bin/sh"])
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text('{"id": "a", "output": "b"}\n')
    texts = (f"cmd:{program} --fast", f"replay:{recorded}", "toy", "openai/gpt", "mine=toy")
    models = [identified(model_of(text, ModelSpec(how=DEFAULTS))) for text in texts]
    assert [model.name for model in models] == ["my_model", "recorded", "toy", "openai/gpt", "mine"]
    known = {model.name: identity_of(model) for model in models}
    assert known["my_model"].text == "cmd:my_model.sh --fast"
    assert str(tmp_path) not in str([one.to_dict() for one in known.values()])
    assert known["mine"].sha256 == known["toy"].sha256
    assert len({one.sha256 for one in known.values()}) == len(known) - 1
    slower = [identified(model.with_how(timeout=99.0, workers=7)) for model in models]
    assert {model.name: identity_of(model) for model in slower} == known
    warmer = named("openai/gpt", temperature=0.7)
    assert identify_model(warmer).sha256 != known["openai/gpt"].sha256
    assert identify(spec_of("toy", metrics=("@f1",))).sha256 != identify(spec_of("toy")).sha256
    assert not any(map(model_has_changed, models))
    program.write_text("#!/bin/sh\n# other\n")
    recorded.write_text('{"id": "a", "output": "c"}\n')
    assert [model_has_changed(model) for model in models] == [True, *[False] * 4]
    assert identify_model(models[1]).sha256 != known["recorded"].sha256
    assert pickle.loads(pickle.dumps(warmer)) == warmer


def test_the_level_of_the_sandbox_reaches_the_metric_that_runs_code() -> None:
    metrics = ["@code_exec@io_pairs", EXACT]
    spec = of_records("e", "e.jsonl", metrics, RecordTask(), DEFAULTS, sandbox="strict")
    assert [argv_of(metric)[-2:] for metric in metrics_of(spec)] == [
        ("--sandbox", "strict"),
        ("--variant", "normalised"),
    ]
    assert [metric.name for metric in metrics_of(spec)] == [
        "code_exec@io_pairs",
        "exact_match@normalised",
    ]


def test_a_run_compares_prompts_over_a_task_file_with_models_as_task_models(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("")
    (tmp_path / "think.txt").write_text("Think first.")
    told = ["--dataset", ARITHMETIC, "--candidate", "none.txt", "--candidate", "think.txt"]
    models = ["--task-model", "toy", "--task-model", "silent"]
    done = cli("run", "-e", f"task:{ARITHMETIC}", *told, *models, "--json")
    rows = [
        (row["candidate"], row["task_model"], row["splits"]["train"]["mean"])
        for row in done.json["summary"]["rows"]
    ]
    assert done.status == 0
    assert sorted(rows) == [
        *(("none", "silent", 0.0), ("none", "toy", 1.0)),
        *(("think", "silent", 0.0), ("think", "toy", 1.0)),
    ]
    (tmp_path / "sweep.toml").write_text(f'[[evaluator]]\ntask = "{ARITHMETIC}"\n')
    assert cli("run", "sweep.toml", *told, "--task-model", "toy", "--quiet").status == 0
    wrong = cli("run", "-e", f"task:{ARITHMETIC}", *told, "--task-model", "tooy")
    assert (wrong.status, "did you mean toy?" in wrong.stderr) == (2, True)
    bad = cli("run", "-e", f"task:{ROOT / 'datasets' / 'tasks_bad.jsonl'}", *told)
    assert (bad.status, "optimize-eval validate" in bad.stderr) == (2, True)
    missing = cli("run", "-e", "task:none.jsonl", *told)
    assert (missing.status, "no such file" in missing.stderr) == (2, True)
