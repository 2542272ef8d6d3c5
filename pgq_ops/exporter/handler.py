"""One client's request and its answer, within bounds: a client can neither fill memory nor stay as long as it likes."""

from __future__ import annotations

import time
from io import BytesIO
from typing import TYPE_CHECKING
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

# A scrape sends its request at once. Until its end, and then while nothing of the answer is taken.
MOST_SECONDS = 5.0
# Prometheus' request has about 300; what proxies add to it is bounded by their own limits, mostly 8 KiB.
MOST_BYTES = 16_384
_CHUNK_BYTES = 4_096
# Neither what a client sent, nor which versions of what serve it, is told.
_NAME = "pgq-ops"


class _Answer(ServerHandler):
    server_software = _NAME

    def log_exception(self, exc_info: object) -> None:
        """Say nothing: a client went away, or took nothing of its answer."""


class Handler(WSGIRequestHandler):
    """Reads one request, lets the application answer it, and is done. A body is never read."""

    timeout = MOST_SECONDS
    default_request_version = "HTTP/1.0"
    error_message_format = "%(code)d %(explain)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def handle(self) -> None:
        """Answer; raises TimeoutError where the request does not come within its time."""
        self.requestline = self.request_version = self.command = ""
        head = self._head()
        if not _is_whole(head):
            self.send_error(431 if len(head) > MOST_BYTES else 400)
            return
        self.rfile = BytesIO(head)
        self.raw_requestline = self.rfile.readline()
        if not self.parse_request():
            return
        answer = _Answer(BytesIO(), self.wfile, self.get_stderr(), self.get_environ())  # type: ignore[arg-type]  # as the base class does
        answer.request_handler = self  # type: ignore[attr-defined]  # which it tells of its end
        application: WSGIApplication | None = self.server.get_app()  # type: ignore[attr-defined]  # a WSGIServer
        if application is not None:
            answer.run(application)

    def _head(self) -> bytes:
        """The request up to its empty line, or what there is of one that is too long or was broken off."""
        head = b""
        deadline = time.monotonic() + MOST_SECONDS
        while len(head) <= MOST_BYTES and not _is_whole(head):
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            chunk = self.connection.recv(_CHUNK_BYTES)
            if not chunk:
                break
            head += chunk
        self.connection.settimeout(MOST_SECONDS)
        return head

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002  # as the base class has it
        """Answer with an error in the protocol's own words, whatever the base class would say of the request."""
        super().send_error(code)

    def version_string(self) -> str:
        """What the header Server says."""
        return _NAME

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the base class
        """Say nothing: requests come every few seconds."""

    def address_string(self) -> str:
        """The client's address, without asking the name service."""
        return str(self.client_address[0])


def _is_whole(head: bytes) -> bool:
    return b"\r\n\r\n" in head or b"\n\n" in head
