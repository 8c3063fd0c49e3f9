"""What a judge is shown: fields that are named, no rival, nothing that people say, and no model's name."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import llm_judge_evaluator
from tests.cli.benches import arithmetic, model
from tests.cli.prompted import RIGHT, command, examples, prompts
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli

EXAMPLE = {"q": "how?", "old": "dear rival", "meta": {"topic": "tea", "by": "Eve", "a.b": 1}, "human": 0.25}
OTHER = {"q": "why?", "old": "kind rival"}
SAYS = [{"json": {"reasoning": "r", "score": 0.5}}]
SWEEP = """\
[run]
dataset = "d.jsonl"
candidates = ["c.txt"]
[[evaluator]]
name = "one"
judge = "vllm/m"
objective = "Objective one"
api_base = "{base}"
{more}
[[evaluator]]
name = "two"
judge = "vllm/m"
objective = "Objective two"
api_base = "{base}"
"""


def written(folder: Path, base: str, more: str) -> None:
    (folder / "d.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (EXAMPLE, OTHER)))
    (folder / "c.txt").write_text("Hello")
    (folder / "s.toml").write_text(SWEEP.format(base=base, more=more))


def shown(model: FakeModel, judge: str) -> list[Any]:
    """Give the examples that a judge was shown, by what stands in its objective."""
    asked = [[one["content"] for one in body["messages"]] for body in model.bodies()]
    texts = [user for system, user, *_ in asked if f"Objective {judge}" in system]
    examples = [text.split(" example ---\n", 1)[1].split("\n---", 1)[0] for text in texts]
    return sorted((json.loads(one) for one in examples), key=len, reverse=True)


ALL = {key: value for key, value in EXAMPLE.items() if key != "human"}
SEEN: dict[str, tuple[str, Any, Any]] = {  # keys → what one and two are shown of the first example
    "shows": ('shows = ["q", "meta.topic"]', {"q": "how?", "meta": {"topic": "tea"}}, EXAMPLE),
    "shows a key with a dot": ('shows = ["meta.a.b"]', {"meta": {"a.b": 1}}, EXAMPLE),
    "hides": (
        'hides = ["meta.by", "old", "human"]',
        {"q": "how?", "meta": {"topic": "tea", "a.b": 1}},
        EXAMPLE,
    ),
    "both": ('shows = ["meta"]\nhides = ["meta.by", "meta.a.b"]', {"meta": {"topic": "tea"}}, EXAMPLE),
    "human": ('human = "human"', ALL, ALL),
    "human that is shown": ('human = ["human"]\nshows = ["q", "human"]', {"q": "how?"}, ALL),
}


@pytest.mark.parametrize(("more", "one", "two"), SEEN.values(), ids=SEEN.keys())
def test_a_judge_sees_what_it_is_to_see_and_none_sees_what_people_say(
    cli: Cli, fake_model: StartModel, tmp_path: Path, more: str, one: Any, two: Any
) -> None:
    model = fake_model(SAYS)
    written(tmp_path, model.base, more)
    done = cli("run", "s.toml", "--out", "r", "--json")
    assert done.status == 0, done.stderr
    assert (shown(model, "one")[0], shown(model, "two")[0]) == (one, two)
    assert cli("preflight", "s.toml").status == 0
    assert len(shown(model, "one")) > 2
    assert (shown(model, "one")[0], shown(model, "two")[0]) == (one, two)


def test_a_judge_never_sees_rivals_nor_what_another_judge_of_the_run_is_compared_with(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model(SAYS)
    written(tmp_path, model.base, 'human = "human"')
    text = (tmp_path / "s.toml").read_text().replace('candidates = ["c.txt"]', 'candidate_fields = ["old"]')
    (tmp_path / "s.toml").write_text(text.replace('human = "human"', 'human = "human"\nshows = ["q", "old"]'))
    assert cli("run", "s.toml", "--out", "r").status == 0
    assert shown(model, "one")[0] == {"q": "how?"}
    judge = ("-e", "three=judge:vllm/m", "--objective", "Objective three", "--api-base", model.base)
    again = cli("rescore", "r", *judge)
    assert again.status == 0, again.stderr
    assert shown(model, "three")[0] == {"q": "how?", "meta": EXAMPLE["meta"]}


@pytest.mark.parametrize("key", ["shows", "hides", "human"])
def test_a_field_that_no_example_has_is_refused_before_any_call(
    cli: Cli, fake_model: StartModel, tmp_path: Path, key: str
) -> None:
    model = fake_model(SAYS)
    written(tmp_path, model.base, f'{key} = ["meta.topik"]')
    for word in ("run", "preflight"):
        done = cli(word, "s.toml")
        assert done.status == 2
        assert f"no example has 'meta.topik', which the judge one names in {key}" in done.stderr
        assert "the first example has q, old, human, meta.topic, meta.by" in done.stderr
    assert model.requests() == []


def test_what_a_judge_sees_is_a_part_of_what_it_is(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    model = fake_model(SAYS)
    written(tmp_path, model.base, "")
    assert cli("run", "s.toml", "--out", "r").status == 0
    written(tmp_path, model.base, 'shows = ["q"]')
    changed = cli("run", "s.toml", "--out", "r")
    assert changed.status == 2, "another judge is another plan"
    assert "evaluator" in changed.stderr


def test_a_rubric_and_a_function_say_what_a_judge_sees(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    model = fake_model(SAYS)
    (tmp_path / "rubric.toml").write_text('objective = "Objective rubric"\nshows = "q"\nhuman = ["human"]\n')
    judge = ("-e", "judge:vllm/m", "--rubric", "rubric.toml", "--api-base", model.base)
    done = cli("score", "-", *judge, "--example", json.dumps(EXAMPLE), stdin=b"Hello")
    assert done.status == 0, done.stderr
    assert shown(model, "rubric") == [{"q": "how?"}]
    with llm_judge_evaluator(
        "Objective plain", model="vllm/m", api_base=model.base, hides=["old", "meta"]
    ) as plain:
        plain("Hello", EXAMPLE)
    assert shown(model, "plain") == [{"q": "how?", "human": 0.25}]


VERDICT = [{"text": '{"reasoning": "yes", "score": 1, "confidence": 1}'}]
NAMES = ("zeta-large", "iota-small")


def words(served: FakeModel) -> list[str]:
    """Give what judges were sent, without the marker, which is another one each time."""
    sent = [[dict(message) for message in body["messages"]] for body in served.bodies()]
    for messages in sent:
        marker = messages[1]["content"].split("The marker is ")[1][:8]
        messages[1]["content"] = messages[1]["content"].replace(marker, "MARKER")
    return sorted(json.dumps(messages) for messages in sent)


def compared(cli: Cli, folder: Path, served: FakeModel, rubric: str = "") -> list[str]:
    examples(folder, train=1, val=1)
    prompts(folder, plain="{{question}}")
    model(folder / "m", RIGHT)
    (folder / "rubric.toml").write_text(f'objective = "It is right."\n{rubric}')
    judge = ("-e", f"judge:openai/j@{served.base}", "--rubric", "rubric.toml")
    done = cli(*command(*judge, models=[f"{name}=cmd:./m" for name in NAMES], out=f"r{len(rubric)}"))
    assert done.status == 0, done.stderr
    return words(served)


def test_a_judge_of_replies_hears_no_model_s_name(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    sent = compared(cli, tmp_path, fake_model(VERDICT))
    assert len(sent) == 4
    assert len(set(sent)) == 2, "equal replies are judged by equal words"
    assert not any(name in text for text in sent for name in NAMES)
    shown = compared(cli, tmp_path, fake_model(VERDICT), "shows_model = true\n")
    assert all(f'for the model \\"{NAMES[0]}\\"' in text or NAMES[1] in text for text in shown)


def test_a_candidate_s_judge_hears_no_task_model_and_is_another_judge_than_the_one_that_did(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "shows.toml").write_text('objective = "o"\nshows_model = true\n')
    judges: list[dict[str, Any]] = []
    for further in (
        ("--objective", "o"),
        ("--rubric", "shows.toml"),
        ("--objective", "o", "--task-model", "zz"),
    ):
        served = fake_model(VERDICT)
        judge = ("run", "-e", f"j=judge:openai/j@{served.base}", *further, "--candidate", "a.txt")
        out = tmp_path / f"r{len(judges)}"
        assert cli(*judge, "--out", str(out)).status == 0
        assert not any("zz" in text for text in words(served))
        judges += json.loads((out / "run.json").read_text())["evaluators"]
    assert "hides_model" not in judges[0]["judge"], "without task models a judge is the one that it was"
    assert judges[2]["judge"]["hides_model"] is True


@pytest.mark.parametrize("shows", ["", "shows_prompt = true\nshows_model = true\n"], ids=["nothing", "both"])
def test_a_rescored_bench_tells_a_judge_the_model_and_the_prompt_only_where_its_rubric_says_so(
    cli: Cli, fake_model: StartModel, tmp_path: Path, shows: str
) -> None:
    arithmetic(tmp_path, size=2)
    model(tmp_path / "m", "'4'")
    (tmp_path / "rubric.toml").write_text(f'objective = "It is right."\n{shows}')
    bench = ("bench", "sums.jsonl", *(word for name in NAMES for word in ("--model", f"{name}=cmd:./m")))
    assert cli(*bench, "--out", "r").status == 0
    served = fake_model(VERDICT)
    judge = ("-e", f"judge:openai/j@{served.base}", "--rubric", "rubric.toml")
    done = cli("rescore", "r", *judge)
    assert done.status == 0, done.stderr
    sent = words(served)
    assert len(sent) == 4
    assert [any(name in text for text in sent) for name in NAMES] == [bool(shows)] * 2
    assert all(("0 + 0 =" in text) or ("1 + 1 =" in text) for text in sent), "the example has the prompt"
    assert all(("MARKER prompt" in text) == bool(shows) for text in sent)
    at_once = fake_model(VERDICT)
    judge = ("-e", f"judge:openai/j@{at_once.base}", "--rubric", "rubric.toml")
    assert cli(*bench, *judge, "--out", "s").status == 0
    assert words(at_once) == sent, "a bench itself sends the same words"


def test_a_bench_takes_what_a_judge_looks_for(cli: Cli, fake_model: StartModel, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=1)
    model(tmp_path / "m", "'4'")
    served = fake_model(VERDICT)
    bench = ("bench", "sums.jsonl", "--model", "m=cmd:./m", "--objective", "It is a number.", "--out", "r")
    done = cli(*bench, "-e", f"judge:openai/j@{served.base}")
    assert done.status == 0, done.stderr
    assert "It is a number." in words(served)[0]
    nobody = cli(*bench)
    assert nobody.status == 2
    assert "--objective is for judges, and none is named" in nobody.stderr
