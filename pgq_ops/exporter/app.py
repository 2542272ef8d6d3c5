"""The three paths that are served: /metrics, /livez and /readyz. None of them touches the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops import logs
from pgq_ops.exporter.rendering import Rendering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client import CollectorRegistry

    StartResponse = Callable[..., Any]
    Environ = dict[str, Any]
    Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_TEXT = ("Content-Type", "text/plain; charset=utf-8")

log = logs.get("exporter")


def make_app(registry: CollectorRegistry, not_ready: Callable[[], str | None]) -> Application:
    """The WSGI application. `not_ready` gives the reason why the process is not ready, None once it is."""
    rendering = Rendering(registry)

    def metrics(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer = rendering.of(environ.get("HTTP_ACCEPT", ""), environ.get("HTTP_ACCEPT_ENCODING", ""))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is not for the client's eyes
            # Our log: the error is a field of it, and no traceback is wanted.
            log.error("exporter.failed", error=error)  # noqa: TRY400
            return _answer(start_response, "500 Internal Server Error", "failed; the log says why")
        start_response(answer.status, answer.headers)
        return [answer.body]

    def readyz(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
        reason = not_ready()
        return _answer(start_response, "503 Service Unavailable", reason) if reason else _ok(start_response)

    def livez(_: Environ, start_response: StartResponse) -> Iterable[bytes]:
        return _ok(start_response)

    paths = {"/metrics": metrics, "/livez": livez, "/readyz": readyz}

    def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        serve = paths.get(environ.get("PATH_INFO", ""))
        if serve is None:
            return _answer(start_response, "404 Not Found", f"served are {', '.join(paths)}")
        method = environ.get("REQUEST_METHOD")
        if method not in ("GET", "HEAD"):
            return _answer(start_response, "405 Method Not Allowed", "only GET and HEAD", ("Allow", "GET, HEAD"))
        body = serve(environ, start_response)
        return [] if method == "HEAD" else body

    return app


def _ok(start_response: StartResponse) -> Iterable[bytes]:
    return _answer(start_response, "200 OK", "ok")


def _answer(start_response: StartResponse, status: str, text: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    start_response(status, [_TEXT, ("Content-Length", str(len(body))), *headers])
    return [body]
