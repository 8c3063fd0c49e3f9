"""What an animal of the zoo is: an evaluator in some language, the data that it is for, its faults by name.

A body sets s, the score, from c, the candidate, t, the row's target, and e, the row; languages add the rest.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Language(NamedTuple):
    """How a body becomes a program, and how that is called."""

    suffix: str
    command: str
    before: str = ""
    after: str = ""
    needs: str = ""


LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        ".py",
        "python3 {}",
        "import json, sys\np = json.load(sys.stdin)\n"
        "c, e = p['candidate'], p['example']\nt = e.get('target')\n",
        "\nprint(json.dumps({'score': s}))\n",
    ),
    "perl": Language(
        ".pl",
        "perl {}",
        "use utf8; use JSON::PP; my $p = decode_json(join '', <STDIN>);"
        " my ($c, $e) = @$p{qw(candidate example)}; my $t = $e->{target}; my $s;\n",
        "\nprint encode_json({score => $s + 0});\n",
        "perl",
    ),
    "node": Language(
        ".js",
        "node {}",
        "const fs = require('fs'); const p = JSON.parse(fs.readFileSync(0));"
        " const c = p.candidate, e = p.example, t = e.target; let s;\n",
        "\nconsole.log(JSON.stringify({score: Number(s)}));\n",
        "node",
    ),
    "ruby": Language(
        ".rb",
        "ruby {}",
        "require 'json'; p = JSON.parse(STDIN.read); c, e = p['candidate'], p['example']; t = e['target']\n",
        "\nputs JSON.generate({score: s})\n",
        "ruby",
    ),
    "php": Language(
        ".php",
        "php {}",
        "<?php $p = json_decode(stream_get_contents(STDIN), true); $c = $p['candidate']; $e = $p['example'];"
        " $t = $e['target'] ?? null;\n",
        "\necho json_encode(['score' => $s + 0]), \"\\n\";\n",
        "php",
    ),
    "jq": Language(
        ".jq",
        "jq -c -f {}",
        ".candidate as $c | .example as $e | $e.target as $t | (",
        ") as $s | {score: (if $s == true then 1 elif $s == false then 0 else $s end)}\n",
        "jq",
    ),
    "sh": Language(
        ".sh",
        "sh {}",
        "p=$(cat); c=$(printf '%s' \"$p\" | jq -r .candidate)\n"
        "t=$(printf '%s' \"$p\" | jq -r .example.target)\n",
        '\nprintf \'{"score": %s}\\n\' "$s"\n',
        "jq",
    ),
    "awk": Language(
        ".awk",
        "sh -c 'jq -r \".candidate, .example.target\" | awk -f {}'",
        "NR == 1 { c = $0 } NR == 2 { t = $0 }\nEND {\n",
        '\nprintf "{\\"score\\": %s}\\n", s }\n',
        "jq",
    ),
    "lua": Language(
        ".lua",
        "lua {}",
        'local p = io.read(\'a\'); local c = p:match(\'"candidate":%s*"([^"]*)"\');'
        ' local t = p:match(\'"target":%s*"([^"]*)"\'); local s\n',
        "\nprint('{\"score\": ' .. s .. '}')\n",
        "lua",
    ),
    "tcl": Language(
        ".tcl",
        "tclsh {}",
        "fconfigure stdin -encoding utf-8; set p [read stdin]\n"
        'regexp {"candidate": *"([^"]*)"} $p -> c; regexp {"target": *"([^"]*)"} $p -> t\n',
        '\nputs "{\\"score\\": $s}"\n',
        "tclsh",
    ),
    "whole python": Language(".py", "python3 {}"),
    "whole perl": Language(".pl", "perl {}", needs="perl"),
    "whole sh": Language(".sh", "sh {}", needs="jq"),
}


class Animal(NamedTuple):
    """One evaluator; `faults` are the checks that may name what is wrong with it, none of a sound one."""

    name: str
    language: str
    data: str
    body: str
    faults: str = ""
    options: tuple[str, ...] = ()
    is_warned: bool = False  # the fault may be deliberate, so that a warning names it

    def write(self, folder: Path) -> str:
        """Write the program, and say how it is called from its folder."""
        language = LANGUAGES[self.language]
        path = folder / f"{''.join(a if a.isalnum() else '_' for a in self.name)}{language.suffix}"
        path.write_text(f"{language.before}{self.body}{language.after}", encoding="utf-8")
        return language.command.format(path.name)


_GOLDS = {
    "qa": [
        *("Paris", "Zoë Müller", "New York City", "the Great Wall of China", "MARIE Curie"),
        *("São Tomé and Príncipe", "Berlin", "Reykjavík"),
    ],
    "sentences": [
        "The heart pumps blood through the body.",
        "Plants turn light, water and air into sugar.",
        "Émile Zola wrote about the lives of miners.",
        "Water boils at a lower temperature on mountains.",
        "The Moon's gravity causes the tides of the sea.",
    ],
    "numbers": ["42", "1234", "-7", "350", "2500", "18"],
    "decimals": ["3.14159", "0.5", "2.71828", "12.75"],
    "letters": ["B", "A", "D", "C", "B"],
    "labels": ["positive", "negative", "neutral", "positive"],
    "yes": ["yes", "no", "yes", "no"],
    "alone": ["Paris", "paris", "PARIS."],
}


def write_data(folder: Path) -> None:
    """Write the datasets that animals are for."""
    for name, golds in _GOLDS.items():
        rows = [
            {"id": f"{name}-{number}", "question": f"Question {number}?", "target": gold, "weight": number}
            for number, gold in enumerate(golds, 1)
        ]
        _write(folder / f"{name}.jsonl", rows)
    several = [
        {"id": 1, "target": ["Hello, Ada!", "Hi, Ada!"]},
        {"id": 2, "target": ["Hello, Grace!", "Hi, Grace!"]},
        {"id": 3, "target": ["Good evening, Zoë!", "Evening, Zoë!"]},
    ]
    _write(folder / "several.jsonl", several)
    keys = {f"qa-{number}": gold for number, gold in enumerate(_GOLDS["qa"], 1)}
    (folder / "keys.json").write_text(json.dumps(keys))


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
