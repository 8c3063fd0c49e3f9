"""A summary's numbers once more, in few lines that share nothing with the rest: python rederive.py RUN.

A unit's newest record counts, failures are left out, repeats of an example are averaged first. A mean's
standard error is sd/√n, over sums by cluster where the run has clusters; a difference is a mean of pairs.
"""

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def estimate(values: dict[Any, float], cluster: dict[Any, Any]) -> tuple[float | None, float | None]:
    """Give the mean and its standard error of values by line."""
    if not values:
        return None, None
    mean = summed(values.values()) / len(values)
    sums: dict[Any, float] = defaultdict(float)
    for line, value in values.items():
        sums[cluster[line]] += value - mean
    squares = summed(s * s for s in sums.values()) * len(sums) / max(1, len(sums) - 1)
    se = math.sqrt(squares) / len(values) if len(sums) > 1 else math.nan
    is_noise = se <= 1e-12 * max(map(abs, values.values()))  # of adding the same number again and again
    return mean if math.isfinite(mean) else None, 0.0 if is_noise else se if math.isfinite(se) else None


def summed(values: Iterable[float]) -> float:
    """Add up without rounding; what leaves the floats is infinite."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.inf


def main(run: Path) -> int:
    manifest, summary = (json.loads((run / name).read_bytes()) for name in ("run.json", "summary.json"))
    clusters = {
        s["name"]: dict(zip(s["lines"], s["clusters"] or s["lines"], strict=True)) for s in manifest["splits"]
    }
    scores: dict[Any, dict[Any, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    with (run / "journal.jsonl").open("rb") as journal:
        for record in (json.loads(text) for text in journal if text.endswith(b"\n")):
            if "outcome" in record:
                cell = record["evaluator"], record.get("task_model"), record["split"], record["candidate"]
                repeats = scores[cell][record.get("line")]
                repeats.pop(record["repeat"], None)  # what an earlier record said
                if record["outcome"] == "scored":
                    repeats[record["repeat"]] = record["score"]
    means = {
        cell: {line: math.fsum(s.values()) / len(s) for line, s in lines.items() if s}
        for cell, lines in scores.items()
    }

    def difference(where: tuple[Any, ...], a: str, b: str) -> tuple[float | None, float | None]:
        first, second = means.get((*where, a), {}), means.get((*where, b), {})
        pairs = {line: second[line] - first[line] for line in first if line in second}
        return estimate(pairs, clusters[where[2]])

    found: list[tuple[Any, ...]] = []
    for row in summary["rows"]:
        for split, told in row["splits"].items():
            where = row["evaluator"], row["task_model"], split
            again = estimate(means.get((*where, row["candidate"]), {}), clusters[split])
            found.append((*where, row["candidate"], "mean", told["mean"], again[0]))
            found.append((*where, row["candidate"], "se", told["se"], again[1]))
            if row["vs_baseline"]:
                d, again = row["vs_baseline"][split], difference(where, summary["baseline"], row["candidate"])
                found.append((*where, row["candidate"], "vs_baseline diff", d["diff"], again[0]))
                found.append((*where, row["candidate"], "vs_baseline se", d["se"], again[1]))
    for d in summary["pairs"]:
        where, both = (d["evaluator"], d["task_model"], d["split"]), f"{d['a']} and {d['b']}"
        again = difference(where, d["a"], d["b"])
        found += [(*where, both, "diff", d["diff"], again[0]), (*where, both, "se", d["se"], again[1])]
    rows = {(row["evaluator"], row["task_model"], row["candidate"]) for row in summary["rows"]}
    left_out = {one["evaluator"] for one in summary.get("additions_left_out", ())}
    lost = (
        cell for cell in means if means[cell] and not (cell[0] in left_out or (*cell[:2], cell[3]) in rows)
    )
    found += [(*cell, "mean", None, estimate(means[cell], clusters[cell[2]])[0]) for cell in lost]
    wrong = [one for one in found if not agree(*one[-2:])]
    for *what, told, again in wrong:
        name = " · ".join(str(one) for one in what if one is not None)
        print(f"{name}: summary.json has {told}, the journal gives {again}")  # noqa: T201  a script's output
    print(f"{len(found):,} numbers computed anew from the journal, {len(wrong):,} differ")  # noqa: T201
    return 1 if wrong else 0


def agree(told: float | None, again: float | None) -> bool:
    return told == again or (
        None not in {told, again} and math.isclose(told or 0.0, again or 0.0, rel_tol=1e-9, abs_tol=1e-12)
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
