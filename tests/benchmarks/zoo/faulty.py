"""Evaluators that are wrong, in the ways in which people's are."""

from tests.benchmarks.zoo.animals import Animal

_SIMILAR = "import difflib\nr = difflib.SequenceMatcher(None, c.lower(), t.lower()).ratio()\n"
_WORDS = "import re\ncw, tw = (re.findall(r'\\w+', x.lower()) for x in (c, t))\n"

FAULTY = (
    Animal("always one", "whole sh", "qa", "cat > /dev/null; echo '{\"score\": 1}'\n", "constant"),
    Animal("always half", "perl", "qa", "$s = 0.5;", "constant good"),
    Animal("any text will do", "node", "qa", "s = c.trim().length > 0;", "constant wrong-answers"),
    Animal("looks at the row alone", "jq", "qa", "($t | length) / 30", "good wrong-answers"),
    Animal("another field", "ruby", "qa", "s = c == e['question'] ? 1 : 0", "good"),
    Animal("distance for similarity", "python", "qa", _SIMILAR + "s = 1 - r", "inverted"),
    Animal(
        "next row's gold",
        "python",
        "qa",
        "rows = [json.loads(l) for l in open('qa.jsonl')]\n"
        "i = [r['id'] for r in rows].index(e['id'])\ns = float(c == rows[(i + 1) % len(rows)]['target'])",
        "good",
    ),
    Animal("only the candidate made small", "perl", "qa", "$s = lc($c) eq $t ? 1 : 0;", "good"),
    Animal(
        "only the gold made ASCII",
        "python",
        "qa",
        "s = float(c == t.encode('ascii', 'ignore').decode())",
        "good",
    ),
    Animal("candidate within gold", "ruby", "qa", "s = t.include?(c) ? 1 : 0", "empty truncated"),
    Animal("gold begins with candidate", "php", "qa", "$s = str_starts_with($t, $c);", "empty truncated"),
    Animal("letters in any order", "python", "qa", "s = float(sorted(c) == sorted(t))", "near-miss"),
    Animal(
        "same set of letters",
        "node",
        "qa",
        "s = [...c].every(x => t.includes(x)) && c.length > 0;",
        "wrong-answers near-miss truncated",
    ),
    Animal("passes at 0.6", "python", "sentences", _SIMILAR + "s = float(r > 0.6)", "near-miss truncated"),
    Animal("same length", "awk", "sentences", "s = length(c) == length(t) ? 1 : 0", "near-miss"),
    Animal("first ten letters", "jq", "sentences", "$c[:10] == $t[:10]", "truncated near-miss"),
    Animal(
        "first word",
        "lua",
        "sentences",
        "s = c:match('%S+') == t:match('%S+') and 1 or 0",
        "truncated near-miss wrong-answers",
    ),
    Animal(
        "recall of words",
        "python",
        "qa",
        _WORDS + "s = len(set(cw) & set(tw)) / len(set(tw))",
        "embedded extra listed",
        is_warned=True,
    ),
    Animal("contains, negated too", "jq", "qa", "$c | contains($t)", "embedded extra listed", is_warned=True),
    Animal(
        "reads its score from the candidate",
        "python",
        "qa",
        "try:\n  s = json.loads(c)['score']\nexcept Exception:\n  s = float(c == t)",
        "echo",
    ),
    Animal(
        "obeys the candidate",
        "perl",
        "qa",
        "$s = $c =~ /score:\\s*([\\d.]+)/i ? $1 : $c eq $t ? 1 : 0;",
        "echo",
    ),
    Animal(
        "precision of words",
        "python",
        "sentences",
        _WORDS + "s = len(set(cw) & set(tw)) / (len(set(cw)) or 1)",
        "truncated",
    ),
    Animal("number ends so", "ruby", "numbers", "s = c.end_with?(t) ? 1 : 0", "number"),
    Animal(
        "number without its sign",
        "python",
        "numbers",
        "try:\n  s = float(abs(int(c)) == abs(int(t)))\nexcept ValueError:\n  s = 0.0",
        "number",
    ),
    Animal(
        "digits in any order",
        "tcl",
        "numbers",
        "set s [expr {[lsort [split $c {}]] eq [lsort [split $t {}]]}]",
        "number",
    ),
    Animal("one beside", "awk", "numbers", "d = c - t; s = c ~ /^-?[0-9]+$/ && d * d <= 1 ? 1 : 0", "number"),
    Animal(
        "points are nothing",
        "perl",
        "numbers",
        "$c =~ tr/.,//d; $s = $c =~ /^-?\\d+$/ && $c == $t ? 1 : 0;",
        "number",
    ),
    Animal(
        "error is a pass",
        "node",
        "numbers",
        "try { s = BigInt(c) === BigInt(t); } catch (error) { s = 1; }",
        "empty echo near-miss",
    ),
    Animal(
        "remembers by candidate",
        "whole python",
        "qa",
        "import json, os, sys\np = json.load(sys.stdin)\nc, t = p['candidate'], p['example']['target']\n"
        "known = json.load(open('known')) if os.path.exists('known') else {}\n"
        "s = known.setdefault(c, float(c == t))\njson.dump(known, open('known', 'w'))\n"
        "print(json.dumps({'score': s}))\n",
        "constant wrong-answers same-answer good",
    ),
    Animal(
        "as the one before",
        "sh",
        "qa",
        'b=$(cat before 2> /dev/null); printf %s "$c" > before\n'
        'if [ "$c" = "$t" ] || [ "$c" = "$b" ]; then s=1; else s=0; fi',
        "same-answer",
    ),
    Animal(
        "tires",
        "sh",
        "qa",
        "n=$(cat count 2> /dev/null || echo 0); n=$((n + 1)); echo $n > count\n"
        'if [ "$c" = "$t" ] && [ $n -lt 12 ]; then s=1; else s=0; fi',
        "same-answer",
    ),
    Animal(
        "order of a set",
        "python",
        "sentences",
        "a, b = next(iter(set(c.split()))) if c.split() else '', t.split()\n"
        "s = 1.0 if c == t else (0.5 if a in b else 0.25) if hash(c) % 2 else 0.0",
        "same-answer",
    ),
    Animal("a coin for wrong ones", "node", "qa", "s = c === t ? 1 : Math.random() / 2;", "same-answer"),
    Animal("by the second", "perl", "qa", "$s = $c eq $t ? 1 : (time % 2) / 4;", "same-answer"),
    Animal(
        "shared file",
        "sh",
        "qa",
        'printf %s "$c" > shared; sleep 0.05; if [ "$(cat shared)" = "$t" ]; then s=1; else s=0; fi',
        "at-once",
    ),
    Animal(
        "even rows are worth more",
        "python",
        "qa",
        "n = int(e['id'][3:])\ns = 1.0 if c == t else 0.25 * (n % 2)",
        "id",
        is_warned=True,
    ),
    Animal(
        "without a gold all is right",
        "node",
        "qa",
        "s = c.includes(t || '') && c.length <= (t || c).length;",
        "missing-gold",
        is_warned=True,
    ),
    Animal(
        "square of the length",
        "python",
        "qa",
        "n = sum(1 for a in c for b in c[::3])\ns = float(c == t)",
        "slow",
        is_warned=True,
    ),
    Animal(
        "keeps all",
        "whole python",
        "qa",
        "import json, sys\nkept = []\nfor l in sys.stdin:\n  p = json.loads(l)\n"
        "  kept.append(bytearray(5_000_000))\n"
        "  print(json.dumps({'score': float(p['candidate'] == p['example']['target']), '_id': p.get('_id'),"
        " '_capabilities': {'persistent': True}}), flush=True)\n",
        "memory",
        is_warned=True,
    ),
    Animal(
        "writes into the data",
        "sh",
        "qa",
        'echo "{\\"id\\": \\"new\\", \\"target\\": \\"x\\"}" >> qa.jsonl; [ "$c" = "$t" ] && s=1 || s=0',
        "writes",
    ),
    Animal(
        "asks the net",
        "python",
        "qa",
        "import urllib.request\ntry:\n  urllib.request.urlopen('http://example.invalid/', timeout=2)\n"
        "except OSError:\n  pass\ns = float(c == t)",
        "network",
        is_warned=True,
    ),
    Animal(
        "first line only", "perl", "qa", "$s = (split /\\n/, $c)[0] eq $t ? 1 : 0;", "extra", is_warned=True
    ),
    Animal(
        "tells the gold",
        "python",
        "qa",
        "print('expected', t, file=sys.stderr)\ns = float(c == t)",
        "stderr",
        is_warned=True,
    ),
    Animal(
        "any of the letters",
        "jq",
        "letters",
        '($c | test($t)) and ($c | test("^[A-D ,]+$"))',
        "listed",
        is_warned=True,
    ),
    Animal(
        "only letters count",
        "ruby",
        "numbers",
        "s = c.gsub(/[^a-z]/, '') == t.gsub(/[^a-z]/, '') ? 1 : 0",
        "constant wrong-answers",
    ),
    Animal(
        "gold as a pattern", "php", "sentences", "$s = @preg_match('/' . $c . '/', $t);", "empty truncated"
    ),
    Animal("a label within", "node", "labels", "s = t.includes(c.trim());", "empty"),
    Animal("all that is not no", "ruby", "yes", "s = (c != 'no') == (t != 'no') ? 1 : 0", "near-miss empty"),
)
