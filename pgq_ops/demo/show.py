"""The whole demo: server, agent, run, summary."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg.conninfo import make_conninfo
from rich.console import Console

from pgq_ops.db.failures import driver_errors
from pgq_ops.demo.environment import forget_libpq_settings
from pgq_ops.demo.evidence import gather
from pgq_ops.demo.interruption import Interruption
from pgq_ops.demo.log_view import LogView
from pgq_ops.demo.report import lines
from pgq_ops.demo.run import Run
from pgq_ops.demo.screen import Screen
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.demo.sidecar import Sidecar
from pgq_ops.demo.summary import Summary
from pgq_ops.demo.table import DATABASE, make_database

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.demo.view import View

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
_POLL_SECONDS = 0.2
# Nothing of a throw-away server needs to survive a power cut.
_SERVER_SETTINGS: dict[str, str | int] = {"fsync": "off"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. `seconds` is the whole run, starting up included."""

    seconds: float
    workers: int
    agent: bool
    keep: bool


def show(options: Options, publish: Callable[[dict[str, Any]], None] | None = None) -> int:
    """Play the demo on this terminal; returns the exit code: 0 if all claims hold, else 1, or INTERRUPTED.

    With `publish`, that gets the summary as one document and stdout is left to it.
    Raises what cannot be helped: NoServerBinaries, EmbeddedServerError, WorkerFailed, AgentFailed.
    """
    began = time.monotonic()
    console = Console(stderr=publish is not None, highlight=False)
    forget_libpq_settings()
    with ExitStack() as stack:
        interruption = stack.enter_context(Interruption())
        server = stack.enter_context(EmbeddedServer(_SERVER_SETTINGS))
        stack.enter_context(driver_errors("run the demo", secrets=(server.password,)))
        connection = stack.enter_context(make_database(server))
        sidecar = None
        if options.agent:
            sidecar = Sidecar(server.dsn(DATABASE), server.folder.path)
            stack.callback(sidecar.end)
        with _view(console) as view:
            version = server.binaries.version
            view.say(time.monotonic() - began, f"PostgreSQL {version} runs, with {options.workers} workers")
            if sidecar:
                view.say(time.monotonic() - began, f"pgq-ops agent starts; its metrics: {sidecar.metrics_url}")
            run = Run(
                connection=connection,
                dsn=server.dsn(DATABASE),
                folder=server.folder.path,
                sidecar=sidecar,
                workers=options.workers,
                total_seconds=options.seconds,
                began=began,
                view=view,
                interruption=interruption,
            )
            run.play()
        summary = Summary(
            server_version=version,
            seconds=time.monotonic() - began,
            workers=options.workers,
            agent=options.agent,
            interrupted=interruption.requested,
            evidence=gather(connection),
        )
        for line in lines(summary):
            console.print(line, soft_wrap=True)
        if publish is not None:
            publish(summary.as_json())
        if summary.interrupted:
            return INTERRUPTED
        if sidecar and not summary.holds:
            _tell(console, f"\nThe agent's last words:\n{sidecar.log_end()}")
        if options.keep:
            _keep(console, server, sidecar, interruption)
        return 0 if summary.holds else 1


def _tell(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _view(console: Console) -> View:
    live = console.is_terminal and not console.is_dumb_terminal
    return Screen(console) if live else LogView(console.file)


def _keep(console: Console, server: EmbeddedServer, sidecar: Sidecar | None, interruption: Interruption) -> None:
    """Leave server and agent running until Ctrl-C."""
    _tell(console, "\nServer and agent run on until Ctrl-C. In another terminal:\n")
    _tell(console, f"  export PGQ_OPS_DSN='{_dsn_to_show(server)}'")
    if sidecar:
        _tell(console, f"  pgq-ops inspect --config {sidecar.config}")
        _tell(console, f"  curl {sidecar.metrics_url}")
    else:
        _tell(console, "  pgq-ops inspect")
    while not interruption.requested:
        time.sleep(_POLL_SECONDS)


def _dsn_to_show(server: EmbeddedServer) -> str:
    """Over the Unix socket, whose folder only this user can enter: no password is needed there, none is shown."""
    sockets = server.folder.sockets
    if (sockets / f".s.PGSQL.{server.port}").exists():
        return make_conninfo(host=str(sockets), port=server.port, user="postgres", dbname=DATABASE)
    return server.dsn(DATABASE)
