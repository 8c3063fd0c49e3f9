"""What an evaluator is known by: the files that its score depends on are part of it."""

from pathlib import Path

import pytest

from optimize_eval.base import shipped
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.evaluators.kinds import has_changed, identify, parse_evaluator
from tests.paths import ROOT


def test_a_shipped_metric_is_known_by_the_module_that_it_shares_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("f1.py", "_metric.py", "routing.py"):
        (tmp_path / name).write_bytes((ROOT / "evaluators" / name).read_bytes())
    monkeypatch.setattr(shipped, "path", lambda _name: tmp_path)
    metric, alone = (parse_evaluator(text, EvaluatorSpec()) for text in ("@f1", "@routing"))
    known, other = identify(metric), identify(alone)
    assert [name for name, _ in known.files] == ["f1.py", "_metric.py"]
    assert [name for name, _ in other.files] == ["routing.py"]
    with (tmp_path / "_metric.py").open("a") as stream:
        stream.write("# changed\n")
    assert has_changed(metric, known)
    assert identify(metric).sha256 != known.sha256
    assert not has_changed(alone, other)
