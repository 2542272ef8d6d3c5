"""The server for scrapes: what it answers, and that nobody can keep it from answering."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, Gauge

from pgq_ops.errors import UsageError
from pgq_ops.exporter.server import _MOST_CLIENTS, MetricsServer

if TYPE_CHECKING:
    from collections.abc import Iterator

# Far longer than an answer takes, on any machine.
PATIENCE_SECONDS = 10


class _Readiness:
    def __init__(self) -> None:
        self.reason: str | None = "not yet"

    def __call__(self) -> str | None:
        return self.reason


@pytest.fixture
def readiness() -> _Readiness:
    return _Readiness()


@pytest.fixture
def server(readiness: _Readiness) -> Iterator[MetricsServer]:
    registry = CollectorRegistry()
    Gauge("probe_value", "A value.", registry=registry).set(7)
    made = MetricsServer(("127.0.0.1", 0), registry, readiness)
    made.start()
    yield made
    made.stop()


def _ask(port: int, path: str, method: str = "GET", host: str = "127.0.0.1") -> tuple[int, str]:
    with closing(http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_the_metrics_are_served(server: MetricsServer) -> None:
    status, text = _ask(server.port, "/metrics")
    assert status == 200
    assert "probe_value 7.0" in text
    assert "# TYPE probe_value gauge" in text


def test_alive_says_nothing_of_readiness(server: MetricsServer, readiness: _Readiness) -> None:
    assert _ask(server.port, "/livez") == (200, "ok\n")
    assert _ask(server.port, "/readyz") == (503, "not yet\n")
    readiness.reason = None
    assert _ask(server.port, "/readyz") == (200, "ok\n")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/metrics/", 404),
        ("POST", "/metrics", 405),
        ("DELETE", "/livez", 405),
        ("HEAD", "/metrics", 200),
    ],
)
def test_nothing_else_is_served(server: MetricsServer, method: str, path: str, status: int) -> None:
    assert _ask(server.port, path, method)[0] == status
    assert method != "HEAD" or _ask(server.port, path, method)[1] == ""


def test_clients_that_stall_keep_nobody_from_an_answer(server: MetricsServer) -> None:
    stalled = [socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS) for _ in range(3 * _MOST_CLIENTS)]
    try:
        for client in stalled:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
        began = time.monotonic()
        assert _ask(server.port, "/metrics")[0] == 200
        assert time.monotonic() - began < PATIENCE_SECONDS / 2
        # The oldest was let go of: its socket is at an end.
        assert stalled[0].recv(1) == b""
    finally:
        for client in stalled:
            client.close()


def test_stopping_is_quick_and_frees_the_port_while_a_client_stalls(readiness: _Readiness) -> None:
    server = MetricsServer(("127.0.0.1", 0), CollectorRegistry(), readiness)
    server.start()
    port = server.port
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        client.sendall(b"GET /metr")
        assert _ask(port, "/livez")[0] == 200
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 2
    again = MetricsServer(("127.0.0.1", port), CollectorRegistry(), readiness)
    again.stop()


def test_a_port_that_is_taken_is_one_clear_error(server: MetricsServer, readiness: _Readiness) -> None:
    with pytest.raises(UsageError, match=rf"cannot listen on 127\.0\.0\.1:{server.port} .*address already in use"):
        MetricsServer(("127.0.0.1", server.port), CollectorRegistry(), readiness)


@pytest.mark.parametrize("address", [("192.0.2.1", 0), ("no-such-host.invalid", 0)])
def test_an_address_that_is_not_ours_is_one_clear_error(address: tuple[str, int], readiness: _Readiness) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on {address[0]}"):
        MetricsServer(address, CollectorRegistry(), readiness)


def test_without_a_host_every_interface_is_listened_on(readiness: _Readiness) -> None:
    server = MetricsServer(("", 0), CollectorRegistry(), readiness)
    server.start()
    try:
        assert _ask(server.port, "/livez")[0] == 200
        if socket.has_ipv6 and _has_ipv6_loopback():
            assert _ask(server.port, "/livez", host="::1")[0] == 200
    finally:
        server.stop()


def test_an_ipv6_address_is_listened_on(readiness: _Readiness) -> None:
    if not _has_ipv6_loopback():
        pytest.skip("this machine has no IPv6")
    server = MetricsServer(("::1", 0), CollectorRegistry(), readiness)
    server.start()
    try:
        assert _ask(server.port, "/livez", host="::1")[0] == 200
        with pytest.raises(UsageError, match=rf"\[::1\]:{server.port}"):
            MetricsServer(("::1", server.port), CollectorRegistry(), readiness)
    finally:
        server.stop()


def _has_ipv6_loopback() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True
