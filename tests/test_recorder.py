"""The recorder of sessions: the same session is the same recording, and a changed byte is noticed."""

from pathlib import Path

import pytest

from tests.tools.masks import Masks
from tests.tools.recorder import main

SESSION = "short"


def test_a_session_is_the_same_twice_and_a_changed_byte_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "recorded"
    assert main(["record", str(folder), "--only", SESSION]) == 0
    assert main(["compare", str(folder), "--only", SESSION]) == 0
    assert "all are as recorded" in capsys.readouterr().out
    journal = folder / SESSION / "01" / "files" / "r" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"repeat":1', '"repeat":7', 1))
    assert main(["compare", str(folder), "--only", SESSION]) == 1
    said = capsys.readouterr().out
    assert "short: 1 file differs\n  01/files/r/journal.jsonl:2\n    - …" in said
    assert '"repeat":7' in said
    assert '"repeat":1' in said


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ('{"score": 0.25, "seconds": 1.5e-05}', '{"score": 0.25, "seconds": <time>}'),
        ("12:01:02 judge 3/9, 0 failed\n12:01:03 judge: scored", "<clock> judge: scored"),
        (
            "half within 0.31 s; if a call takes 100 ms, 6.6 s",
            "half within <time>; if a call takes 100 ms, 6.6 s",
        ),
        ("judge,a,0.25,0.001273,1,2026-01-02T03:04:05.678+00:00,x", "judge,a,0.25,<seconds>,1,<time>,x"),
        ('{"score":0.7,"crc":"00000000"}', '{"score":0.7,"crc":"<wrong>"}'),
        (
            " model  score  ms\n ────────────────\n toy    1.000  12",
            "model  score  ms\n─\ntoy  1.000  <time>",
        ),
        ("n 12, p 0.31, 3 of 4 in 0.5", "n 12, p 0.31, 3 of 4 in 0.5"),
    ],
)
def test_times_are_masked_and_nothing_else(line: str, masked: str) -> None:
    assert Masks(Path("/nowhere")).of("stdout", line.encode()).decode() == masked
