"""The three paths that are served: /metrics, /livez and /readyz. None of them touches the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import make_wsgi_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prometheus_client import CollectorRegistry

    StartResponse = Callable[..., Any]
    Environ = dict[str, Any]
    Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_TEXT = ("Content-Type", "text/plain; charset=utf-8")


def make_app(registry: CollectorRegistry, not_ready: Callable[[], str | None]) -> Application:
    """The WSGI application. `not_ready` gives the reason why the process is not ready, None once it is."""
    metrics: Application = make_wsgi_app(registry)

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
        body = serve(environ | {"REQUEST_METHOD": "GET"}, start_response)
        return [] if method == "HEAD" else body

    return app


def _ok(start_response: StartResponse) -> Iterable[bytes]:
    return _answer(start_response, "200 OK", "ok")


def _answer(start_response: StartResponse, status: str, text: str, *headers: tuple[str, str]) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    start_response(status, [_TEXT, ("Content-Length", str(len(body))), *headers])
    return [body]
