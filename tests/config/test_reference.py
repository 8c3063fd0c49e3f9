"""The pages of the reference are what the code says."""

from optimize_eval.base import errors
from tests.paths import ROOT
from tests.tools import reference


def test_the_reference_is_that_of_the_code() -> None:
    """Whoever changes an option or a field writes it anew: `python -m tests.tools.reference`."""
    written = {path.name: path.read_text(encoding="utf-8") for path in reference.FOLDER.iterdir()}
    assert written == reference.write()


def test_every_exit_code_is_documented() -> None:
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    codes = {*errors.OF_A_STATE.values(), errors.MISSED, errors.USAGE}
    assert len(codes) > 5
    assert all(f"\n| {code} | " in page for code in codes)
