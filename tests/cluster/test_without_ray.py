"""Without Ray everything works but `--engine ray`, which says what to install; nothing else loads it."""

from pathlib import Path

import pytest

from tests.front_door import Cli

RAY = "raise ModuleNotFoundError(\"No module named 'ray'\", name='ray')\n"


@pytest.fixture
def without_ray(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "nowhere" / "ray").mkdir(parents=True)
    (tmp_path / "nowhere" / "ray" / "__init__.py").write_text(RAY)
    return {"PYTHONPATH": str(tmp_path / "nowhere")}


def test_an_engine_that_is_not_installed_is_named_in_a_line(
    program: Cli, judged: tuple[str, ...], without_ray: dict[str, str]
) -> None:
    done = program("run", *judged, "--engine", "ray", "--address", "127.0.0.1:1", env=without_ray)
    assert done.status == 2
    said, hint = done.stderr.splitlines()
    assert said == "error: --engine ray needs Ray, which is not installed"
    assert hint.startswith("  try: install the extra [ray]: /")
    assert hint.endswith(" -m pip install 'ray>=2.60'")


def test_runs_of_this_machine_load_no_ray(
    program: Cli, judged: tuple[str, ...], without_ray: dict[str, str]
) -> None:
    assert program("run", *judged, "--limit", "2", "--out", "r", env=without_ray).status == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--engine", "ray"), "error: --engine ray needs the address of a cluster"),
        (("--address", "h:1"), "error: --address is about a cluster"),
        (("--engine", "dask"), "error: --engine cannot be 'dask'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    cli: Cli, judged: tuple[str, ...], options: tuple[str, ...], told: str
) -> None:
    done = cli("run", *judged, *options)
    assert (done.status, told in done.stderr) == (2, True), done.stderr
