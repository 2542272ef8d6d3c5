"""What the server for scrapes says to requests that nobody in his right mind sends."""

from __future__ import annotations

import io
import logging
import socket
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.registry import Collector

from pgq_ops import logs
from pgq_ops.exporter import handler
from pgq_ops.exporter.server import MetricsServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

PATIENCE_SECONDS = 10
OPENMETRICS = "application/openmetrics-text"
# What stands in a request here, and must come back in no answer.
MARK = "zq7"


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    registry = CollectorRegistry()
    Gauge("probe_value", "A value.", registry=registry).set(7)
    made = MetricsServer(("127.0.0.1", 0), registry, lambda: None)
    made.start()
    yield made
    made.stop()


def _ask(port: int, request: bytes) -> tuple[str, bytes]:
    """The status line's code and all that came back; "cut off" where the connection was reset instead."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        answer = b""
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65_536):
                answer += chunk
        except TimeoutError:
            raise
        except OSError:
            return "cut off", answer
    return answer.partition(b"\r\n")[0].decode().split(" ", 2)[1] if answer else "", answer


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", "404"),
        (b"GET /%2e%2e/metrics HTTP/1.1\r\n\r\n", "404"),
        (b"GET //livez/ HTTP/1.1\r\n\r\n", "404"),
        (b"GET /<script>zq7%0d%0aX:1 HTTP/1.1\r\n\r\n", "404"),
        (b"GET http://zq7/metrics HTTP/1.1\r\nHost: zq7\r\n\r\n", "404"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nzq7", "405"),
        (b"POST /metrics HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", "405"),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", "404"),
        (b"TRACE /metrics HTTP/1.1\r\nCookie: zq7\r\n\r\n", "405"),
        (b"CONNECT zq7:443 HTTP/1.1\r\n\r\n", "404"),
        (b"ZQ7zq7 /livez HTTP/1.1\r\n\r\n", "405"),
        (b"zq7\r\n\r\n", "400"),
        (b"GET /zq7 zq7 HTTP/1.1\r\n\r\n", "400"),
        (b"GET /livez HTTP/zq7\r\n\r\n", "400"),
        (b"GET /livez HTTP/9.9\r\n\r\n", "505"),
        (b"\x16\x03\x01\x00\xa5zq7\x01\xfc\x03\x03\r\n\r\n", "400"),
        (b"\x00\xff\xfe\x00\n\n", "400"),
        (b"GET /" + b"zq7" * 10_000 + b" HTTP/1.1\r\n\r\n", "431"),
        (b"GET /livez HTTP/1.1\r\nA: " + b"zq7" * 10_000 + b"\r\n\r\n", "431"),
        (b"GET /livez HTTP/1.1\r\n" + b"".join(b"H%d: zq7\r\n" % number for number in range(101)) + b"\r\n", "431"),
        (b"GET /livez HTTP/1.1\r\nHost: zq7\r\nX-Forwarded-Host: zq7\r\nContent-Length: zq7\r\n\r\n", "200"),
        (b"GET /livez HTTP/1.1\r\nHost: a\r\n zq7\r\nTransfer-Encoding: chunked\r\n\r\n", "200"),
        (b"GET /livez HTTP/1.1\n\n", "200"),
        (b"GET /livez\r\n\r\n", "200"),
        (b"GET /metrics?name[]=zq7&name[]=%0d%0aX:1 HTTP/1.1\r\n\r\n", "200"),
        (b"GET /livez HTTP/1.1\r\nHost: half", "400"),
        (b"\r\n\r\n", ""),
        (b"", "400"),
    ],
)
def test_an_odd_request_gets_a_sane_code_and_nothing_of_it_back(
    server: MetricsServer, capfd: pytest.CaptureFixture[str], request_: bytes, code: str
) -> None:
    found, answer = _ask(server.port, request_)
    # Of a request that is too long, the rest is not read: the kernel may then tell the client that first.
    assert found in ((code, "cut off") if code == "431" else (code,))
    head = answer.partition(b"\r\n\r\n")[0]
    assert MARK not in answer.decode("latin-1").lower()
    assert b"X:1" not in answer
    assert b"Python" not in head
    assert b"text/html" not in head
    assert b"Traceback" not in answer
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "text/plain; version=0.0.4"),
        ("*/*", "text/plain; version=0.0.4"),
        (OPENMETRICS, f"{OPENMETRICS}; version=1.0.0"),
        (f"{OPENMETRICS};version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;q=0.2", f"{OPENMETRICS}; version=1.0.0"),
        (f"{OPENMETRICS}; version=zq7", "text/plain; version=0.0.4"),
        (f"{OPENMETRICS}; version=99999999999999999999.0.0", "text/plain; version=0.0.4"),
        (f"{OPENMETRICS}; version=1.0.0\r\n X-zq7: 1", "text/plain; version=0.0.4"),
        ("text/plain; version=1.zq7; escaping=zq7", "text/plain; version=0.0.4"),
        (";;;,,,=;version", "text/plain; version=0.0.4"),
    ],
)
def test_whatever_format_is_asked_for_the_metrics_come_in_one_of_the_two(
    server: MetricsServer, capfd: pytest.CaptureFixture[str], accept: str, kind: str
) -> None:
    code, answer = _ask(server.port, b"GET /metrics HTTP/1.1\r\nAccept: " + accept.encode() + b"\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert code == "200"
    assert f"Content-Type: {kind}; charset=utf-8" in head.decode()
    assert b"probe_value 7.0\n" in body
    assert MARK not in head.decode()
    assert "".join(capfd.readouterr()) == ""


def test_a_request_that_comes_byte_by_byte_is_ended_after_its_time_however_lively_it_is(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "MOST_SECONDS", 0.5)
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS) as client:
        client.settimeout(0.05)
        for sent in range(200):  # noqa: B007  # how far it came
            try:
                client.sendall(b"G")
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    assert 5 <= sent < 100


def test_what_fails_inside_is_logged_masked_and_not_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Collector):
        def collect(self) -> Iterator[Metric]:
            raise RuntimeError("hush-hush")

    written = io.StringIO()
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(logs, "_secrets", {"hush-hush"})
    logs.configure(stream=written)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Broken())
    server = MetricsServer(("127.0.0.1", 0), registry, lambda: None)
    server.start()
    try:
        code, answer = _ask(server.port, b"GET /metrics HTTP/1.1\r\n\r\n")
    finally:
        server.stop()
    assert code == "500"
    assert b"hush" not in answer
    assert b"Traceback" not in answer
    assert "ERROR exporter.failed error=***" in written.getvalue()
    assert "".join(capfd.readouterr()) == ""
