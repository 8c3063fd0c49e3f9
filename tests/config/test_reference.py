"""The pages of the reference are what the code says."""

import re

from optimize_eval.base import errors
from tests.tools import reference


def test_the_reference_is_that_of_the_code() -> None:
    """Whoever changes an option or a field writes it anew: `python -m tests.tools.reference`."""
    written = {path.name: path.read_text(encoding="utf-8") for path in reference.FOLDER.iterdir()}
    assert written == reference.write()


def test_every_exit_code_and_every_kind_of_failure_is_said() -> None:
    page = (reference.FOLDER / "endings.md").read_text(encoding="utf-8")
    codes = {*errors.OF_A_STATE.values(), errors.MISSED, errors.USAGE}
    assert re.findall(r"^\| (\d+) \| ", page, re.MULTILINE) == [str(code) for code in sorted(codes)]
    assert re.findall(r"^\| `(\w+)` \| ", page, re.MULTILINE) == [*errors.FailureKind]
