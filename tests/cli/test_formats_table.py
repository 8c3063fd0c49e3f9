"""Each format of `report` is a module and a row of one table."""

import pkgutil
from pathlib import Path

import pytest

from optimize_eval.cli import formats
from optimize_eval.cli.formats.table import FORMATS, FormatName
from tests.findings.made import on_val
from tests.front_door import Cli


def test_every_name_has_a_module_of_its_own() -> None:
    modules = {module.name for module in pkgutil.iter_modules(formats.__path__)} - {"reported", "table"}
    assert len({*map(id, FORMATS.values())}) == len(FORMATS) == len(FormatName) == len(modules)


@pytest.mark.parametrize("form", FormatName)
def test_each_writes_something_of_a_run(cli: Cli, tmp_path: Path, form: FormatName) -> None:
    on_val(a=[1.0, 0.5], b=[0.5, 1.0]).write(tmp_path / "r")
    done = cli("report", "r", "--format", form)
    assert (done.status, bool(done.stdout)) == (0, True)
