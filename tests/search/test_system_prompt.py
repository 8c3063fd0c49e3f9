"""A system prompt improved as GEPA's example `aime` does it, over shipped tasks, with fakes for both models.

What else ships with GEPA needs what is not here: `anymaths-bench` a dataset of Hugging Face and ollama,
`mcp_adapter` an MCP server, `rag_adapter` a vector store, `terminal-bench` Docker and its own harness.
"""

import json
from pathlib import Path

from tests.fake_model import StartModel
from tests.front_door import in_this_process
from tests.paths import ROOT

ASK = """import json, os, sys, urllib.request
for line in sys.stdin:
    asked = json.loads(line)
    task = asked["example"]
    said = ("system", asked["candidate"]), ("user", task["prompt"])
    messages = [{"role": role, "content": text} for role, text in said]
    request = urllib.request.Request(
        os.environ["BASE"] + "/chat/completions",
        json.dumps({"model": "task", "messages": messages}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        said = json.load(reply)["choices"][0]["message"]["content"]
    right = said.split()[-1] in task["targets"]
    print(json.dumps({
        "score": float(right), "said": said, "wanted": task["targets"],
        "_id": asked.get("_id"), "_capabilities": {"persistent": True},
    }), flush=True)
"""
SEED, BETTER = "You are a helpful assistant.", "Compute step by step and end with the number alone."


def test_a_system_prompt_is_improved_by_a_reflection_model(tmp_path: Path, fake_model: StartModel) -> None:
    tasks = [
        json.loads(line)
        for line in (ROOT / "datasets" / "tasks" / "arithmetic.jsonl").read_text().splitlines()
    ]
    for split in ("train", "val"):
        doubled = [
            {**task, "id": f"{split}-{task['id']}-{n}", "prompt": f"{task['prompt']} = ? ({split} {n})"}
            for n in range(3)
            for task in tasks
        ]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, doubled)))
    (tmp_path / "ask.py").write_text(ASK)
    (tmp_path / "prompt.txt").write_text(SEED)
    known = [
        {"when": {"any": "step by step", "user": f"^{task['prompt'].replace('+', '.').replace('*', '.')} = "}}
        | {"text": f"So it is {task['targets'][0]}"}
        for task in tasks
    ]
    reflects = {"when": {"user": "Improve this text"}, "text": f"They guess.\n```\n{BETTER}\n```"}
    server = fake_model([reflects, *known, {"text": "I guess 3"}])

    done = in_this_process(tmp_path)(
        *("optimize", "prompt.txt", "-e", "right=python3 ask.py", "--dataset", "train.jsonl"),
        *("--valset", "val.jsonl", "--reflection-model", "openai/fake", "--api-base", server.base),
        *("--objective", "Right answers to sums.", "--out", "r", "-o", "best.txt", "--json"),
        env={"BASE": server.base, "OPENAI_API_KEY": "sk-canary-0123456789"},
    )

    assert done.status == 0, done.stderr
    assert (tmp_path / "best.txt").read_text() == BETTER
    assert done.json["verdict"]["state"] == "better"
    prompts = [body["messages"][0]["content"] for body in server.bodies() if "Improve" in str(body)]
    assert prompts
    assert all("I guess 3" in prompt and "val-" not in prompt for prompt in prompts)
