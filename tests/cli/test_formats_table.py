"""Each format of `report` is a row of one table."""

from pathlib import Path

import pytest

from optimize_eval.cli.formats import FORMATS, FormatName
from tests.findings.made import on_val
from tests.front_door import Cli


def test_every_name_has_a_format_of_its_own() -> None:
    assert len({*FORMATS.values()}) == len(FORMATS) == len(FormatName)


@pytest.mark.parametrize("form", FormatName)
def test_each_writes_something_of_a_run(cli: Cli, tmp_path: Path, form: FormatName) -> None:
    on_val(a=[1.0, 0.5], b=[0.5, 1.0]).write(tmp_path / "r")
    done = cli("report", "r", "--format", form)
    assert (done.status, bool(done.stdout)) == (0, True)
