"""The registry as /metrics answers it: rendered once for all who ask at the same time, however many they are."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import make_wsgi_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from prometheus_client import CollectorRegistry

_OPENMETRICS = "application/openmetrics-text"


class Rendered(NamedTuple):
    """An answer: status line, headers, body."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


class Rendering:
    """Renders a registry in the format that a request asks for. Thread-safe.

    Whoever comes while another's answer is being made gets the next one, which all share that came meanwhile: each
    answer was begun after its request had come. After each comes a pause as long as it took, so that in a flood of
    requests half of the time is left for accepting, and for the agent's work. There are two formats, compressed or
    not; a query (`name[]=`) is not heeded, or each would be rendered by itself.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._app: Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]] = make_wsgi_app(registry)
        self._lock = Lock()
        self._made: dict[tuple[str, str], tuple[float, Rendered]] = {}
        self._pause_until = 0.0

    def of(self, accept: str, accept_encoding: str) -> Rendered:
        """The answer to a request with these headers."""
        asked = _format(accept), "gzip" if "gzip" in accept_encoding.lower() else ""
        came = time.monotonic()
        with self._lock:
            begun, rendered = self._made.get(asked, (0.0, None))
            if rendered is None or begun < came:
                time.sleep(max(0.0, self._pause_until - came))
                begun = time.monotonic()
                rendered = self._render(*asked)
                self._made[asked] = begun, rendered
                ended = time.monotonic()
                self._pause_until = ended + (ended - begun)
        return rendered

    def _render(self, accept: str, accept_encoding: str) -> Rendered:
        head: list[Any] = []
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": "/metrics",
            "HTTP_ACCEPT": accept,
            "HTTP_ACCEPT_ENCODING": accept_encoding,
        }
        body = b"".join(self._app(environ, lambda *given: head.extend(given)))
        return Rendered(head[0], head[1], body)


def _format(accept: str) -> str:
    """The one of the two formats that is asked for, as `prometheus_client` reads it.

    It fails on versions that are no numbers, and repeats others in its answer.
    """
    for offer in accept.split(","):
        kind, *parameters = (part.strip() for part in offer.split(";"))
        versions = [value for name, _, value in (part.partition("=") for part in parameters) if name == "version"]
        if kind == _OPENMETRICS and versions in ([], ["1.0.0"]):
            return f"{_OPENMETRICS}; version=1.0.0"
    return ""
