"""What tests of spending share: a judge whose calls have tokens and a price, and a run of it."""

from pathlib import Path

KEY = {"OPENAI_API_KEY": "sk-canary-0123456789abcdef"}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
VERDICT = {"json": {"reasoning": "r", "score": 1.0}, "usage": USAGE}
NONSENSE = {"text": "7 of 10", "usage": USAGE}
PRICES = '[prices]\n"openai/m" = {input = 1.0, output = 10.0}\n'  # 0.002 dollars a call


def made(folder: Path, examples: int = 4) -> tuple[str, ...]:
    (folder / "a.txt").write_text("Hello")
    (folder / "d.jsonl").write_text("".join(f'{{"q": {n}}}\n' for n in range(examples)))
    (folder / "p.toml").write_text(PRICES)
    judge = ("run", "-e", "kind=judge:openai/m", "--objective", "o", "--candidate", "a.txt")
    return (*judge, "--dataset", "d.jsonl", "--out", "r", "--concurrency", "1", "--no-preflight")
