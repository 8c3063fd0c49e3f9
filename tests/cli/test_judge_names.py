"""No judge hears which model replied, unless its rubric says so: it might prefer a name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.benches import arithmetic, model
from tests.cli.prompted import RIGHT, command, examples, prompts
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli

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
