"""Prompts × models × evaluators: who is called, how often, and what is said of it."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval import sweep
from optimize_eval.audit.__main__ import main as rederive
from tests.cli.benches import model
from tests.cli.prompted import COUNTED, RIGHT, WORDY, calls, command, examples, prompts, two_prompts
from tests.cli.quick import JSON
from tests.fake_model import StartModel, served_model
from tests.front_door import Cli
from tests.processes import processes_with
from tests.run.projects import records
from tests.tools import write_program

ROWS = 20


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()[1:]]


def test_three_evaluators_of_one_reply_make_one_call_and_what_is_added_calls_only_what_is_new(
    cli: Cli, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    three = ("-e", "@exact_match", "-e", "@f1", "-e", "@contains")
    first = cli(*command(*three), env=COUNTED)
    assert first.status == 0, first.stderr
    assert calls(tmp_path) == 2 * ROWS
    assert len(records(tmp_path / "r")) == 3 * 2 * ROWS
    assert cli(*command(*three), env=COUNTED).status == 0
    assert calls(tmp_path) == 2 * ROWS, "a resume calls nothing"
    assert cli(*command(*three, "-e", "@rouge_l"), env=COUNTED).status == 0
    assert calls(tmp_path) == 2 * ROWS, "another evaluator reads the replies"
    prompts(tmp_path, third="Add: {{question}}")
    assert cli(*command(*three), env=COUNTED).status == 0
    assert calls(tmp_path) == 3 * ROWS, "another prompt calls for its own"
    model(tmp_path / "w", WORDY)
    both = command(*three, models=("m=cmd:./m", "w=cmd:./w"))
    assert cli(*both, env=COUNTED).status == 0
    assert calls(tmp_path) == 6 * ROWS, "another model calls for its own"
    assert cli(*both, "--repeats", "2", env=COUNTED).status == 0
    assert calls(tmp_path) == 12 * ROWS, "another repeat calls for itself"
    keys = [record["key"] for record in records(tmp_path / "r")]
    assert len(keys) == len({*keys}), "nothing is recorded twice"


def test_evaluators_are_sent_the_reply_and_the_models_name_and_never_the_prompt(
    cli: Cli, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    program = [
        f"#!{sys.executable} -S",
        JSON,
        "import sys",
        "asked = json.loads(sys.stdin.readline())",
        "open('asked', 'a').write(json.dumps(asked) + '\\n')",
        "print(json.dumps({'score': 1, 'note': 'mine'}))",
    ]
    write_program(tmp_path / "e.py", program)
    assert cli(*command("-e", "e=./e.py", "--limit", "1")).status == 0
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    assert {(one["candidate"], one["task_model"]) for one in asked} == {("1", "m")}
    assert {one["example"]["question"] for one in asked} == {"0 plus 1", "0 plus 1 today"}
    assert {tuple(one) for one in asked} == {("_protocol_version", "candidate", "example", "task_model")}
    outputs = {output["key"]: output for output in lines(tmp_path / "r" / "outputs.jsonl")}
    for record in records(tmp_path / "r"):
        assert record["side_info"] == {"note": "mine"}
        assert outputs[record["output"]]["output"] == "1"


def test_a_failed_reply_fails_for_each_evaluator_is_called_once_a_session_and_again_on_resume(
    cli: Cli, tmp_path: Path
) -> None:
    examples(tmp_path)
    prompts(tmp_path, plain="{{question}}")
    model(tmp_path / "m", f"{{'error': 'no sevens'}} if '7 plus' in asked['prompt'] else {RIGHT}")
    two = command("-e", "@exact_match", "-e", "@f1")
    told = cli(*two, "--json", env=COUNTED)
    assert told.status == 0, told.stderr
    assert calls(tmp_path) == ROWS
    failed = [record for record in records(tmp_path / "r") if record["outcome"] == "failed"]
    assert {(one["evaluator"], one["kind"], one["message"]) for one in failed} == {
        (name, "model_error", "model: no sevens") for name in ("exact_match", "f1")
    }
    assert len(failed) == 4, "one of train and one of val, for each evaluator"
    assert cli(*two, env=COUNTED).status == 0
    assert calls(tmp_path) == ROWS + 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{qestion}}", "there is no field 'qestion' in any example; did you mean 'question'?"),
        ("Hi.\n{{ question", "p.md:2: unexpected end of template"),
        ("{{ question.of }}", "there is no 'of' in a str (train.jsonl:1 and 19 more)"),
        ("{% if question is string %}{% endif %}{{''}}", "the message of the user is empty"),
        (
            "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}{{question}}",
            "it takes longer than 1 s (train.jsonl:1)",
        ),
        ("{{ 'x' * 10 ** 10 }}", "it takes more memory than it may have"),
        ("{{ question" + " | trim" * 1500 + " }}", "prompts/p.md:1: it is nested too deeply"),
    ],
    ids=["unknown", "syntax", "inner", "empty", "bomb", "memory", "deep"],
)
def test_what_is_wrong_with_a_prompt_is_told_before_any_call(
    cli: Cli, tmp_path: Path, text: str, told: str
) -> None:
    two_prompts(tmp_path)
    prompts(tmp_path, p=text)
    result = cli(*command(), env=COUNTED)
    assert (result.status, calls(tmp_path)) == (2, 0)
    assert told in result.stderr
    assert "prompts/p.md" in result.stderr
    assert not (tmp_path / "r").exists()


def test_records_have_the_reply_beside_its_scores(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    planned = cli(*command("-e", "@exact_match", "-e", "@f1", "--dry-run")).stdout
    assert " models      m: cmd:./m" in planned
    assert " replies     40: each is made once, for all evaluators" in planned
    assert cli(*command()).status == 0
    rows = [json.loads(line) for line in cli("report", "r", "--format", "jsonl").stdout.splitlines()]
    assert {(row["split"], row["line"], row["reply"]) for row in rows if row["line"] == 3} == {
        ("train", 3, "5"),
        ("val", 3, "5"),
    }
    header = cli("report", "r", "--format", "csv").stdout.splitlines()[0].split(",")
    assert "reply" in header


def test_failures_of_the_model_and_of_a_judge_are_apart(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    examples(tmp_path, train=6, val=6)
    prompts(tmp_path, plain="{{question}}")
    model(tmp_path / "m", f"{{'error': 'no twos'}} if '2 plus' in asked['prompt'] else {RIGHT}")
    served = fake_model([{"text": "hm"}])
    judge = ("--judge-model", f"openai/j@{served.base}", "--objective", "is it right?", "-e", "@f1")
    told = cli(*command(*judge, "--no-preflight", "--json"))
    judges = [one for one in told.json["summary"]["failures"] if one["evaluator"] != "f1"]
    assert {(one["split"], one["kind"], one.get("stage")) for one in judges} == {
        (split, "model_error", stage) for split in ("train", "val") for stage in ("model", None)
    }
    shown = cli("report", "r", "--details").stdout
    assert "no twos" in shown
    assert "10 × model_error" in shown, "of the judge, on train and val"


def test_options_that_contradict_each_other_are_refused_with_what_to_do(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    (tmp_path / "c.txt").write_text("c")
    refused = {
        ("--candidate", "c.txt"): "--prompt names the candidates",
        ("--candidate-field", "target"): "--prompt names the candidates",
        ("--task-model", "x"): "--model names the task models",
        ("--extract", "leter"): "--extract 'leter' is not a rule",
    }
    for option, told in refused.items():
        result = cli(*command(*option))
        assert result.status == 2
        assert told in result.stderr
    alone: dict[tuple[str, ...], str] = {
        ("--prompt", "prompts/plain.md"): "no model is named that replies to the prompts",
        ("--model", "toy", "--candidate", "c.txt"): "--model is for prompts, and none is named",
        ("--extract", "letter", "--candidate", "c.txt"): "--extract is for models' replies",
    }
    for further, told in alone.items():
        result = cli("run", "-e", "@exact_match", *further)
        assert result.status == 2
        assert told in result.stderr


def test_messages_and_what_the_system_says_are_sent_as_messages(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    examples(tmp_path, train=1, val=1)
    (tmp_path / "prompts").mkdir()
    texts = {
        "a.json": json.dumps([{"role": "user", "content": "Q: {{question}}"}]),
        "b.yaml": "user: 'Q: {{question}}'\nsystem: Be brief, {{id}}.\n",
        "c.toml": '[[messages]]\nrole = "user"\ncontent = "Hi"\n[[messages]]\nrole = "assistant"\n'
        'content = "Yes?"\n[[messages]]\nrole = "user"\ncontent = "{{question}}"\n',
        "d.md": "Q: {{question}}",
    }
    for name, text in texts.items():
        (tmp_path / "prompts" / name).write_text(text)
    served = fake_model([{"text": "1"}])
    run = [word.replace("*.md", "*") for word in command(models=(f"m=openai/m@{served.base}",))]
    assert cli(*run).status == 0
    sent = {json.dumps(body["messages"]) for body in served.bodies()}
    assert len(served.bodies()) == 2 * 3, "a and d are sent the same, once"
    assert sum('"system", "content": "Be brief, train-0."' in one for one in sent) == 1
    assert sum('"assistant", "content": "Yes?"' in one for one in sent) == 2, "one of each split"
    (tmp_path / "system.txt").write_text("Be kind.")
    with_system = [*run[:2], "prompts/d.md", *run[3:], "--system", "system.txt", "--out", "s"]
    assert cli(*with_system).status == 0
    assert served.bodies()[-1]["messages"][0] == {"role": "system", "content": "Be kind."}
    both = cli(*run[:2], "prompts/b.yaml", *run[3:], "--system", "system.txt", "--out", "s")
    assert both.status == 2
    assert "has a message of the system, and --system gives another" in both.stderr


def test_a_program_is_sent_several_messages_and_their_texts_as_one(cli: Cli, tmp_path: Path) -> None:
    examples(tmp_path, train=1, val=1)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "p.md").write_text("{{question}}")
    (tmp_path / "s.txt").write_text("Add.")
    model(tmp_path / "m", "json.dumps([asked['prompt'], asked['messages']])")
    assert cli(*command("--system", "s.txt", "--valset", "train.jsonl", "--leaks", "keep")).status == 0
    reply = json.loads(lines(tmp_path / "r" / "outputs.jsonl")[0]["output"])
    messages = [{"role": "system", "content": "Add."}, {"role": "user", "content": "0 plus 1"}]
    assert reply == ["Add.\n\n0 plus 1", messages]


def test_a_prompt_file_that_is_no_prompt_is_refused_by_its_place(cli: Cli, tmp_path: Path) -> None:
    examples(tmp_path)
    wrong = {
        "a.json": ('[{"role": "users", "content": "x"}]', "message 1: the role 'users' is not one of system"),
        "b.json": ('[{"role": "user", "content": [{"type": "image_url"}]}]', "images and other parts"),
        "c.yaml": ("user: x\nuser: y\n", "the key 'user' is given twice"),
        "d.yaml": ("user: a: b\n", "this is not YAML here: `user: a: b`; check"),
        "deep.yaml": ("[" * 25_000, "nested too deeply (at line 1, column "),
        "steps.yaml": ("- " * 25_000, "nested too deeply (at line 1, column "),
        "d.toml": ("user = ,", "d.toml:1"),
        "e.json": ("{}", "there are no messages in it"),
        "f.md": (
            '{\n  "messages": [\n    {\n      "role": "system",\n      "content": "x"\n    }\n  ]\n}',
            ".json",
        ),
    }
    for name, (text, told) in wrong.items():
        (tmp_path / name).write_text(text)
        result = cli("run", "--prompt", name, "--model", "toy", "-e", "@f1", "--dataset", "train.jsonl")
        assert result.status == 2
        assert told in result.stderr, name


def test_what_is_taken_of_a_reply_is_scored_and_the_reply_is_kept(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "m", "{'text': 'First 1,000. So: ' + " + RIGHT + " + '.'}")
    whole = cli(*command("--json")).json
    assert {row["splits"]["val"]["mean"] for row in whole["summary"]["rows"]} == {0.0}
    taken = cli(*command("--json", "--extract", "last-number", "--out", "x"), env=COUNTED)
    assert {row["splits"]["val"]["mean"] for row in taken.json["summary"]["rows"]} == {1.0}
    assert lines(tmp_path / "x" / "outputs.jsonl")[0]["output"].startswith("First 1,000.")


def test_a_reply_in_which_a_pattern_is_searched_for_ever_is_a_failure_of_that_stage(
    cli: Cli, tmp_path: Path
) -> None:
    examples(tmp_path, train=1, val=2)
    prompts(tmp_path, plain="{{question}}")
    model(tmp_path / "m", "'aaaa' if '1 plus' not in asked['prompt'] else 'a' * 40 + '!'")
    late = command("-e", "@contains", "--extract", "regex:(a+)+$")
    told = cli(*late, "--json")
    assert {(one["kind"], one["stage"], one["count"]) for one in told.json["summary"]["failures"]} == {
        ("timeout", "extract", 1)
    }
    failed = [record for record in records(tmp_path / "r") if record["outcome"] == "failed"]
    assert {one["message"] for one in failed} == {"extract: regex:(a+)+$ takes longer than 1 s"}
    shown = cli(*late, "--show", "val-1").stdout
    assert "aaaa!" in shown
    assert "extracted │ aaaa!" not in shown


def test_a_session_leaves_no_process_that_renders_or_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples(tmp_path, train=2, val=2)
    model(tmp_path / "m", RIGHT)
    prompts(tmp_path, plain="{% for one in [question] %}{{ one }}{% endfor %}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STARTED_BY", str(tmp_path))
    run = sweep(
        ["@exact_match", "@f1"],
        prompts="prompts/*.md",
        models="m=cmd:./m",
        dataset="train.jsonl",
        extract="regex:([0-9]+)*",
        out="p",
    )
    assert run.exit_code == 0
    assert not processes_with(f"STARTED_BY={tmp_path}".encode())


def test_a_sweep_file_and_a_call_from_python_say_the_same(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_prompts(tmp_path)
    (tmp_path / "sweep.toml").write_text(
        '[run]\nprompts = ["prompts/*.md"]\nmodels = ["m=cmd:./m"]\ndataset = "train.jsonl"\n'
        'valset = "val.jsonl"\n[[evaluator]]\nuse = "@exact_match"\n'
    )
    by_file = cli("run", "sweep.toml", "--json", "--out", "f").json
    by_flags = cli(*command("--json", "--out", "g")).json
    monkeypatch.chdir(tmp_path)
    run = sweep(
        ["@exact_match"],
        prompts="prompts/*.md",
        models="m=cmd:./m",
        dataset="train.jsonl",
        valset="val.jsonl",
        out="p",
    )
    assert run.exit_code == 0
    assert run.summary is not None
    assert by_file["summary"]["rows"] == by_flags["summary"]["rows"] == run.summary.to_dict()["rows"]


def test_tables_of_models_reply_unless_an_evaluator_judges_by_them(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    two_prompts(tmp_path)
    served = fake_model([{"text": "1"}])
    (tmp_path / "sweep.toml").write_text(
        '[run]\nprompts = ["prompts/plain.md"]\ndataset = "train.jsonl"\nlimit = 2\n'
        f'[[model]]\nname = "mine"\nmodel = "openai/m"\nbase = "{served.base}"\ntemperature = 0.5\n'
        '[[evaluator]]\nuse = "@exact_match"\n'
    )
    told = cli("run", "sweep.toml", "--json")
    assert told.status == 0, told.stderr
    assert {row["task_model"] for row in told.json["summary"]["rows"]} == {"mine"}
    assert {body["temperature"] for body in served.bodies()} == {0.5}


def test_an_older_verdict_is_not_that_of_another_model_of_the_same_name(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    assert cli(*command(), env=COUNTED).status == 0
    model(tmp_path / "m", WORDY)
    refused = cli(*command(), env=COUNTED)
    assert (refused.status, calls(tmp_path)) == (2, 2 * ROWS)
    assert "model m has changed: m" in refused.stderr
    assert "--replace model:m" in refused.stderr
    replaced = cli(*command("--replace", "m", "--json"), env=COUNTED)
    assert replaced.status == 0, replaced.stderr
    assert calls(tmp_path) == 4 * ROWS
    assert {row["splits"]["val"]["mean"] for row in replaced.json["summary"]["rows"]} == {0.0}
    every = cli("report", "r", "--all", "--format", "json").json
    assert len({row["task_model"] for row in every["rows"]}) == 2
    model(tmp_path / "m", RIGHT)
    again = cli(*command("--replace", "m", "--json"), env=COUNTED)
    assert {row["splits"]["val"]["mean"] for row in again.json["summary"]["rows"]} == {1.0}
    assert calls(tmp_path) == 4 * ROWS, "what was there before finds its replies again"


def test_rescore_reads_replies_and_calls_no_model(cli: Cli, tmp_path: Path) -> None:
    examples(tmp_path)
    prompts(tmp_path, plain="{{question}}", long="Add these. " * 500 + "{{question}}")
    model(tmp_path / "m", f"{{'error': 'no'}} if '7 plus' in asked['prompt'] else 'So ' + {RIGHT}")
    assert cli(*command("--extract", "last-number"), env=COUNTED).status == 0
    before = calls(tmp_path)
    (tmp_path / "m").unlink()
    told = cli("rescore", "r", "-e", "@f1", "--json", env=COUNTED)
    assert told.status == 0, told.stderr
    assert calls(tmp_path) == before
    rows = [row for row in told.json["summary"]["rows"] if row["evaluator"] == "f1"]
    assert {(row["splits"]["val"]["mean"], row["splits"]["val"]["failed"]) for row in rows} == {(1.0, 1)}
    (failure, *_) = [one for one in told.json["summary"]["failures"] if one["evaluator"] == "f1"]
    assert failure["first_message"] == "model: no reply of m is stored"
    (tmp_path / "prompts" / "long.md").unlink()
    lost = cli("rescore", "r", "-e", "@contains")
    assert lost.status == 2
    assert "candidate long is missing" in lost.stderr


def test_reuse_copies_scores_and_replies_also_for_another_evaluator(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    assert cli(*command(), env=COUNTED).status == 0
    before = calls(tmp_path)
    same = cli(*command("--reuse", "r", out="s"), env=COUNTED)
    assert same.status == 0, same.stderr
    assert "40 scored calls of r reused" in same.stderr
    assert "40 replies of models in r reused" in same.stderr
    other = cli(*command("-e", "@f1", "--reuse", "r", out="t"), env=COUNTED)
    assert other.status == 0, other.stderr
    assert calls(tmp_path) == before
    hinted = cli(*command(out="u"), "--dry-run")
    assert "already has all 40 of these scores. To copy them, add --reuse " in hinted.stdout + hinted.stderr


def test_prompts_are_compared_within_a_model_and_models_within_a_prompt(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    clear = "asked['prompt'].startswith('Please')"
    model(tmp_path / "w", f"{RIGHT} if {clear} else 'I do not know'")
    run = command("--json", models=("m=cmd:./m", "w=cmd:./w", "x=cmd:./w"))
    told = cli(*run)
    assert told.status == 0, told.stderr
    summary = told.json["summary"]
    marks = {
        (pair["candidate"], pair["split"], pair["a"], pair["b"]): (pair["mark"], pair["comparisons"])
        for pair in summary["models"]
    }
    assert marks["plain", "val", "m", "w"] == ("worse", 4), "two models, two prompts: one family"
    assert marks["polite", "val", "m", "w"] == ("no_difference", 4)
    by_candidate = {
        (row["candidate"], row["task_model"]): row["vs_baseline"]["val"]["mark"]
        for row in summary["rows"]
        if row["vs_baseline"]
    }
    assert by_candidate["polite", "m"] == "no_difference"
    assert by_candidate["polite", "w"] == "better"
    points = [point["text"] for point in told.json["verdict"]["points"]]
    assert "With plain, w is worse than m: \N{MINUS SIGN}1.000" in points
    assert "note: x is the same model as w" in told.stderr
    assert rederive(tmp_path / "r") == 0
    assert cli("report", "r", "--check").status == 0
    falsified = orjson.loads((tmp_path / "r" / "summary.json").read_bytes())
    falsified["models"][0]["wins"] += 1
    (tmp_path / "r" / "summary.json").write_bytes(orjson.dumps(falsified))
    assert rederive(tmp_path / "r") != 0


def test_show_tells_an_example_step_by_step_and_calls_nothing(cli: Cli, tmp_path: Path) -> None:
    two_prompts(tmp_path)
    model(tmp_path / "m", "{'text': 'It is ' + " + RIGHT + "}")
    three = command("-e", "@exact_match", "-e", "@contains", "--extract", "last-number")
    before = cli(*three, "--show", "val-3", env=COUNTED)
    assert before.stdout.count("not called yet") == 4
    assert not (tmp_path / "r").exists()
    assert cli(*three, env=COUNTED).status == 0
    shown = cli(*three, "--show", "val-3", env=COUNTED)
    assert "val-3  val:4\n\nplain → m\n  user      │ 3 plus 4 today\n  reply     │ It is 7\n" in shown.stdout
    assert "  extracted │ 7\n  exact_match: 1" in shown.stdout
    by_line = cli(*three, "--show", "4", "--json").json
    assert [one["id"] for one in by_line["examples"]] == ["train-3", "val-3"]
    assert by_line["examples"][1]["replies"][0]["scores"]["contains"]["score"] == 1
    assert calls(tmp_path) == 2 * ROWS
    assert cli(*three, "--show", "nobody").status == 2


def test_after_a_kill_only_calls_in_flight_are_made_again(cli: Cli, program: Cli, tmp_path: Path) -> None:
    examples(tmp_path, train=40, val=40)
    prompts(tmp_path, plain="{{question}} for {{id}}")
    kills = "'20 plus' in asked['prompt'] and not os.path.exists('killed')"
    model(tmp_path / "m", f"(open('killed', 'w'), os.kill(os.getppid(), 9)) if {kills} else '1'")
    three = command("-e", "@exact_match", "-e", "@f1", "-e", "@contains", "--concurrency", "4")
    assert program(*three, env=COUNTED).status == -signal.SIGKILL
    before = calls(tmp_path)
    assert 0 < before < 80
    assert cli(*three, env=COUNTED).status == 0
    assert calls(tmp_path) <= 80 + 4, "the calls in flight are made again"
    told = cli("report", "r", "--format", "json").json
    assert told["units"] == {"total": 240, "scored": 240, "failed": 0, "skipped": 0, "owed": 0}


def test_a_reply_has_the_time_of_the_most_patient_evaluator_whoever_wants_it_first(
    cli: Cli, tmp_path: Path
) -> None:
    examples(tmp_path, train=2, val=2)
    prompts(tmp_path, plain="{{question}}")
    model(tmp_path / "m", "__import__('time').sleep(.5 if '0 plus' in asked['prompt'] else 30) or '1'")
    for first, last in ((0.2, 2.5), (2.5, 0.2)):
        (tmp_path / "sweep.toml").write_text(
            '[run]\nprompts = ["prompts/*.md"]\nmodels = ["m=cmd:./m"]\ndataset = "train.jsonl"\n'
            + "".join(
                f'[[evaluator]]\nname = "for{n}"\nuse = "@latency"\ntimeout = {n}\n' for n in (first, last)
            )
        )
        out = f"r{first}"
        told = cli("run", "sweep.toml", "--no-preflight", "--out", out)
        assert told.status == 0, told.stderr
        outcomes = {(one["evaluator"], one["line"], one.get("message")) for one in records(tmp_path / out)}
        late = "model: no answer within 2.5 s; it and all it started were killed"
        assert outcomes == {(f"for{n}", *told) for n in (0.2, 2.5) for told in ((1, None), (2, late))}


def test_a_model_at_another_base_of_the_environment_is_another_one(
    cli: Cli, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    two_prompts(tmp_path)
    others = [tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")]
    with served_model([{"text": "1"}], others[0]) as a, served_model([{"text": "3"}], others[1]) as b:
        run = command("-e", "@f1", models=("m=openai/m",))
        first = cli(*run, "--limit", "1", env={"OPENAI_BASE_URL": a.base})
        assert first.status == 0, first.stderr
        mixed = cli(*run, "--limit", "2", env={"OPENAI_BASE_URL": b.base})
        assert (mixed.status, len(b.bodies())) == (2, 0)
        assert "model m has changed" in mixed.stderr
        reused = cli(*run, "--limit", "1", "--reuse", "r", "--out", "s", env={"OPENAI_BASE_URL": b.base})
        assert (reused.status, len(b.bodies())) == (0, len(a.bodies()))
        again = cli(*run, "--limit", "1", env={"OPENAI_API_BASE": a.base})
        assert again.status == 0, again.stderr
        assert len(a.bodies()) == len(b.bodies()), "the same base, whoever names it"


def test_a_judge_sees_the_prompt_only_where_its_rubric_says_so(
    cli: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    examples(tmp_path, train=1, val=1)
    prompts(tmp_path, plain="Secretly: {{question}}")
    model(tmp_path / "m", RIGHT)
    for shows in ("", "shows_prompt = true\n"):
        served = fake_model([{"text": '{"reasoning": "yes", "score": 1, "confidence": 1}'}])
        (tmp_path / "rubric.toml").write_text(f'objective = "It is right."\n{shows}')
        judge = ("--judge-model", f"openai/j@{served.base}", "--rubric", "rubric.toml", "-e", "@f1")
        told = cli(*command(*judge, "--limit", "1", out=f"r{len(shows)}"))
        assert told.status == 0, told.stderr
        sent = [json.dumps(body["messages"]) for body in served.bodies()]
        assert all(("Secretly: 0 plus 1" in one) == bool(shows) for one in sent)
        assert len(sent) == 2


def test_a_run_that_grew_says_what_one_says_that_had_everything_from_the_start(
    cli: Cli, tmp_path: Path
) -> None:
    examples(tmp_path, train=4, val=8)
    prompts(tmp_path, a="{{question}}")
    model(tmp_path / "m", RIGHT)
    model(tmp_path / "w", WORDY)
    whole = ("-e", "@exact_match", "-e", "@f1", "--repeats", "2")
    assert cli(*command("-e", "@f1", models=("w=cmd:./w",))).status == 0
    prompts(tmp_path, b="Please: {{question}}")
    assert cli(*command("-e", "@exact_match", "-e", "@f1")).status == 0
    grown = cli(*command(*whole, "--json", models=("m=cmd:./m", "w=cmd:./w")))
    fresh = cli(*command(*whole, "--json", models=("m=cmd:./m", "w=cmd:./w"), out="s"))
    for told in (grown, fresh):
        assert told.status == 0, told.stderr
    summaries = [{**told.json["summary"], "latency": None, "journal": None} for told in (grown, fresh)]
    assert summaries[0] == summaries[1]
    assert grown.json["verdict"] == fresh.json["verdict"]
