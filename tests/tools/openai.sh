# What stands in for a provider where a page shows the command that somebody with a key types: sourced by a hidden
# set-up. The fake model server is given the arguments. Without any it replies as the model that ships in
# datasets/routing, judges whether the team is the right one, and proposes the prompt that describes the teams.
made=$(mktemp --suffix=.json)
trap 'kill "$server"; rm -f "$made"' EXIT
[ $# -gt 0 ] || python3 - > "$made" <<'EOS'
import json, re, subprocess

folder = "datasets/routing"
rows = [json.loads(line) for name in ("train", "val") for line in open(f"{folder}/{name}.jsonl")]
judged = r'(?s)"team": "(\w+)".*--- \w{8} candidate ---\n(?!\1\n)'
rules = [
    {"when": {"any": "You are a judge", "user": judged}, "json": {"reasoning": "{1} has to solve this", "score": 0.1}},
    {"when": {"any": "You are a judge"}, "json": {"reasoning": "this team can solve it", "score": 0.9}},
    {"when": {"user": "Improve this text"}, "text": "```\n" + open(f"{folder}/prompts/teams.md").read() + "```"},
]
for name, sign in (("teams", "- billing:"), ("short", "")):
    prompts = [open(f"{folder}/prompts/{name}.md").read().replace("{{message}}", row["message"]) for row in rows]
    asked = "".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts)
    done = subprocess.run(["python3", f"{folder}/model.py"], input=asked, capture_output=True, text=True, check=True)
    replies = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    for said in sorted(set(replies)):
        messages = "|".join(re.escape(row["message"]) for row, reply in zip(rows, replies) if reply == said)
        rules.append({"when": {"any": sign, "user": f"Message: (?:{messages})"}, "text": said})
print(json.dumps(rules))
EOS
exec 3< <(exec python3 -m optimize_eval.fakes.model "${@:-$made}")
server=$!
read -r OPENAI_BASE_URL <&3
export OPENAI_BASE_URL OPENAI_API_KEY=a-key
