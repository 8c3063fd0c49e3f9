"""Clients that are slow, rude or gone, over raw sockets: each gets its reply or its end, others theirs."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from optimize_eval.serve.connections import Acceptor, listen
from optimize_eval.serve.http import HttpReply, HttpRequest, Limits

GET = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s"
PATIENT = Limits(body=1000)
HASTY = Limits(body=1000, idle=0.2, half_open=0.2, request=0.2, reply=0.2, linger=0.2)
WARY = Limits(half_open=0.2, idle=600, request=600, linger=0.2)  # of clients that begin and do not go on
BEGINNINGS = [b"G", b"POST / HTTP/1.1\r\nA: ", b"POST / HTTP/1.1\r\nContent-Length: 900\r\n\r\n"]

Open = Callable[[], socket.socket]


def echo(request: HttpRequest) -> HttpReply:
    return HttpReply(status=200, body=request.path.encode() + b" " + request.body)


@contextlib.contextmanager
def opened(limits: Limits, answer: Callable[[HttpRequest], HttpReply] = echo) -> Iterator[Open]:
    listener = listen("127.0.0.1", 0)
    address = listener.getsockname()
    connections = Acceptor(listener, answer, limits)
    with contextlib.ExitStack() as clients:
        try:
            yield lambda: clients.enter_context(socket.create_connection(address, timeout=30))
        finally:
            connections.close()


def everything(client: socket.socket) -> bytes:
    """Read until the server ends the connection."""
    said = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while data := client.recv(65536):
            said += data
    return bytes(said)


def one_reply(client: socket.socket) -> bytes:
    said = b""
    while b"\r\n\r\n" not in said:
        letter = client.recv(1)
        assert letter, said
        said += letter
    (length,) = (int(line[16:]) for line in said.split(b"\r\n") if line.startswith(b"Content-Length: "))
    while length:
        data = client.recv(length)
        assert data
        said, length = said + data, length - len(data)
    return said


def test_requests_in_one_piece_are_answered_in_their_order() -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.sendall(b"\r\n\r\n".join((GET % 1, POST % (3, b"two"), GET % 3)))
        assert [one_reply(client)[-5:].split()[-1] for _ in range(3)] == [b"/1", b"two", b"/3"]


def test_a_request_in_many_pieces_is_one_request() -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for letter in POST % (5, b"drops"):
            client.send(bytes([letter]))
        assert one_reply(client).endswith(b"/ drops")


def test_a_client_that_has_closed_its_half_is_answered() -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.sendall(POST % (4, b"half"))
        client.shutdown(socket.SHUT_WR)
        assert everything(client).endswith(b"/ half")


def test_a_client_that_waits_for_leave_to_send_gets_it() -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(25, socket.MSG_WAITALL) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"body")
        assert one_reply(client).endswith(b"/ body")


@pytest.mark.parametrize(
    "request_bytes",
    [b"GET /1 HTTP/1.0\r\n\r\n", b"GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n", b"GET /1 HTTP/1.0\n\n"],
)
def test_a_connection_ends_after_its_last_request(request_bytes: bytes) -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.sendall(request_bytes)
        said = everything(client)
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nConnection: close\r\n" in said


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nSpace : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: \0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001, 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n", 413),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"\x00" * 100_000, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 40_000 + b"\r\n\r\n", 431),  # in one piece, with its end
        (b"GET / HTTP/1.1\r\nX:" + b" " * 30_000 + b"\x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"a " * 15_000 + b"\x01\r\n\r\n", 400),
    ],
)
def test_garbage_gets_its_status_and_the_end(sent: bytes, status: int) -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        said = everything(client)
        head, _, body = said.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nConnection: close" in head
        assert body.startswith(b'{"error":"')
        assert body.count(b"HTTP/1.1 ") <= 1  # the text of one error; no second reply


def test_a_request_cut_off_in_its_middle_is_told_so() -> None:
    with opened(PATIENT) as connect:
        client = connect()
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc")
        client.shutdown(socket.SHUT_WR)
        assert b"the request broke off" in everything(client)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_slow_request_has_one_deadline_for_all_of_it(beginning: bytes) -> None:
    with opened(HASTY) as connect:
        client = connect()
        client.sendall(beginning)
        client.settimeout(HASTY.request / 10)
        said = b""
        while not said:
            with contextlib.suppress(TimeoutError):
                said = client.recv(1000)
                break
            client.sendall(b"a")
        assert said.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_request_that_stands_still_is_dropped_long_before_that(beginning: bytes) -> None:
    with opened(WARY) as connect:
        client = connect()
        client.sendall(beginning)
        assert everything(client).startswith(b"HTTP/1.1 408 ")


def test_who_connects_and_asks_nothing_is_dropped_but_who_has_asked_may_rest() -> None:
    with opened(WARY) as connect:
        resting = connect()
        resting.sendall(GET % 1)
        one_reply(resting)
        silent = connect()
        assert everything(silent) == b""
        assert everything(connect()) == b""
        resting.sendall(GET % 2)
        assert one_reply(resting).endswith(b"/2 ")


def test_half_open_clients_give_way_to_who_comes() -> None:
    with opened(Limits(connections=3, patience=0.1, half_open=600, request=600)) as connect:
        half_open = [connect() for _ in BEGINNINGS]
        for client, beginning in zip(half_open, BEGINNINGS, strict=True):
            client.sendall(beginning)
        good = connect()
        good.sendall(b"GET /1 HTTP/1.0\r\n\r\n")
        assert everything(good).endswith(b"/1 ")
        gone, *_ = select.select(half_open, [], [], 30)[0]
        said = everything(gone)
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in said


def test_an_idle_client_is_ended_without_a_word() -> None:
    with opened(HASTY) as connect:
        assert everything(connect()) == b""
    with opened(Limits(idle=0.2, linger=0.2)) as connect:
        client = connect()
        client.sendall(GET % 1)
        assert everything(client).count(b"HTTP/1.1") == 1


def test_a_client_that_does_not_read_is_ended() -> None:
    large = HttpReply(status=200, body=b"x" * 50_000_000)
    with opened(Limits(connections=1, reply=0.2, linger=0.2), lambda _: large) as connect:
        deaf, other = connect(), connect()
        deaf.sendall(GET % 1)
        other.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        assert everything(other).startswith(b"HTTP/1.1 200 OK"), "there is room again"


def test_where_all_places_are_taken_the_idle_one_gives_way() -> None:
    begun, may_end = threading.Semaphore(0), threading.Event()

    def answer(request: HttpRequest) -> HttpReply:
        if request.path == "/3":
            begun.release()
            assert may_end.wait(30)
        return echo(request)

    with opened(Limits(connections=3, patience=0.1), answer) as connect:
        idle, *busy = [connect() for _ in range(3)]
        for client in busy:
            client.sendall(GET % 3)
            assert begun.acquire(timeout=30)
        idle.sendall(GET % 1)
        one_reply(idle)
        late = connect()
        late.sendall(GET % 2)
        assert one_reply(late).endswith(b"/2 ")
        assert idle.recv(1) == b""
        may_end.set()
        for client in busy:
            assert one_reply(client).endswith(b"/3 ")


def test_where_all_places_are_taken_those_in_the_middle_of_a_request_come_after_the_idle_one() -> None:
    with opened(Limits(connections=3, patience=0.1)) as connect:
        idle, *busy = [connect() for _ in range(3)]
        for client in busy:
            client.sendall((GET % 3)[:8])
        idle.sendall(GET % 1)
        one_reply(idle)
        late = connect()
        late.sendall(GET % 2)
        assert one_reply(late).endswith(b"/2 ")
        assert idle.recv(1) == b""
        for client in busy:
            client.sendall((GET % 3)[8:])
            assert one_reply(client).endswith(b"/3 ")


def test_nobody_is_sent_away_while_nobody_waits_for_a_place() -> None:
    with opened(Limits(connections=2, patience=0.05)) as connect:
        clients = [connect() for _ in range(2)]
        for client in clients:
            client.sendall((GET % 3)[:8])
        assert not select.select(clients, [], [], 0.3)[0]
        for client in clients:
            client.sendall((GET % 3)[8:])
            assert one_reply(client).endswith(b"/3 ")


def test_who_comes_when_all_are_busy_waits_and_is_answered() -> None:
    with opened(Limits(connections=2)) as connect:
        clients = [connect() for _ in range(40)]
        for number, client in enumerate(clients):
            client.sendall(b"GET /%d HTTP/1.0\r\n\r\n" % number)
        said = [everything(client) for client in clients]
        assert [text.rpartition(b"/")[2] for text in said] == [b"%d " % number for number in range(40)]
