"""Headers go to the one server that is called, or to the one that they name: they may hold a key."""

from pathlib import Path

import pytest

from tests.cli.benches import arithmetic, served_model
from tests.front_door import Cli

TOKEN = {"TOKEN": "canary-0123456789abcdef"}
BEARER = "Authorization: Bearer ${TOKEN}"


def bench(folder: Path, *models: str, headers: tuple[str, ...]) -> list[str]:
    arithmetic(folder, size=2)
    named = [word for text in models for word in ("--model", text)]
    return [
        "bench",
        "sums.jsonl",
        *named,
        *(word for one in headers for word in ("--header", one)),
        "--out",
        "r",
    ]


def test_a_header_goes_to_the_server_that_it_names_and_to_no_other(cli: Cli, tmp_path: Path) -> None:
    with served_model() as first, served_model() as other:
        models = f"a={first.url}", f"b={other.url}"
        done = cli(*bench(tmp_path, *models, headers=(f"a={BEARER}",)), env=TOKEN)
        assert done.status == 0, done.stderr
    assert {sent for sent, _ in first.requests} == {f"Bearer {TOKEN['TOKEN']}"}
    assert {sent for sent, _ in other.requests} == {None}
    assert TOKEN["TOKEN"] not in (tmp_path / "r" / "run.json").read_text()


def test_a_header_for_nobody_by_name_is_refused_where_two_servers_are_called(
    cli: Cli, tmp_path: Path
) -> None:
    with served_model() as first, served_model() as other:
        done = cli(*bench(tmp_path, f"a={first.url}", f"b={other.url}", headers=(BEARER,)), env=TOKEN)
        assert done.status == 2
        assert f"--header would go to 2 servers: a ({first.url}), b ({other.url})" in done.stderr
        assert "--header a='Authorization: Bearer ${TOKEN}'" in done.stderr
        evaluators = ("-e", f"x={first.url}", "-e", f"y={other.url}", "--header", BEARER)
        (tmp_path / "a.txt").write_text("1 + 1")
        assert cli("run", *evaluators, "--candidate", "a.txt", env=TOKEN).status == 2
        assert cli("preflight", *evaluators, "--candidate", "a.txt", env=TOKEN).status == 2
    assert not first.requests
    assert not other.requests


def test_one_server_needs_no_name(cli: Cli, tmp_path: Path) -> None:
    with served_model() as server:
        models = f"a={server.url}/one", f"b={server.url}/two"
        done = cli(*bench(tmp_path, *models, headers=(BEARER, "a=X-Only: 1")), env=TOKEN)
        assert done.status == 0, done.stderr
    assert {sent for sent, _ in server.requests} == {f"Bearer {TOKEN['TOKEN']}"}


@pytest.mark.parametrize("name", ["ab", "zzz"])
def test_a_header_for_somebody_who_is_not_called_is_refused(cli: Cli, tmp_path: Path, name: str) -> None:
    with served_model() as server:
        done = cli(*bench(tmp_path, f"aba={server.url}", headers=(f"{name}={BEARER}",)), env=TOKEN)
    assert done.status == 2
    assert f"--header {name}=…: no URL that is called has this name" in done.stderr
    assert "aba" in done.stderr
