"""The names that users of the format import, which cost nothing before they are used."""

import subprocess
import sys

import pytest

from optimize_eval import tasks


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert tasks.__all__ == sorted(tasks.__all__)
    for name in tasks.__all__:
        assert getattr(tasks, name).__name__ == name
    assert set(tasks.__all__) < set(dir(tasks))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tasks.nonsense  # noqa: B018


def test_a_name_is_a_function_whatever_module_was_imported_before() -> None:
    code = (
        "import sys, optimize_eval.tasks as t; assert 'orjson' not in sys.modules; "
        "import optimize_eval.tasks.dialects, optimize_eval.tasks.dialects; "
        "print(t.post_process('lower', 'A'), t.render({'prompt': 'x'}))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "a x\n"
