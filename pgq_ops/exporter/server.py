"""A small HTTP server on threads of its own: a client that stalls keeps nobody else from an answer."""

from __future__ import annotations

import socket
from contextlib import suppress
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIServer

from pgq_ops.errors import UsageError
from pgq_ops.exporter.app import make_app
from pgq_ops.exporter.handler import Handler

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry

# Prometheus, a second one, and probes of liveness and readiness come to a few at a time. The longest-lived
# connection gives way to the newest one beyond that.
_MOST_CLIENTS = 16
# Connections that wait to be accepted: one that finds no room tries again after a second, which a scrape should not.
_MOST_WAITING = 512
_POLL_SECONDS = 0.05

_Request = socket.socket | tuple[bytes, socket.socket]


class _HttpServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = _MOST_WAITING

    def __init__(self, family: socket.AddressFamily, address: tuple[str, int]) -> None:
        self.address_family = family
        self._clients: dict[_Request, None] = {}
        self._lock = Lock()
        super().__init__(address, Handler)

    def server_bind(self) -> None:
        """Bind; the base class would ask the name service for its own name, which can take a long time."""
        if self.address_family == socket.AF_INET6:
            # "::" without a host means every interface, IPv4 included.
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, self.server_address[0] != "::")
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "pgq-ops", self.server_address[1]
        self.setup_environ()

    def process_request(self, request: _Request, client_address: object) -> None:
        """Serve on a thread; with too many clients the oldest connection is ended."""
        with self._lock:
            self._clients[request] = None
            oldest = next(iter(self._clients)) if len(self._clients) > _MOST_CLIENTS else None
            if oldest is not None:
                del self._clients[oldest]
        if oldest is not None:
            _hang_up(oldest)
        super().process_request(request, client_address)

    def shutdown_request(self, request: _Request) -> None:
        """End a connection that was served."""
        with self._lock:
            self._clients.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: _Request, client_address: object) -> None:
        """Say nothing: a client went away."""

    def hang_up(self) -> None:
        """End every connection."""
        with self._lock:
            clients = list(self._clients)
            self._clients.clear()
        for client in clients:
            _hang_up(client)


class MetricsServer:
    """Serves a registry from its creation's `start()` to `stop()`."""

    def __init__(
        self, address: tuple[str, int], registry: CollectorRegistry, not_ready: Callable[[], str | None]
    ) -> None:
        """Bind the address (host "" is every interface; port 0 any free one); raises UsageError if that fails."""
        self._server = _bound(*address)
        self._server.set_app(make_app(registry, not_ready))
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), name="exporter", daemon=True)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_port)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port; connections are cut off."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()


def _bound(host: str, port: int) -> _HttpServer:
    """The server on the first of the host's addresses that can be had."""
    failure: OSError | None = None
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        failure, found = error, []
    # Without a host "::" takes IPv4 too; where there is no IPv6, "0.0.0.0" is left.
    for family, _, _, _, address in sorted(found, key=lambda one: not host and one[0] != socket.AF_INET6):
        try:
            return _HttpServer(family, (str(address[0]), int(address[1])))
        except OSError as error:
            failure = error
    reason = (failure.strerror if failure else None) or "there is no such address"
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    raise UsageError(f"cannot listen on {shown} (agent.listen): {reason[:1].lower()}{reason[1:]}") from failure


def _hang_up(client: _Request) -> None:
    if isinstance(client, socket.socket):
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
