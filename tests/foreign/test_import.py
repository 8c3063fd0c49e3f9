"""`import`: what another tool's configuration becomes, what is left out and told, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import load_run
from tests.foreign.results import DATA
from tests.front_door import Cli

GUIDE = "docs/from-promptfoo-and-inspect.md"


def rows_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]


def config_of(**parts: Any) -> str:
    return json.dumps({"prompts": ["{{text}}"], "providers": ["echo"], "tests": [{}], **parts})


def test_each_assertion_of_promptfoo_passes_and_scores_as_promptfoo_says(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", str(DATA / "import" / "promptfooconfig.json"), "--out", "mine", "--strict")
    assert (done.status, done.stdout) == (0, "optimize-eval run mine/sweep.toml\n"), done.stderr
    assert "everything was imported" in done.stderr
    assert cli("run", "mine/sweep.toml", "--out", "r", "--quiet").status == 0
    wanted = json.loads((DATA / "import" / "passes.json").read_text())
    records = {(record.evaluator, record.line): record.score for record in load_run(tmp_path / "r").records}
    for number, (passed, score) in enumerate(wanted, 1):
        assert records["pass", number] == float(passed), number
        assert records["score", number] == pytest.approx(score), number
    assert len(records) == 2 * len(wanted)


CONFIG = """\
prompts: [file://p.txt, file://chat.json, {label: code, raw: file://p.py}]
providers:
  - id: openai:chat:gpt-4o
    label: big one
    config: {temperature: 0, apiKey: sk-secret, maxOutputTokens: 9, headers: {X: sk-secret}}
  - anthropic:messages:claude-sonnet-4-6
  - exec:sh shout.sh
  - bedrock:converse:nova
  - elevenlabs:x
defaultTest:
  assert: [{type: icontains, value: '{{word}}', metric: has word}]
  options: {provider: openai:gpt-4.1}
tests: [file://rows.csv, file://../outside.yaml, huggingface://datasets/x]
scenarios:
  - config: [{vars: {word: one}}, {vars: {word: two}}]
    tests: [{vars: {n: [a, b]}, assert: [{type: llm-rubric, value: 'It tells of {{word}}.'}]}]
redteam: {plugins: [x]}
"""
SOURCES = {
    "mine/promptfooconfig.yaml": CONFIG,
    "mine/p.txt": "Say {{word}} {{n}}\n---\nShout {{word | upper}}\n",
    "mine/chat.json": '[{"role": "system", "content": "Be {{n}}."}, {"role": "user", "content": "{{word}}"}]',
    "mine/rows.csv": 'word,n,__expected,__expected2\nyes,1,"contains-any: a, b",similar(0.9): x\nno,2,,\n',
    "mine/shout.sh": 'printf "%s" "$1" | tr a-z A-Z',
    "outside.yaml": "- vars: {word: secret}\n",
}


def test_a_configuration_becomes_a_folder_that_runs_and_says_what_it_lacks(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, SOURCES)
    done = cli("import", "mine/promptfooconfig.yaml", "--out", "new/folder", "--json")
    told = done.json
    assert told["command"] == "optimize-eval run new/folder/sweep.toml"
    assert told["problems"] == []
    folder = tmp_path / "new" / "folder"
    assert [row["word"] for row in rows_in(folder)] == ["one", "one", "two", "two", "yes", "no"]
    assert rows_in(folder)[0]["must"] == "It tells of one."
    sums = {note["what"]: note["why"] for note in told["left"]}
    assert sums["prompt"] == "it is code, which nobody runs here"
    assert sums["tests file://../outside.yaml"] == "the file lies outside of the configuration's folder"
    assert sums["tests huggingface://datasets/x"] == "it is elsewhere, and nothing is fetched"
    assert {"provider elevenlabs:x", "assertion similar", "key redteam", "apiKey of a provider"} <= {*sums}
    every = "".join(file.read_text() for file in folder.rglob("*") if file.is_file())
    assert "secret" not in every.replace("secrets are not copied", "")
    assert "max_tokens = 9" in every
    assert 'model = "litellm_proxy/bedrock/converse/nova"' in every
    assert cli("validate", "new/folder/sweep.toml").status == 0
    only = ("--model", "exec=cmd:python3 new/folder/models/exec.py mine sh shout.sh", "-e", "@checks@pass")
    assert cli("run", "new/folder/sweep.toml", *only, "--out", "r", "--quiet").status == 0
    replies = {record.reply for record in load_run(tmp_path / "r").records}
    assert {"SAY YES 1", "SHOUT YES"} <= replies


def test_strict_writes_nothing_where_a_part_is_left_out(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, SOURCES)
    done = cli("import", "mine/promptfooconfig.yaml", "--out", "new", "--strict")
    assert (done.status, done.stdout) == (1, "")
    assert "not all of promptfooconfig.yaml can be imported: key redteam" in done.stderr
    assert "nothing was written" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "outside.yaml"}


HOSTILE = [
    ("c.yaml", "prompts: !!python/object/apply:os.system ['touch x']\nproviders: [echo]\n", "not YAML here"),
    ("c.yaml", "prompts: &a [x]\nproviders: *a\ntests: []\n", "aliases are not taken"),
    ("c.yaml", f"prompts: {'[' * 150}\nproviders: []\n", "nested too deeply"),
    ("c.yaml", "prompts: [a]\nproviders: [echo]\ntests: .inf: 2\n  x", "not YAML here"),
    ("promptfooconfig.js", "module.exports = {}", "it is code, which nobody runs here"),
    ("c.json", '{"prompts": ["{{x}}"], "providers": ["echo"]}', "nothing of c.json can be imported"),
    (
        "t.yaml",
        "task: t\noutput_type: multiple_choice\ndoc_to_text: q\n",
        "its output_type is multiple_choice",
    ),
    ("t.yaml", "task: t\nprocess_docs: !function u.f\ndoc_to_text: q\n", "process_docs is code (u.f)"),
    ("t.yaml", "include: ../../etc/passwd\ndoc_to_text: q\n", "the file lies outside"),
    ("e.yaml", "a:\n  class: evals.elsuite.x:Y\n  args: {samples_jsonl: s}\n  more:\n  args:\n", "args"),
    ("e.yaml", "a:\n  class: evals.elsuite.x:Y\n  args:\n    b: c\n", "is of the class evals.elsuite.x:Y"),
    ("results.json", '{"evalId": "e", "results": {"version": 3}}', "try: optimize-eval report results.json"),
    ("theory.py", "from inspect_ai import Task, task\n\n@task\ndef t(): ...\n", f"{GUIDE} says what"),
    ("sums.txt", "1 + 1 = 2\n", "no known tool wrote sums.txt"),
]


@pytest.mark.parametrize(("name", "text", "words"), HOSTILE, ids=lambda value: value[-30:])
def test_what_cannot_be_taken_over_is_refused_in_a_sentence(
    cli: Cli, tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    done = cli("import", name, "--out", "new")
    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


LEFT = [
    (
        {"tests": [{"vars": {"text": "{% for x in y %}"}}, {"vars": {"text": "b"}}]},
        "test: its template has code",
    ),
    ({"tests": [{"options": {"transformVars": "x"}}, {}]}, "test: transformVars makes its variables by code"),
    ({"tests": [{"assert": [{"type": "equals", "value": "{{ env.HOME }}"}]}]}, "a value of the environment"),
    ({"tests": [{"assert": [{"type": "python", "value": "import os"}]}]}, "assertion python: it is code"),
    ({"tests": [{"assert": [{"type": "regex", "value": "(?i)x"}]}]}, "its pattern means something else"),
    ({"tests": [{"assert": [{"type": "contains", "value": "x", "transform": "y"}]}]}, "code has transformed"),
    ({"tests": [{"assert": [{"type": "equals", "value": "file:///etc/passwd"}]}]}, "outside of the config"),
    ({"tests": [{"vars": {"text": "file://link"}}, {}]}, "test: the file lies outside"),
    ({"prompts": ["{{text}}", "file://link"]}, "prompt: the file lies outside"),
    ({"prompts": ["{{text}}", "{{text | nobody}}"]}, "prompt: there is no filter"),
    ({"providers": [{"id": "echo", "transform": "x"}]}, "provider echo: code transforms its replies"),
    ({"[x](https://a.example) \x1b[2J": 1}, r"key &#91;x&#93;(https"),
]


@pytest.mark.parametrize(("parts", "words"), LEFT, ids=[words for _, words in LEFT])
def test_notes_name_each_part_that_is_left_out(
    cli: Cli, tmp_path: Path, parts: dict[str, Any], words: str
) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "c.json").write_text(config_of(**{"defaultTest": {"vars": {"text": "hello"}}, **parts}))
    done = cli("import", "c.json", "--out", "new")
    assert done.status == 0, done.stderr
    notes = (tmp_path / "new" / "NOTES.md").read_text()
    assert words in notes.split("## Not imported")[1]
    assert "\x1b" not in notes + done.stderr
    assert cli("import", "c.json", "--out", "new").status == 2


HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "M = {}\n\ndef check(candidate):\n    assert candidate(1, 2) == 3, 'sum'\n    assert True\n",
}
LOOPS = {**HUMANEVAL, "test": "def check(candidate):\n    for i in [1]:\n        assert candidate(i, i)\n"}
MBPP = {"task_id": 1, "text": "Add.", "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]}
RIGHT, HALF_RIGHT = "```python\ndef add(a, b):\n    return a + b\n```", "def add(a, b):\n    return 3\n"


def test_problems_of_code_are_run_and_count_only_where_all_is_passed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "h.jsonl").write_text(f"{json.dumps(HUMANEVAL)}\n{json.dumps(LOOPS)}\n")
    (tmp_path / "m.jsonl").write_text("".join(json.dumps({**MBPP, "task_id": n}) + "\n" for n in (1, 2)))
    assert "its test is more than assertions" in cli("import", "h.jsonl", "--out", "h").stderr
    assert rows_in(tmp_path / "h")[0]["targets"] == ["add(1, 2) == 3"]
    assert cli("import", "m.jsonl", "--out", "m", "--strict").status == 0
    replies = [{"id": "1", "output": RIGHT}, {"id": "2", "output": HALF_RIGHT}]
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    assert cli("run", "m/sweep.toml", "--model", "m=replay:o.jsonl", "--out", "r", "--quiet").status == 0
    assert [record.score for record in load_run(tmp_path / "r").records] == [1, 0]


LM_EVAL = """\
task: add
include: base.yaml
doc_to_text: q
doc_to_target: "{{a}}"
metric_list: [{metric: exact_match, ignore_case: true}, {metric: !function u.f}]
filter_list: [{name: digits, filter: [{function: regex, regex_pattern: "(\\\\w+)"}, {function: take_first}]}]
"""
BASE = """\
dataset_path: json
dataset_kwargs: {data_files: {test: d.jsonl}}
test_split: test
generation_kwargs: {until: ["."], max_gen_toks: 8, do_sample: false}
"""


def test_a_task_of_lm_eval_is_sent_extracted_and_compared_as_there(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, {"add.yaml": LM_EVAL, "base.yaml": BASE, "d.jsonl": '{"q": "Say YES", "a": "yes"}\n'})
    done = cli("import", "add.yaml", "--out", "new")
    assert "metric u.f (code computes it, which nobody runs here)" in done.stderr
    sweep = (tmp_path / "new" / "sweep.toml").read_text()
    assert 'stop = ["."]\nmax_tokens = 8\ntemperature = 0\n' in sweep
    echo = 'cmd:sed -u \'s/.*Say.*/{"text": "YES it is"}/\''
    assert cli("run", "new/sweep.toml", "--model", f"m={echo}", "--out", "r", "--quiet").status == 0
    assert [record.score for record in load_run(tmp_path / "r").records] == [1]
    (tmp_path / "d.jsonl").unlink()
    assert "first: write the rows to data.jsonl" in cli("import", "add.yaml", "--out", "other").stderr


REGISTRY = """\
t:
  id: t.dev.v0
t.dev.v0:
  class: evals.elsuite.basic.match:Match
  args:
    samples_jsonl: t/samples.jsonl
"""
SAMPLES = [
    {"input": [{"role": "system", "content": "Say"}, {"role": "user", "content": "time"}], "ideal": "time"},
    {"input": "clock", "ideal": ["tick", "tock"]},
    {"input": [{"role": "user", "content": [{"type": "image_url"}]}], "ideal": "x"},
]
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t", "run_id": "r", "scorers": [{"name": "match", "options": {}}, {"name": "mine"}]},
    "plan": {"steps": [{"solver": "generate"}]},
    "samples": [
        {"id": 1, "epoch": 1, "input": "Capital of France?", "target": "Paris"},
        {"id": 1, "epoch": 2, "input": "Capital of France?", "target": "Paris"},
        {
            "id": 2,
            "epoch": 1,
            "input": "Peru?",
            "target": ["Lima", "lima"],
            "scores": {"match": float("nan")},
        },
    ],
}


def test_samples_with_messages_become_a_task_for_a_bench(cli: Cli, tmp_path: Path) -> None:
    lines = "".join(json.dumps(sample) + "\n" for sample in SAMPLES)
    write(tmp_path, {"registry/evals/t.yaml": REGISTRY, "registry/data/t/samples.jsonl": lines})
    done = cli("import", "registry/evals/t.yaml", "--out", "new")
    assert done.stdout == "optimize-eval bench new/task.yaml --model openai/gpt-4o-mini\n"
    assert "sample (a message of it is more than a role and a text)" in done.stderr
    model = 'cmd:sed -u \'s/.*/{"text": "tock"}/\''
    assert cli("bench", "new/task.yaml", "--model", f"m={model}", "--out", "b", "--quiet").status == 0
    assert [record.score for record in load_run(tmp_path / "b").records] == [0, 1]


def test_samples_of_inspect_are_matched_as_inspect_does(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(INSPECT))
    done = cli("import", "log.json", "--out", "new")
    assert "scorer mine (optimize-eval new evaluator begins one)" in done.stderr
    assert [row["id"] for row in rows_in(tmp_path / "new")] == ["1", "2"]
    replies = [{"id": "1", "output": "It is paris. "}, {"id": "2", "output": "Lima is it"}]
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    assert cli("run", "new/sweep.toml", "--model", "m=replay:o.jsonl", "--out", "r", "--quiet").status == 0
    assert [record.score for record in load_run(tmp_path / "r").records] == [1, 0]


def test_validate_and_report_name_the_command_that_takes_a_configuration(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(config_of())
    (tmp_path / "c.yaml").write_text("prompts: [a]\nproviders: [echo]\n")
    for command in ("validate", "report"):
        done = cli(command, "c.yaml")
        assert "`optimize-eval import c.yaml --out DIR`" in done.stdout + done.stderr
    assert "`optimize-eval import c.json --out DIR`" in cli("validate", "c.json").stdout


def test_what_a_prompt_names_is_filled_in_as_promptfoo_does(cli: Cli, tmp_path: Path) -> None:
    prompts = ["{{text}}|{{description}}|{{b}}|{% if c %}{{c}}{% endif %}"]
    tests = [
        {"vars": {"text": "see {{b}}", "b": True}, "description": "first"},
        {"vars": {"text": "{{d}}", "c": 1.0}},
    ]
    (tmp_path / "c.json").write_text(config_of(prompts=prompts, tests=tests))
    assert "everything was imported" in cli("import", "c.json", "--out", "new").stderr
    rows = rows_in(tmp_path / "new")
    assert rows[0] == {"text": "see true", "b": "true", "checks": [], "c": "", "description": ""}
    assert rows[1] == {"text": "{{d}}", "c": "1", "checks": [], "b": "", "description": ""}
    notes = (tmp_path / "new" / "NOTES.md").read_text()
    assert "here the row is skipped, as nothing can be wrong (row 1, row 2)" in notes


def test_a_variable_that_is_a_pattern_of_files_makes_a_row_of_each(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, {"in/b.txt": "two\n", "in/a.txt": "one", "c.json": ""})
    tests = [{"vars": {"text": "file://in/*.txt"}}, {"vars": {"text": "file://../*.txt"}}]
    (tmp_path / "c.json").write_text(config_of(tests=tests))
    told = cli("import", "c.json", "--out", "new", "--json").json
    assert [row["text"] for row in rows_in(tmp_path / "new")] == ["one", "two"]
    assert [note["where"] for note in told["left"]] == [["test 2"]]


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
