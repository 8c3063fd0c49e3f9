"""What a host sees of a session: how far it is, the last time when all that was called is counted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from optimize_eval.api import ProgramHost
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Progress
from optimize_eval.data.candidates import CandidatePath, load_candidates
from optimize_eval.evaluators.kinds import parse_evaluators
from optimize_eval.run.host import Watch
from optimize_eval.run.inputs import load_splits
from optimize_eval.run.settings import Handling
from optimize_eval.run.sweeps import SweepInputs, carry_out, prepare
from tests.run.projects import COUNTS, Project, project


class Watching(ProgramHost):
    """A host that notes how much was done at each look, and lets what waits go on at the first."""

    def __init__(self, made: Project) -> None:
        super().__init__()
        self.seen: list[int] = []
        self._made = made

    @contextmanager
    def watching(self, *, is_recheck: bool) -> Iterator[Watch]:  # noqa: ARG002  a host's
        yield self._look

    def _look(self, progress: Sequence[Progress]) -> None:
        self.seen += [one.done for one in progress]
        Path(f"{self._made.counted}.go").touch()


def test_the_last_look_sees_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log whose last line is 429/560 would look as if calls were missing."""
    made = project(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, value in made.env(WAITS="bbb:12").items():
        monkeypatch.setenv(name, value)
    host = Watching(made)
    comparison = SweepInputs(
        specs=parse_evaluators([COUNTS], EvaluatorSpec()),
        candidates=load_candidates([CandidatePath("a.txt"), CandidatePath("b.txt")]),
        examples=load_splits({"train": "d.jsonl"}, host.say),
    )
    finished = carry_out(prepare(comparison, Handling(), host.say, out="r"), host)
    assert finished.status == "done"
    assert host.seen[0] < 24
    assert host.seen[-1] == 24
