"""Runs served to a browser on 127.0.0.1: who has the token may read, and no path comes from a browser.

The page's first request brings the token in its address and gets a cookie that is good for the page alone,
which holds no data; browsers send it to other ports of this machine, too, so it is not the token.
All data needs the token in a header, which no other site can send. A Host that is not this server's is
refused, so that no name that somebody points to this machine leads here. Connections are serve's: few, each
with a time to end its request, so that who begins many and ends none takes no descriptor from a run's calls.
"""

import re
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs

from optimize_eval.base import strict_json
from optimize_eval.base.errors import OptimizeEvalError, State
from optimize_eval.findings.wording import RUNNING, how_far
from optimize_eval.reports.page import document
from optimize_eval.reports.page.live_page import REST, Live, LivePair, Snapshot
from optimize_eval.serve.connections import Acceptor, listen
from optimize_eval.serve.http import HttpReply, HttpRequest, Limits
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.listing import ListedRun, StoredSearch, list_runs


class Shelf:
    """One run, or all runs of a folder."""

    def __init__(self, folder: Path, rest: float = REST) -> None:
        self._folder = folder
        self._rest = rest
        self._lock = threading.Lock()
        self._numbers: dict[Path, str] = {}
        self._runs: dict[str, Path] = {}
        self._live: dict[str, Live] = {}
        self._lines: dict[Path, JournalLines] = {}

    def to_dict(self) -> dict[str, object]:
        """List the runs, the newest first."""
        runs = [run for run in list_runs(self._folder) if self._may_be_seen(run.folder)]
        is_one = [run.folder for run in runs] == [self._folder]
        return {"isOne": is_one, "runs": [self._entry(run) for run in runs]}

    def live(self, name: str) -> Live | None:
        """Give a run that was listed before, run/N, or two of them, diff/A/B."""
        _, *numbers = name.removesuffix(_FORCE).split("/")
        with self._lock:
            folders = [self._runs[number] for number in numbers if number in self._runs]
            if name not in self._live and len(folders) == len(numbers):
                self._live[name] = self._open(folders, force=name.endswith(_FORCE))
                pairs = [known for known in self._live if known.startswith("diff/")]
                for former in pairs[:-_MOST_PAIRS]:
                    del self._live[former]
            return self._live.get(name)

    def _open(self, folders: Sequence[Path], *, force: bool) -> Live:
        *before, last = folders
        return LivePair(before[0], last, self._rest, force=force) if before else Live(last, self._rest)

    def _may_be_seen(self, folder: Path) -> bool:
        """Return False for what a symlink leads out of the folder to."""
        return folder == self._folder or folder.resolve().parent == self._folder.resolve()

    def _entry(self, run: ListedRun) -> dict[str, object]:
        with self._lock:
            number = self._numbers.setdefault(run.folder, str(len(self._numbers)))
            self._runs.setdefault(number, run.folder)
        axes = run.axes
        return {
            "id": number,
            "name": run.folder.resolve().name,
            "state": str(run.state),
            "verdict": run.verdict or (run.search and _progress_of(run.search, run.state)),
            "reason": run.reason,
            "created_at": run.created_at,
            "note": run.note,
            "compared": axes and len(axes.task_models if axes.is_bench else axes.candidates),
            "is_bench": bool(axes and axes.is_bench),
            "examples": axes and sum(axes.splits.values()),
            "calls": run.units.get("total"),
            "done": self._count_done(run),
        }

    def _count_done(self, run: ListedRun) -> int | None:
        """Count the calls that are done; of a run that goes on, about so many."""
        total, owed = run.units.get("total"), run.units.get("owed")
        if total is None or owed is not None:
            return None if total is None or owed is None else total - owed
        if run.state is not State.RUNNING:
            return None
        return min(total, self._lines.setdefault(run.folder, JournalLines(run.folder / JOURNAL)).count())


class JournalLines:
    """How many lines a journal has; what was counted is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = self._lines = 0

    def count(self) -> int:
        """Count its records: a line more is its header."""
        with suppress(OSError), self._path.open("rb") as journal:
            journal.seek(self._size)
            while piece := journal.read(_PIECE):
                self._size += len(piece)
                self._lines += piece.count(b"\n")
        return max(0, self._lines - 1)


def _progress_of(search: StoredSearch, state: State) -> str:
    status = RUNNING if state is State.RUNNING else search.status
    return how_far(search.calls, search.budget, status, search.sentence)


HOST = "127.0.0.1"
HEADER = "X-Token"
LIMITS = Limits(connections=32, idle=10.0, request=10.0, reply=10.0)

_FORCE = "/force"
_MOST_PAIRS = 8
_PIECE = 1 << 20
_RUN = re.compile(
    r"/(run/\d{1,6}|diff/\d{1,6}/\d{1,6}(?:/force)?)/(head|columns|examples|block/(\d{1,4})/(\d{1,7}))"
)
_HTML, _JSON, _BYTES = "text/html; charset=utf-8", "application/json", "application/octet-stream"
_TEXT = "text/plain; charset=utf-8"
_UNKNOWN = "the token is missing or wrong: open the address that `optimize-eval view` printed"
_HEADERS = (
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


class PageServer:
    """The server of one shelf, which serves as long as it is entered."""

    def __init__(self, shelf: Shelf, port: int = 0) -> None:
        """Listen; a port that cannot be had is a UsageError."""
        self._listener = listen(HOST, port)
        self._acceptor: Acceptor | None = None
        self.server_port: int = self._listener.getsockname()[1]
        self.shelf = shelf
        self.token = secrets.token_urlsafe(24)
        self._pass = secrets.token_urlsafe(24)

    def __enter__(self) -> Self:
        self._acceptor = Acceptor(self._listener, self._answer, LIMITS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._acceptor:
            self._acceptor.close()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        return f"page-{self.server_port}"

    def _answer(self, request: HttpRequest) -> HttpReply:
        """Answer one request, in any case."""
        try:
            return self._reply(request)
        except OptimizeEvalError as error:
            return _text(HTTPStatus.CONFLICT, error.message)
        except OSError as error:
            return _text(HTTPStatus.CONFLICT, str(error.strerror))
        except Exception as error:  # noqa: BLE001  one request fails, the server stays
            return _text(HTTPStatus.INTERNAL_SERVER_ERROR, f"a bug in optimize-eval: {type(error).__name__}")

    def _reply(self, request: HttpRequest) -> HttpReply:
        if request.method != "GET":
            return _text(HTTPStatus.NOT_IMPLEMENTED, "nothing but GET is answered")
        if request.headers.get("host", "") not in {
            f"{name}:{self.server_port}" for name in (HOST, "localhost")
        }:
            return _text(HTTPStatus.FORBIDDEN, "this is not the host that is served")
        if request.path == "/":
            return self._page(request)
        if not _is_same(request.headers.get(HEADER.lower(), ""), self.token):
            return _text(HTTPStatus.FORBIDDEN, _UNKNOWN)
        return self._data(request)

    def _page(self, request: HttpRequest) -> HttpReply:
        token = parse_qs(request.query).get("token", [""])[0]
        cookies = (cookie.partition("=") for cookie in request.headers.get("cookie", "").split("; "))
        is_known = any(_is_same(value, self._pass) for name, _, value in cookies if name == self.cookie)
        if not (is_known or _is_same(token, self.token)):
            return _text(HTTPStatus.FORBIDDEN, _UNKNOWN)
        policy = f"{document.policy(connect=True)}; frame-ancestors 'none'"
        cookie = f"{self.cookie}={self._pass}; HttpOnly; SameSite=Strict; Path=/"
        more = (("Content-Security-Policy", policy), ("Set-Cookie", cookie))
        return _make_reply(HTTPStatus.OK, document.served("runs"), _HTML, *more)

    def _data(self, request: HttpRequest) -> HttpReply:
        if request.path == "/runs":
            return _make_reply(HTTPStatus.OK, strict_json.dumps(self.shelf.to_dict()), _JSON)
        match = _RUN.fullmatch(request.path)
        live = self.shelf.live(match[1]) if match else None
        if not match or not live:
            return _text(HTTPStatus.NOT_FOUND, "there is nothing here")
        snapshot = live.now()
        if match[3] is not None:
            return _block(snapshot.block(int(match[3]), int(match[4])))
        return _part(snapshot, _PARTS[match[2]], request.headers.get("if-none-match"))


def _part(snapshot: Snapshot, of: Callable[[Snapshot], bytes], known: str | None) -> HttpReply:
    tag = f'"{snapshot.tag}"'
    if known == tag:
        return _make_reply(HTTPStatus.NOT_MODIFIED, b"", _BYTES, ("ETag", tag))
    return _make_reply(HTTPStatus.OK, of(snapshot), _BYTES, ("ETag", tag))


_PARTS: dict[str, Callable[[Snapshot], bytes]] = {
    "head": lambda snapshot: snapshot.head,
    "columns": lambda snapshot: snapshot.columns,
    "examples": lambda snapshot: snapshot.examples,
}


def _block(block: bytes | None) -> HttpReply:
    if block is None:
        return _text(HTTPStatus.NOT_FOUND, "there is no such example")
    return _make_reply(HTTPStatus.OK, block, _JSON)


def _text(status: HTTPStatus, text: str) -> HttpReply:
    return _make_reply(status, f"{text}\n".encode(errors="replace"), _TEXT)


def _make_reply(status: HTTPStatus, body: bytes, kind: str, *more: tuple[str, str]) -> HttpReply:
    return HttpReply(status=status, body=body, content_type=kind, headers=(*_HEADERS, *more))


def _is_same(given: str, known: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), known.encode())
