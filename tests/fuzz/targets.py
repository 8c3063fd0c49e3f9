"""What is fuzzed: the files of each kind, and the commands that read them."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from zlib import crc32

from tests.front_door import Cli, in_this_process
from tests.fuzz.mutations import mutated, with_odd_fields, with_odd_settings, with_odd_values
from tests.paths import PROGRAMS, ROOT
from tests.tasks.yaml.good import GOOD

Mutate = Callable[[bytes, random.Random], bytes]

_SWEEP = b"""[run]
dataset = "d.jsonl"
valset = "v.jsonl"
candidates = ["c.txt", "l.jsonl"]
task_models = ["m"]
repeats = 2
concurrency = 3
score_range = "unit"
baseline = "c"
out = "s"
cluster_by = "group"
group_by = ["group", "deep.at"]
seed = 7
filter = {group = "a", "deep.at" = 1}
ids = ["1", 3]
limit = 3
max_time = "1h30m"
on_failure = "exclude"
max_failures = "5%"

[[evaluator]]
name = "one"
command = ["true", "--x"]
timeout = 3
env = {A = "b"}
retries = 1
persistent = false
workers = 2
weight = 2.5

[[evaluator]]
url = "http://127.0.0.1:9/"
headers = {X = "y"}

[[evaluator]]
use = "@exact_match"
score_range = "any"

[[evaluator]]
judge = "openai/x"
objective = "Be kind."
temperature = 0.5
max_tokens = 9
seed = 1

[gates]
fail_under = {one = 0.8}
max_gap = 0.1
"""
_RUBRIC = b"""objective = "Be kind."
temperature = 0.5
max_tokens = 9
seed = 3

constraints = ["It lies"]

[dimensions]
tone = 2
clarity = {weight = 1, description = "Short words"}
"""
_RUBRIC_JSON = (
    b'{"objective": "o", "form": "scorer", "score_min": 1, "score_max": 5, '
    b'"constraints": [{"name": "a", "text": "b"}]}'
)
_LABELS_JSON = (
    b'{"objective": "o", "form": "classifier", "correct_labels": ["yes"], "incorrect_labels": ["no"]}'
)
_LABELER = b'{"objective": "o", "labels": {"a": 1, "b": 0.5}, "seed": 3, "temperature": 1, "max_tokens": 3}'
_DATA = b"".join(
    b'{"id": %d, "group": "%s", "deep": {"at": %d}, "target": "x"}\n' % (n, b"ab"[n % 2 : n % 2 + 1], n % 3)
    for n in range(6)
)
_RUN = ("run", "-e", "true", "--candidate", "c.txt", "--dry-run")
_BASE = (
    *("run", "-e", f"one={PROGRAMS}/good.sh", "-e", "two=false"),
    *("--candidate", "c.txt", "--candidate", "e.txt"),
)
_RESUME = (*_BASE, "--dataset", "d.jsonl", "--cluster-by", "group", "--group-by", "deep.at", "--out", "r")
_OF_A_RUN: Sequence[Sequence[str]] = (
    ("report", "r"),
    ("report", "r", "--json"),
    ("report", "r", "--filter", "group=a"),
    ("report", "r", "--format", "md"),
    ("report", "r", "--format", "csv"),
    ("report", "r", "--format", "jsonl"),
    ("report", "r", "--format", "junit"),
    ("report", "r", "--fail-under", "one=0.5", "--no-regression-against", "base"),
    ("diff", "r", "base"),
    ("diff", "base", "r", "--json"),
    ("runs", "."),
    ("runs", ".", "--json"),
    (*_RESUME, "--dry-run"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A file in a folder, what it holds when nothing is wrong, and the commands that read it."""

    file: str
    good: tuple[bytes, ...]
    commands: Sequence[Sequence[str]]
    mutations: tuple[Mutate, ...]


def prepare(folder: Path) -> tuple[Cli, Mapping[str, Target]]:
    """Make a folder with all that the commands need, a finished run among it."""
    cli = in_this_process(folder)
    for name, data in {
        "c.txt": b"c",
        "e.txt": b"e",
        "d.jsonl": _DATA,
        "v.jsonl": _DATA.replace(b'"x"', b'"y"'),
        "l.jsonl": b'{"id": "l", "candidate": "l"}\n',
    }.items():
        (folder / name).write_bytes(data)
    assert cli(*_RESUME, "--no-preflight").status == 4, "two=false fails always"
    assert cli("rescore", "r", "-e", f"three={PROGRAMS}/good.sh", "--quiet").status in {0, 4}
    tasks = str(ROOT / "datasets" / "tasks" / "arithmetic.jsonl")
    assert cli("bench", tasks, "--model", "toy", "--model", "silent", "--out", "bench").status == 0
    copytree(folder / "r", folder / "base")
    return cli, _targets(folder)


def _targets(folder: Path) -> Mapping[str, Target]:
    tasks = tuple(path.read_bytes() for path in sorted((ROOT / "datasets" / "tasks").iterdir()))
    shipped = (ROOT / "datasets" / "tasks.jsonl").read_bytes()
    task_run = ("run", "-e", "task:t.jsonl", "--task-model", "toy", "--candidate", "c.txt", "--dry-run")
    of_task = (
        ("validate", "t.jsonl"),
        ("validate", "t.jsonl", "--json"),
        (*task_run, "--dataset", "t.jsonl"),
    )
    judge = (*_RUN, "--dataset", "d.jsonl", "-e", "judge:openai/x", "--rubric")
    read = (
        ("validate", "x.jsonl"),
        (*_RUN, "--dataset", "x.jsonl", "--group-by", "group", "--cluster-by", "deep.at"),
        ("run", "-e", "true", "--candidate-field", "target", "--dataset", "x.jsonl", "--dry-run"),
        ("run", "-e", "true", "--candidates", "x.jsonl", "--dry-run"),
        (*_RUN, "--dataset", "x.jsonl", "--filter", "deep.at=1", "--id", "3"),
    )
    ours = ("r/run.json", "r/journal.jsonl", "r/summary.json", "bench/leaderboard.json")
    run, journal, summary, board = ((folder / name).read_bytes() for name in ours)
    return {
        "sweep": Target(
            "s.toml",
            (_SWEEP,),
            (("run", "s.toml", "--dry-run"), ("validate", "s.toml")),
            (mutated, with_odd_settings, with_odd_settings),
        ),
        "run": Target("r/run.json", (run,), _OF_A_RUN, (mutated, with_odd_values, with_odd_values)),
        "journal": Target("r/journal.jsonl", (journal,), _OF_A_RUN, (mutated, _sealed_anew, _sealed_anew)),
        "summary": Target("r/summary.json", (summary,), (("runs", "."),), (mutated, with_odd_values)),
        "rubric": Target("j.toml", (_RUBRIC,), ((*judge, "j.toml"),), (mutated, with_odd_settings)),
        "rubric-json": Target(
            "j.json",
            (_RUBRIC_JSON, _LABELS_JSON, _LABELER),
            ((*judge, "j.json"),),
            (mutated, with_odd_values),
        ),
        "task": Target(
            "t.jsonl",
            (*tasks, shipped),
            of_task,
            (mutated, _odd_lines),
        ),
        "definition": Target(
            "y.yaml",
            tuple(text.encode() for text in GOOD.values()),
            (("validate", "y.yaml"), ("validate", "y.yaml", "--json")),
            (mutated, with_odd_fields, with_odd_fields),
        ),
        "dataset": Target(
            "x.jsonl", (_DATA, b'{"id": "a", "candidate": "x"}\n'), read, (mutated, _odd_lines)
        ),
        "board": Target(
            "b.json",
            (board,),
            (("diff", "b.json", "bench"), ("verify", "b.json"), ("diff", "bench", "b.json", "--json")),
            (mutated, with_odd_values),
        ),
    }


def _odd_lines(data: bytes, dice: random.Random) -> bytes:
    """Change the value of one line."""
    lines = data.splitlines()
    place = dice.randrange(len(lines))
    lines[place] = with_odd_values(lines[place], dice)
    return b"\n".join(lines) + b"\n"


def _sealed_anew(data: bytes, dice: random.Random) -> bytes:
    """Change the value of one line of a journal, and make its checksum right."""
    lines = data.splitlines()
    place = dice.randrange(len(lines))
    body = with_odd_values(lines[place].rpartition(b',"crc"')[0] + b"}", dice).rstrip()
    lines[place] = b'%s,"crc":"%08x"}' % (body[:-1], crc32(body[:-1]))
    return b"\n".join(lines) + b"\n"
