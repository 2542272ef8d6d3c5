"""Clients of the server for scrapes that want to keep others from their answer, or to use up the agent's memory."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pgq_ops.exporter.handler import MOST_SECONDS
from tests.support.agent import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the issue promises beside such clients. Alone, an answer takes some 20 ms; where the machine is so busy that it
# takes longer, the promise is as much longer.
ANSWER_SECONDS = 1.0
ANSWERS_ALONE = 50
CLIENTS = 300
# The most that are served at a time.
SERVED = 16
# A server like the agent's; 40,000 series are 8 MB, more than the kernel takes for a client that reads nothing.
PROGRAM = """
import sys, time
from prometheus_client import CollectorRegistry, Gauge
from pgq_ops.exporter import handler
from pgq_ops.exporter.server import MetricsServer
handler.MOST_SECONDS = handler.Handler.timeout = float(sys.argv[2])
registry = CollectorRegistry()
many = Gauge("pgqops_jobs", "Jobs.", ["queue"], registry=registry)
for number in range(int(sys.argv[1])):
    many.labels(f"{number:08}" * 25).set(1)
server = MetricsServer(("127.0.0.1", 0), registry, lambda: None)
server.start()
print(server.port, flush=True)
time.sleep(600)
"""


class Exporter:
    """A process that serves so many series, and what it takes of the machine."""

    def __init__(self, series: int, most_seconds: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(series), str(most_seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def end(self) -> str:
        """End it; what it wrote to stderr."""
        self.process.kill()
        return self.process.communicate()[1]

    def connect(self, buffer_bytes: int = 0) -> socket.socket:
        client = socket.socket()
        if buffer_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        client.settimeout(10)
        client.connect(("127.0.0.1", self.port))
        return client

    def seconds_to_answer(self, path: str = "/metrics") -> float:
        begun = time.monotonic()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.read()
        return time.monotonic() - begun

    def promised(self, path: str = "/metrics") -> float:
        """Within how many seconds it is to answer; asked while it is let alone."""
        return max(ANSWER_SECONDS, ANSWERS_ALONE * min(self.seconds_to_answer(path) for _ in range(3)))

    @property
    def threads(self) -> int:
        return self._of_status("Threads")

    @property
    def megabytes(self) -> int:
        return self._of_status("VmHWM") // 1024

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def _of_status(self, name: str) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


@pytest.fixture(params=[(1_500, MOST_SECONDS)], ids=["ordinary"])
def exporter(request: pytest.FixtureRequest) -> Iterator[Exporter]:
    started = Exporter(*request.param)
    yield started
    assert started.end() == ""


@pytest.mark.parametrize(
    ("sent", "half_closed"),
    [
        (b"", False),
        (b"", True),
        (b"GET /metrics HTTP/1.1\r\nHost: ", False),
        (b"GET /metrics HTTP/1.1\r\n\r\n", False),
        (b"GET /metrics HTTP/1.1\r\n\r\n", True),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nx", False),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", False),
    ],
    ids=["silent", "silent half-closed", "half a request", "unread", "unread half-closed", "body to come", "TLS"],
)
def test_three_hundred_clients_at_once_keep_no_scrape_waiting_and_take_little(
    exporter: Exporter, sent: bytes, *, half_closed: bool
) -> None:
    alone, promised = (exporter.threads, exporter.descriptors), exporter.promised()
    with ExitStack() as open_clients:
        clients = []
        for _ in range(CLIENTS):
            client = open_clients.enter_context(closing(exporter.connect()))
            with suppress(OSError):  # the oldest were let go of already
                client.sendall(sent)
                if half_closed:
                    client.shutdown(socket.SHUT_WR)
            clients.append(client)
        assert exporter.seconds_to_answer() < promised
        assert exporter.seconds_to_answer("/livez") < promised
        # The oldest were told to go, long before their time was over; a few may still be at it.
        soon = MOST_SECONDS * 0.8
        wait_until(lambda: exporter.threads <= alone[0] + SERVED + 1, soon, "few threads")
        wait_until(lambda: exporter.descriptors <= alone[1] + SERVED + 1, soon, "few descriptors")
        assert exporter.seconds_to_answer() < promised
    wait_until(lambda: (exporter.threads, exporter.descriptors) == alone, what="all of them gone")


def test_requests_without_an_end_fill_no_memory(exporter: Exporter) -> None:
    promised, before = exporter.promised(), exporter.megabytes
    header = b"x" * 60_000 + b"\r\n"
    with ExitStack() as open_clients:
        clients = [open_clients.enter_context(closing(exporter.connect())) for _ in range(SERVED)]
        for client in clients:
            with suppress(OSError):  # it was cut off
                client.sendall(b"GET /livez HTTP/1.1\r\n")
                for number in range(99):
                    client.sendall(b"H%d: " % number + header)
        assert exporter.seconds_to_answer() < promised
    # 16 clients with 6 MB each: it took 380 MB where they were read to their end.
    assert exporter.megabytes - before < 20


@pytest.mark.parametrize("exporter", [(40_000, 1.0)], indirect=True, ids=["8 MB"])
def test_answers_that_nobody_reads_hold_up_nobody_and_are_given_up_in_silence(exporter: Exporter) -> None:
    alone, promised = exporter.threads, exporter.promised("/livez")
    with ExitStack() as open_clients:
        for _ in range(4):
            client = open_clients.enter_context(closing(exporter.connect(buffer_bytes=2_048)))
            client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        wait_until(lambda: exporter.threads == alone + 4, what="all four answers begun")
        assert exporter.seconds_to_answer("/livez") < promised
        wait_until(lambda: exporter.threads == alone, what="all four given up")
