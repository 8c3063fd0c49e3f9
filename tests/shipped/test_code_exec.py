"""code_exec: what is scored, what is a miss, what is a failure; escapes have a file of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.front_door import Cli
from tests.paths import EVALUATORS
from tests.shipped.asking import answer, ask

DOUBLE = "def f(x):\n    return 2 * x\n"


def pairs(*listed: Any) -> dict[str, object]:
    return {"extras": {"io_pairs": list(listed)}}


def targets(*listed: str) -> dict[str, object]:
    return {"targets": list(listed)}


_INNER = "    '''Doubles.\n\n    ```py\n    f(1)\n    ```\n    '''\n"
FENCED = [  # as models write them
    f"Sure!\n```python\n{DOUBLE}```\nDone.\n".replace("\n", "\r\n"),
    f"``` python\n{DOUBLE}```",
    f"```python \n{DOUBLE}``` ",
    f'```python title="a.py"\n{DOUBLE}```',
    f"~~~py\n{DOUBLE}~~~",
    f"Use ```f```:\n```\n{DOUBLE}```",
    f"It is: ```py\n{DOUBLE.rstrip()}``` as you see",
    f"Cut off:\n```python\n{DOUBLE}",
    "1. first\n   ```py\n   def f(x):\n       return 2 * x\n   ```",
    f"````python\n{DOUBLE}FENCE = '''\n```\n'''\n````",
    f"```python\n{DOUBLE}FENCE = '```' + ''\n```",
    f"\ufeff{DOUBLE}",
    DOUBLE.replace("\n", f"\n{_INNER}", 1),
    f"# ```python\n# f(1)\n# ```\n{DOUBLE}",
]
PAIRS: list[tuple[str, dict[str, object], float]] = [
    (DOUBLE, pairs([1, 2], [3, 6]), 1),
    (f"Here it is:\n```python\n{DOUBLE}```\nand\n```\nnonsense(\n```", pairs([1, 2]), 1),
    (f"```\n{DOUBLE}```", pairs([1, 2]), 1),
    *((text, pairs([1, 2]), 1) for text in FENCED),
    (DOUBLE, {"io_pairs": [[1, 2]]}, 1),
    (DOUBLE, pairs([1, 2], [3, 7]), 0.5),
    (DOUBLE, pairs([1, 2], [3], "ab", [1, 2, 3]), 0.25),
    (  # what costs time at each start
        "import sys\ndef f(x): return [name for name in x if name in sys.modules]",
        pairs([["os", "ctypes", "re", "typing", "json"], ["os"]]),
        1,
    ),
    (DOUBLE, pairs(), 0),
    (DOUBLE, {"extras": {}}, 0),
    (DOUBLE, {"metric": "code_exec", "targets": ["ok"]}, 0),
    (DOUBLE, pairs([[1], [1, 1]], ["ab", "abab"], [0.5, 1], [True, 2]), 1),
    ("f = lambda x: x == 1", pairs([1, 1], [2, False], [[1], 0]), 1),
    ("def f(x): return 1.0", pairs([0, True]), 1),
    ("def f(x): return tuple(x)", pairs([[1], [1]]), 0),
    ("def f(x): return [(1,)]", pairs([0, [[1]]]), 0),
    ("def f(x): return {1: 2}", pairs([0, {"1": 2}]), 0),
    ("def f(x): return {'a': [x, None]}", pairs([1, {"a": [1, None]}]), 1),
    ("def f(x): return float('nan')", pairs([0, float("nan")]), 0),
    ("def f(x): return 2 ** x", pairs([200, 2**200]), 1),
    ("def f(x): return 10 ** 1000000", pairs([0, 1]), 0),
    ("def f(x): return '\\ud800'", pairs([0, "\ud800"]), 1),
    ("from collections import Counter\nf = Counter", pairs(["aab", {"a": 2, "b": 1}]), 1),
    ("import enum\nclass E(enum.IntEnum):\n    A = 3\ndef f(x): return E.A", pairs([0, 3]), 1),
    ("def f(x): return {1}", pairs([0, [1]]), 0),
    ("def f(x): return f", pairs([0, 0]), 0),
    ("def f(x): raise SystemExit(0)", pairs([0, 0]), 0),
    ("def f(x):\n    if x == 1: import os; os._exit(0)\n    return x", pairs([0, 0], [1, 1], [2, 2]), 1 / 3),
    ("def g(x): return x", pairs([0, 0]), 0),
    ("def f(x: return x", pairs([0, 0]), 0),
    ("", pairs([0, None]), 0),
    ("def f(x: int) -> str:\n    return f.__annotations__['x'].__name__", pairs([0, "int"]), 1),
    (
        "import pickle\nclass C:\n    x = 1\ndef f(x):\n    return pickle.loads(pickle.dumps(C())).x",
        pairs([0, 1]),
        1,
    ),
    ("def f(x): raise ValueError('\\ud800')", pairs([0, 0]), 0),
    ("import sys; sys.exit(0)", pairs([0, 0]), 0),
    ("print('noise')\ndef f(x):\n    print([1], x)\n    return x", pairs([0, 0]), 1),
    (
        (
            "import math\nfrom dataclasses import dataclass\nfrom functools import cache\nONE = 1\n\n"
            "@dataclass\nclass P:\n    x: int\n\ndef helper(n):\n    return n * fac(n - 1)\n\n"
            "@cache\ndef fac(n):\n    return ONE if n < 2 else helper(n)\n\n"
            "def f(n):\n    return P(fac(n)).x + math.floor(0.5)\n\n"
            "if __name__ == '__main__':\n    raise SystemExit('not asked for')\n"
        ),
        pairs([5, 120], [20, 2432902008176640000]),
        1,
    ),
    ("import asyncio\nasync def g(x): return x\ndef f(x): return asyncio.run(g(x))", pairs([1, 1]), 1),
    (
        (
            "import tempfile\ndef f(x):\n    with tempfile.TemporaryFile('w+') as t:\n"
            "        t.write(x); t.seek(0); return t.read()"
        ),
        pairs(["a", "a"]),
        1,
    ),
    (
        (
            "from concurrent.futures import ThreadPoolExecutor as T\n"
            "def f(x):\n    with T(3) as t: return list(t.map(abs, x))"
        ),
        pairs([[-1, 2], [1, 2]]),
        1,
    ),
    ("def f(x): return exit", pairs([0, 0]), 0),
    ("def f(n):\n    return n and 1 + f(n - 1)", pairs([800, 800]), 1),
]

CLASSES = """
import math
from collections import namedtuple
from dataclasses import dataclass

P = namedtuple("P", "x y")

@dataclass
class V:
    x: float
    def __add__(self, other): return V(self.x + other.x)
    def __eq__(self, other): return True

class Stack(list):
    def push(self, value):
        self.append(value)
        return self

def add(a, b=0): return a + b
def apply(function, values): return [function(value) for value in values]
def count(n): yield from range(n)
def bad(x): raise ValueError("bad " + str(x))
def both(a): return a, {a}, {a: b"x"}, frozenset([a]), 1j
def adder(n): return lambda x: x + n
class Any:
    def __sub__(self, other): return 0
    def __mod__(self, other): return 0
    __rsub__ = __sub__
    def startswith(self, text): return True
    def __contains__(self, other): return True

class Text(str):
    def startswith(self, text): return True

class Number(int):
    def __sub__(self, other): return 0

def scale(n): return n
def size(text): return text.__len__()
def ends(x): raise StopIteration
abs = all = len = lambda *_: True
math.pi = 99
def half(n):
    import fractions
    return fractions.Fraction(n, 2)

def money(text):
    import decimal
    return decimal.Decimal(text)

def day(text):
    import datetime
    return datetime.date.fromisoformat(text)

LIMIT = 7
"""
ASSERTIONS: list[tuple[str, bool]] = [
    ("add(2, 3) == 5", True),
    ("assert add(2, b=3) == 5, 'message'", True),
    ("add(2, 3) == 6", False),
    ("add(2, 3)", True),
    ("add(0)", False),
    ("add([1], [2]) == [1, 2] and add((1,), (2,)) == (1, 2)", True),
    ("add((1,), (2,)) == [1, 2]", False),
    ("add(10 ** 30, 1) == 10 ** 30 + 1", True),
    ("both(1) == (1, {1}, {1: b'x'}, frozenset([1]), 1j)", True),
    ("P(1, 2) == (1, 2) and P(1, 2).y == 2", True),
    ("V(1).x == 1 and (V(1) + V(2)).x == 3", True),
    ("V(1) == V(1)", False),
    ("V(1) != V(2)", False),
    ("V(1) == 1 or True", False),
    ("V(1) in [1]", False),
    ("V(1)", False),
    ("half(1) == 0.5 and half(half(1)) == fractions.Fraction(1, 4)", True),
    ("money('1.10') + money('2.20') == decimal.Decimal('3.30')", True),
    ("day('2024-02-29') == datetime.date(2024, 2, 29)", True),
    ("Any() - 3.14 == 0", False),
    ("3.14 - Any() == 0", False),
    ("Any() % 2 == 0", False),
    ("Any().startswith('x')", False),
    ("Any().__contains__(3)", False),
    ("3 in Any()", False),
    ("Text('a').startswith('x')", False),
    ("Number(3) - 4 == 0", False),
    ("Number(3) - 3 == 0 and Number(3) + 1 == 4", True),
    ("not V(1)", False),
    ("Stack().push(3).push(4) == [3, 4] and Stack([1])[0] == 1", True),
    ("apply(lambda x: x + 1, [1, 2]) == [2, 3]", True),
    ("apply(str, [1]) == ['1']", True),
    ("apply(lambda p: p.x, [V(4)]) == [4]", True),
    ("list(count(3)) == [0, 1, 2] and sum(count(4)) == 6", True),
    ("[x * 2 for x in count(2)] == [0, 2]", True),
    ("adder(2)(3) == LIMIT - 2", True),
    ("bad(1)", False),
    ("missing(1) == 1", False),
    ("all(map(lambda n: ends(n) == n, [1]))", False),
    ("list(map(ends, [1])) == []", False),
    ("next(iter(count(0)), 7) == 7", True),
    ("abs(-2) == 2 and len([1]) == 1 and not all([0])", True),
    ("round(math.pi, 2) == 3.14", True),
    ("exit() or True", False),
    ("(lambda: add(1, 1))() == 2", True),
    ("size('a' * 2000000) == 2000000", True),
    ("str(add(1, 1)) == '2' and isinstance(add(1, 1), int)", True),
]


def test_pairs_are_scored_as_the_table_says() -> None:
    asked = [{"candidate": code, "example": example} for code, example, _ in PAIRS]
    found = [said.get("score", said) for said in ask("code_exec", asked, "--variant", "io_pairs")]
    wrong = [(row, said) for row, said in zip(PAIRS, found, strict=True) if said != row[2]]
    assert not wrong


LOADING = [  # lines forged while the candidate is loaded; the judge waits for one then
    b"{}",
    b"7",
    b'["="',
    b'["!"]',
    b'["!", 1, 2]',
    b"[" * 100_000,
    b"9" * 5_000,
    b'"\\ud800"',
    b'["!", "\\ud800", "\\ud800"]',
    b"",
    b"\xff",
    b'["verdict", true, ""]',
]


@pytest.mark.parametrize("variant", ["io_pairs", "assertions"])
def test_noise_while_loading_is_a_miss_and_no_failure(variant: str) -> None:
    example = {**pairs([0, 0]), **targets("f(0) == 0", "f(0) is 0")}
    code = (
        "import os\nfor fd in range(3, 20):\n    try: os.write(fd, %r + b'\\n')\n    except OSError: pass\n"
    )
    asked = [{"candidate": code % line, "example": example} for line in LOADING]
    for said in ask("code_exec", asked, "--variant", variant):
        json.dumps(said, ensure_ascii=False).encode()
        assert said["score"] == 0, said


PROGRAMS: list[tuple[str, float]] = [
    ("print('hi ')\nprint(6 * 7)\n", 1),
    ("if __name__ == '__main__':\n    print('hi \\n42', end='')", 1),
    ("import sys\nsys.stdout.write('hi \\n42\\n\\n'); sys.exit(0)", 1),
    ("print('other')", 1),
    ("print('hi')", 0),
    ("print('hi \\n42'); 1 / 0", 0),
    ("print('hi \\n42', flush=True); import os; os._exit(3)", 0),
    ("input()", 0),
    ("print('x' * 5_000_000)", 0),
    ("print('hi \\n42', flush=True)\nwhile True: pass", 0),
]


def test_what_a_program_prints_is_compared_with_each_target() -> None:
    asked = [{"candidate": code, "example": targets("hi \n42", "other\n")} for code, _ in PROGRAMS]
    said = ask("code_exec", asked, "--variant", "stdout", "--time", "1.5")
    assert [one["score"] for one in said] == [score for _, score in PROGRAMS]


@pytest.mark.parametrize(
    ("example", "options", "says"),
    [
        (targets("a = 1"), [], "not a Python expression"),
        (targets("f(1) =="), [], "not one Python expression"),
        (targets("f(1); f(2)"), [], "not one Python expression"),
        (targets(), [], "is empty"),
        ({"io_pairs": 3}, ["--variant", "io_pairs"], "must be a list"),
        ({}, [], "no field"),
        (pairs([1, 2]), ["--sandbox", "strict", "--layers", "rlimits"], "apt-get install bubblewrap"),
    ],
)
def test_a_wrong_task_or_a_missing_sandbox_is_a_failure(
    example: dict[str, object], options: list[str], says: str
) -> None:
    said = answer("code_exec", DOUBLE, example, *options)
    assert "score" not in said
    assert says in said["error"]


def test_assertions_are_true_or_not_as_the_table_says() -> None:
    example = targets(*(target for target, _ in ASSERTIONS))
    said = answer("code_exec", CLASSES, example, "--variant", "assertions")
    assert [(case["target"], case["passed"], case.get("why")) for case in said["cases"]] == [
        (target, passed, case.get("why"))
        for (target, passed), case in zip(ASSERTIONS, said["cases"], strict=True)
    ]
    assert said["total"] == len(ASSERTIONS)
    assert said["score"] == sum(passed for _, passed in ASSERTIONS) / len(ASSERTIONS)


def test_it_is_asked_through_the_front_door(cli: Cli) -> None:
    example = json.dumps({**pairs([1, 2], [2, 5]), "targets": ["f(1) == 2"]})
    for variant, score in (("", 0.5), ("@io_pairs", 0.5), ("@assertions", 1.0), ("@stdout", 0.0)):
        said = cli("score", "-", "-e", f"@code_exec{variant}", "--example", example, stdin=DOUBLE.encode())
        assert (said.json["outcome"], said.json["score"]) == ("scored", score)
        assert {"layers", "missing", "passed", "total", "cases"} <= said.json["side_info"].keys()


@pytest.mark.parametrize(
    "option", ["--memory 1", "--time 0", "--time nan", "--output 0", "--layers seccomp,x", "--sandbox x"]
)
def test_a_wrong_option_is_told(cli: Cli, option: str) -> None:
    said = cli("score", "-", "-e", f"@code_exec {option}", "--example", json.dumps(pairs([1, 2])))
    assert said.status == 4
    assert f"argument {option.split(maxsplit=1)[0]}: " in said.json["stderr"]
    assert "invalid _" not in said.json["stderr"]


def test_it_ends_with_its_candidate_when_nobody_waits_for_the_answer(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    code = f"import os\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
    command = [sys.executable, str(EVALUATORS / "code_exec.py"), "--sandbox", "none", "--time", "600"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as judge:
        assert judge.stdin
        assert judge.stdout
        judge.stdin.write(json.dumps({"candidate": code, "example": pairs([0, 0])}).encode() + b"\n")
        judge.stdin.flush()
        pid = int(fifo.read_text())
        judge.stdout.close()
        assert judge.wait(30) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("open('a', 'w').write('x'); return sorted(os.listdir())", ["a"]),
        ("for n in range(9): open(str(n), 'wb').write(bytes(8 << 20))\n    time.sleep(600)", "MiB into its"),
        ("for n in range(2000): os.mkdir('d'); os.chdir('d')\n    return 1", 1),
    ],
    ids=["a file", "a full disk", "depths"],
)
def test_a_folder_on_disk_is_bounded_and_ends_with_the_program(tmp_path: Path, body: str, said: Any) -> None:
    program = f"import os, time\ndef f(x):\n    {body}"
    payload = {"candidate": program, "example": {"io_pairs": [[1, said]]}}
    command = [sys.executable, str(EVALUATORS / "code_exec.py"), "--layers", "landlock,seccomp,rlimits"]
    done = subprocess.run(
        command,
        input=json.dumps(payload).encode(),
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["score"] == (not isinstance(said, str)), answer
    assert not isinstance(said, str) or said in done.stdout.decode()
    assert not list(tmp_path.iterdir())
