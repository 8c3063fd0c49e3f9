"""`optimize-eval view`: who may look at what; how it looks is tests/page."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from optimize_eval.serve.viewer import HEADER, PageServer
from optimize_eval.store.journal import seal
from tests.cli.made_runs import ENDED, make
from tests.foreign.results import JSON
from tests.front_door import Cli
from tests.page.made import make_compared, make_run
from tests.paths import PROGRAM
from tests.serve.shelves import served


class Said(NamedTuple):
    """A reply."""

    status: int
    body: bytes
    headers: dict[str, str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("view"), train=6, val=4, candidates=["baseline", "v3-structured"])


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> Said:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.server_port)) as connection:
        connection.request(method, path, headers=given)
        reply = connection.getresponse()
        return Said(reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()})


def read(server: PageServer, path: str, **headers: str) -> Said:
    return ask(server, path, X_Token=server.token, **headers)


def test_a_run_is_served_part_by_part(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.parent)  # from where its data is named
    with served(run) as server:
        told = orjson.loads(read(server, "/runs").body)
        assert told["isOne"]
        (one,) = told["runs"]
        assert (one["name"], one["state"]) == ("tickets", "done")
        head = orjson.loads(read(server, f"/run/{one['id']}/head").body)
        assert head["summary"] == orjson.loads((run / "summary.json").read_bytes())
        assert head["live"]["state"] == "done"
        assert len(read(server, f"/run/{one['id']}/columns").body) == 13 * 40
        (example,) = orjson.loads(read(server, f"/run/{one['id']}/block/1/2").body).values()
        assert example["example"]["id"] == "v-00003"
        assert len(example["records"]) == 4


def test_two_runs_are_served_against_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_compared(tmp_path, train=3, val=2, candidates=["baseline"])
    monkeypatch.chdir(tmp_path)
    with served(tmp_path) as server:
        listed = {one["name"]: one for one in orjson.loads(read(server, "/runs").body)["runs"]}
        after = listed["after"]
        assert (after["compared"], after["examples"], after["calls"], after["done"]) == (1, 5, 20, 20)
        name = f"/diff/{listed['before']['id']}/{after['id']}"
        refused = read(server, f"{name}/head")
        assert (refused.status, b"val" in refused.body) == (409, True), "val is in another order"
        head = orjson.loads(read(server, f"{name}/force/head").body)
        assert (head["run"]["kind"], head["title"]) == ("diff", "before → after")
        (example,) = orjson.loads(read(server, f"{name}/force/block/1/1").body).values()
        assert {(one[1], one[3]) for one in example["records"]} == {(0, 1), (1, 1), (1, 2)}
        assert read(server, "/diff/0/9/head").status == 404


def test_what_has_not_changed_is_not_sent_again(run: Path) -> None:
    with served(run) as server:
        read(server, "/runs")
        tag = read(server, "/run/0/head").headers["etag"]
        again = read(server, "/run/0/head", If_None_Match=tag)
        assert (again.status, again.body) == (304, b"")


def test_nothing_is_given_without_the_token_or_to_another_host(run: Path) -> None:
    with served(run) as server:
        read(server, "/runs")
        for path in ("/", "/?token=wrong", "/runs", "/run/0/head", "/run/0/columns", "/run/0/block/0/0"):
            for headers in ({}, {HEADER: "wrong"}, {"Cookie": f"{server.cookie}=wrong"}):
                assert ask(server, path, **headers).status == 403
        assert ask(server, "/runs", Cookie=f"{server.cookie}={server.token}").status == 403
        for host in ("evil.example", f"evil.example:{server.server_port}", "127.0.0.1", ""):
            assert read(server, "/runs", Host=host).status == 403
            assert ask(server, f"/?token={server.token}", Host=host).status == 403


def test_the_page_says_what_a_browser_must_not_do(run: Path) -> None:
    with served(run) as server:
        page = ask(server, f"/?token={server.token}")
        assert page.status == 200
        policy = page.headers["content-security-policy"]
        assert "connect-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert server.token.encode() not in page.body
        cookie = page.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert ask(server, "/", Cookie=cookie.partition(";")[0]).status == 200


def test_the_cookie_opens_the_page_and_nothing_else(run: Path) -> None:
    """A browser sends it to every port of this machine: who listens at another one learns nothing by it."""
    with served(run) as server:
        (name, value), *settings = (
            part.partition("=")[::2]
            for part in ask(server, f"/?token={server.token}").headers["set-cookie"].split("; ")
        )
        assert settings == [("HttpOnly", ""), ("SameSite", "Strict"), ("Path", "/")]
        assert value != server.token
        assert ask(server, f"/?token={value}").status == 403
        for path in ("/runs", "/run/0/head"):
            assert ask(server, path, Cookie=f"{name}={value}").status == 403
            assert ask(server, path, X_Token=value).status == 403
        assert ask(server, "/", Cookie=f"{name}={server.token}").status == 403


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_who_begins_requests_and_ends_none_keeps_nobody_waiting(run: Path) -> None:
    """No more than 32 are held: what they take is not missing to the calls of a run beside."""
    with contextlib.ExitStack() as ending, served(run) as server:
        before = descriptors()
        for _ in range(40):
            half = ending.enter_context(socket.create_connection(("127.0.0.1", server.server_port)))
            half.sendall(b"GET /runs HTTP/1.1\r\nHost: ")
        assert read(server, "/runs").status == 200
        assert descriptors() - before <= 40 + 32 + 1


@pytest.mark.parametrize(
    "path", ["/run/7/head", "/run/0/nothing", "/run/0/block/9/9", "/run/../head", "/etc/passwd"]
)
def test_what_is_not_there_is_not_found(run: Path, path: str) -> None:
    with served(run) as server:
        read(server, "/runs")
        assert read(server, path).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_get_is_answered(run: Path, method: str) -> None:
    with served(run) as server:
        assert ask(server, "/runs", method, X_Token=server.token).status == 501


def test_a_folder_lists_its_runs_and_none_that_a_symlink_leads_to(run: Path, tmp_path: Path) -> None:
    inside = make_run(tmp_path / "runs", train=2, val=2, candidates=["baseline"])
    (tmp_path / "runs" / "elsewhere").symlink_to(run)
    with served(tmp_path / "runs") as server:
        told = orjson.loads(read(server, "/runs").body)
        assert not told["isOne"]
        assert [one["name"] for one in told["runs"]] == [inside.name]


def test_a_run_that_grew_is_read_again(tmp_path: Path) -> None:
    run = make_run(tmp_path, train=2, val=2, candidates=["baseline"])
    with served(run, rest=0) as server:
        read(server, "/runs")
        first = read(server, "/run/0/head")
        journal = run / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:-2]))
        again = read(server, "/run/0/head", If_None_Match=first.headers["etag"])
        assert again.status == 200
        assert orjson.loads(again.body)["summary"]["units"]["owed"] > 0


def test_it_runs_until_ctrl_c_and_prints_its_address(run: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "view", run], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        assert "/?token=" in url
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_of_another_tools_results_nothing_stays_when_it_is_ended(tmp_path: Path) -> None:
    with subprocess.Popen(
        [PROGRAM, "view", JSON],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        assert [*tmp_path.iterdir()]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not [*tmp_path.iterdir()]


def test_without_a_run_it_shows_the_one_that_ended_last(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    make(tmp_path / "runs" / "first")
    with (make(tmp_path / "runs" / "last") / "journal.jsonl").open("ab") as journal:
        journal.write(seal({"ended_at": f"{ENDED[:3]}7{ENDED[4:]}", "status": "done"}))
    with subprocess.Popen(
        [PROGRAM, "view"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().startswith("note: runs/last, which ended last\n")


@pytest.mark.parametrize(("given", "said"), [("nowhere", "there is no folder"), ("", "there is no folder")])
def test_a_folder_that_is_none_is_refused(cli: Cli, given: str, said: str) -> None:
    done = cli("view", given)
    assert done.status == 2
    assert said in done.stderr
