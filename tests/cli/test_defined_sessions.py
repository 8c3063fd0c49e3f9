"""Sessions of YAML tasks one after the other in one program: nothing of one is left in the next."""

from pathlib import Path
from typing import Any

import pytest

from optimize_eval import sweep
from optimize_eval.base.errors import UsageError
from optimize_eval.tasks.templates import hosted
from tests.cli.benches import model
from tests.cli.defined import SAMPLES, TASK, task

JUDGED = """\
    - key: tone
      type: labeler_via_model
      model_key: judge
      user_prompt: "tone? {{ model_output }}"
"""


def test_a_model_that_failed_is_called_again_by_the_next_session_also_after_one_that_could_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    task(tmp_path, TASK + JUDGED)
    model(tmp_path / "m", "'1' if not os.path.exists('down') else {'error': 'down'}")
    how: dict[str, Any] = {"models": "m=cmd:./m", "dataset": "sums.jsonl", "out": "r"}
    with pytest.raises(UsageError, match="no key for openai/j"):
        sweep({"task": "sums.yaml", "model_keys": {"judge": "openai/j"}}, **how)
    assert not hosted.Holder.count
    Path("sums.yaml").write_text(TASK)
    Path("down").touch()
    assert sweep("task:sums.yaml", **how).exit_code != 0
    Path("down").unlink()
    again = sweep("task:sums.yaml", **how)
    assert (again.exit_code, len(again.records)) == (0, 2 * SAMPLES)
