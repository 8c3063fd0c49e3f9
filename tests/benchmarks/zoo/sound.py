"""Evaluators that are sound: strict and lenient, in the ways in which good ones differ."""

from tests.benchmarks.zoo.animals import Animal

_NORMAL = (
    "import re, string\ndef f(x):\n  x = ''.join(a for a in x.lower() if a not in string.punctuation)\n"
    "  return ' '.join(re.sub(r'\\b(a|an|the)\\b', ' ', x).split())\n"
)
_F1 = (
    "from collections import Counter\na, b = Counter(f(c).split()), Counter(f(t).split())\n"
    "n = sum((a & b).values())\ns = 2 * n / (sum(a.values()) + sum(b.values()) or 1)"
)
_EDITS = (
    "function d(a, b) { let r = [...Array(b.length + 1).keys()]; for (let i = 1; i <= a.length; i++) {"
    " let k = r[0]; r[0] = i; for (let j = 1; j <= b.length; j++) { const h = r[j];"
    " r[j] = Math.min(r[j] + 1, r[j - 1] + 1, k + (a[i - 1] !== b[j - 1])); k = h; } }\n"
    " return r[b.length]; }\n"
)
_KEPT = (
    "import json, sys\nfor l in sys.stdin:\n  p = json.loads(l)\n"
    "  c, t = p['candidate'], p['example']['target']\n"
    "  print(json.dumps({{'score': {}, '_id': p.get('_id'),"
    " '_capabilities': {{'persistent': True}}}}), flush=True)\n"
)
_ANY = ("--score-range", "any")

SOUND = (
    Animal("exact", "python", "qa", "s = float(c == t)"),
    Animal("exact in small letters", "perl", "qa", "$s = lc $c eq lc $t ? 1 : 0;"),
    Animal(
        "exact without blanks", "node", "qa", "s = c.split(/\\s+/).join('') === t.split(/\\s+/).join('');"
    ),
    Animal("exact by jq", "jq", "qa", "$c == $t"),
    Animal("exact by sh", "sh", "sentences", '[ "$c" = "$t" ] && s=1 || s=0'),
    Animal("exact by awk", "awk", "numbers", 's = c "" == t "" ? 1 : 0'),
    Animal("exact by tcl", "tcl", "qa", "set s [expr {$c eq $t}]"),
    Animal("exact by lua", "lua", "labels", "s = c == t and 1 or 0"),
    Animal(
        "composed letters",
        "python",
        "qa",
        "import unicodedata as u\ns = float(u.normalize('NFC', c) == u.normalize('NFC', t))",
    ),
    Animal("normal of questions", "python", "qa", _NORMAL + "s = float(f(c) == f(t))"),
    Animal("normal of numbers", "python", "numbers", _NORMAL + "s = float(f(c) == f(t))"),
    Animal("F1 of words", "python", "sentences", _NORMAL + _F1),
    Animal("F1 of numbers", "python", "numbers", _NORMAL + _F1),
    Animal(
        "words in any order",
        "ruby",
        "sentences",
        "s = c.downcase.scan(/\\w+/).sort == t.downcase.scan(/\\w+/).sort ? 1 : 0",
    ),
    Animal("contains", "php", "qa", "$s = stripos($c, $t) !== false;"),
    Animal("contains a number", "ruby", "numbers", "s = c.include?(t) ? 1 : 0"),
    Animal("edits", "node", "sentences", _EDITS + "s = 1 - d(c, t) / Math.max(c.length, t.length);"),
    Animal("less edits", "node", "qa", _EDITS + "s = -d(c, t);", options=_ANY),
    Animal("scaled by row", "python", "qa", "s = e['weight'] * (c == t)", options=_ANY),
    Animal(
        "similar letters", "python", "qa", "import difflib\ns = difflib.SequenceMatcher(None, c, t).ratio()"
    ),
    Animal(
        "pairs of letters",
        "perl",
        "sentences",
        "my %a; $a{substr $c, $_, 2}++ for 0 .. length($c) - 2; my $n = 0;"
        " for (0 .. length($t) - 2) { $n++ if $a{substr $t, $_, 2}-- > 0 }"
        " $s = length($c) + length($t) > 2 ? 2 * $n / (length($c) + length($t) - 2) : 0;",
    ),
    Animal(
        "number within a millionth",
        "perl",
        "numbers",
        "$s = $c =~ /^\\s*-?\\d+(\\.\\d+)?\\s*$/ && abs($c - $t) <= 1e-6 * abs $t ? 1 : 0;",
    ),
    Animal(
        "number within a twentieth",
        "node",
        "numbers",
        "s = c.trim() !== '' && Math.abs(Number(c) - Number(t)) <= 0.05 * Math.abs(Number(t));",
    ),
    Animal(
        "decimal within a thousandth",
        "awk",
        "decimals",
        "d = c - t; s = c ~ /^[0-9.]+$/ && d * d < 0.000001 ? 1 : 0",
    ),
    Animal(
        "last number",
        "python",
        "numbers",
        "import re\nn = re.findall(r'-?\\d+(?:\\.\\d+)?', c.replace(',', ''))\n"
        "s = float(bool(n) and float(n[-1]) == float(t))",
    ),
    Animal("number by its value", "php", "numbers", "$s = is_numeric($c) && $c == $t;"),
    Animal("first letter", "jq", "letters", '($c | ltrimstr(" ") | .[:1] | ascii_upcase) == $t'),
    Animal(
        "letter behind answer",
        "node",
        "letters",
        "const m = c.match(/answer is ([A-D])/) || c.match(/^\\W*([A-D])\\b/); s = m && m[1] === t;",
    ),
    Animal("label", "php", "labels", "$s = strtolower(trim($c)) === $t;"),
    Animal("yes or no", "ruby", "yes", "s = c.strip.downcase.delete('.') == t ? 1 : 0"),
    Animal("best of several", "python", "several", "s = float(any(c.strip() == x for x in t))"),
    Animal(
        "best overlap of several",
        "python",
        "several",
        "s = max(len({*c.split()} & {*x.split()}) / len({*c.split()} | {*x.split()} or {1}) for x in t)",
    ),
    Animal("key by id", "python", "qa", "s = float(c == json.load(open('keys.json'))[e['id']])"),
    Animal("kept alive", "whole python", "qa", _KEPT.format("float(c == t)")),
    Animal(
        "kept alive words",
        "whole python",
        "sentences",
        _KEPT.format("len({*c.split()} & {*t.split()}) / len({*c.split()} | {*t.split()})"),
    ),
    Animal(
        "kept alive by perl",
        "whole perl",
        "qa",
        "use JSON::PP; $| = 1; while (<STDIN>) { my $p = decode_json($_); print encode_json({score =>"
        " $p->{candidate} eq $p->{example}{target} ? 1 : 0, _id => $p->{_id},"
        ' _capabilities => {persistent => JSON::PP::true}}), "\\n" }\n',
    ),
    Animal(
        "refuses nothing",
        "python",
        "qa",
        "if not c.strip():\n  print(json.dumps({'error': 'empty'})); sys.exit()\ns = float(c == t)",
    ),
    Animal(
        "skips without a gold",
        "python",
        "qa",
        "if not t:\n  print(json.dumps({'skip': 'no gold'})); sys.exit()\ns = float(c == t)",
    ),
    Animal(
        "says when",
        "whole python",
        "qa",
        "import json, os, sys, time\np = json.load(sys.stdin)\n"
        "print(json.dumps({'score': float(p['candidate'] == p['example']['target']),"
        " 'pid': os.getpid(), 'at': time.time(), 'gold': p['example']['target']}))\n",
    ),
    Animal("one gold for all", "node", "alone", "s = c.toLowerCase().replace(/\\W/g, '') === 'paris';"),
    Animal(
        "slow start",
        "whole sh",
        "qa",
        "sleep 0.05; jq -c '{score: (if .candidate == .example.target then 1 else 0 end)}'\n",
    ),
    Animal(
        "overlap of words",
        "ruby",
        "qa",
        "a, b = c.downcase.split, t.downcase.split; s = (a & b).size.to_f / [(a | b).size, 1].max",
    ),
)
