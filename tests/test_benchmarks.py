"""`python -m tests.benchmarks` measures what it is told to; what it measures is no test."""

import pytest

from tests.benchmarks import data, program
from tests.benchmarks.__main__ import ROWS, name_of, select


def test_names_select_rows_in_the_order_of_the_table() -> None:
    assert select([]) == list(ROWS)
    assert select(["load_cpu", "program"]) == [
        program.help_cpu,
        program.run_help_cpu,
        program.dry_run_cpu,
        data.load_cpu,
    ]
    assert select(["program.help_cpu"]) == [program.help_cpu]
    assert len({name_of(row) for row in ROWS}) == len(ROWS)


def test_an_unknown_name_ends_with_all_there_are() -> None:
    with pytest.raises(SystemExit, match=r"(?s)no row is named nothing; there are.*program.help_cpu"):
        select(["program", "nothing"])
