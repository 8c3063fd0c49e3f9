"""Files that other tools wrote, and the numbers of a report of them."""

from typing import Any

from tests.paths import ROOT

DATA = ROOT / "tests" / "foreign" / "data"
JSON, JSONL = DATA / "promptfoo.json", DATA / "promptfoo.jsonl"


def numbers_of(summary: dict[str, Any], split: str = "test") -> dict[tuple[str, str], Any]:
    """Give mean, scored, failed and skipped by candidate and evaluator."""
    return {
        (row["candidate"], row["evaluator"]): (
            row["splits"][split]["mean"],
            *(row["splits"][split][key] for key in ("scored", "failed", "skipped")),
        )
        for row in summary["rows"]
    }
