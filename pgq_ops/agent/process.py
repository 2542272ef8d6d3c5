"""The agent's process: the exporter first, then the work; signals, reloads, and an end within ten seconds."""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, NoReturn

from pgq_ops import logs, metrics
from pgq_ops.agent.clock import ClockWatch
from pgq_ops.agent.config_file import ConfigFile
from pgq_ops.agent.config_notes import tell_notes
from pgq_ops.agent.registry import TASKS
from pgq_ops.agent.work import Work
from pgq_ops.errors import PgqOpsError, UsageError
from pgq_ops.exporter.server import MetricsServer
from pgq_ops.exporter.store import Store
from pgq_ops.log_writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from pgq_ops.agent.registry import TaskKind
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.errors import ConfigError

# The promise is ten seconds from the signal to the end; the rest is for the interpreter.
STOP_SECONDS = 8.0
# A reload that must leave the old database: shorter, as a signal to end may come meanwhile.
CHANGE_SECONDS = 5.0
# How often the file is looked at, and the clock.
LOOK_SECONDS = 1.0

# What shells report for a process that a signal ended, plus its number.
_SIGNALLED = 128

_CONFIG_ACCEPTED = metrics.gauge(
    "config_accepted", "Whether the configuration as it is now was taken over; 0: it is broken, the one before is used."
)

# Log lines that nobody reads by then are lost.
DRAIN_SECONDS = 1.0

log = logs.get("agent")


class AgentProcess:
    """Runs until a signal ends it. `load` reads the configuration, each time anew.

    Making one raises ConfigError, and UsageError where no job table is configured.
    """

    def __init__(self, load: Callable[[], LoadedConfig], kinds: Iterable[TaskKind] = TASKS) -> None:
        self._load = load
        self._kinds = tuple(kinds)
        self._loaded = self._load_some()
        self._store = Store()
        self._stop = threading.Event()
        self._reload_asked = threading.Event()
        self._failure: ConfigError | None = None
        self._file = ConfigFile(self._loaded.path)
        self._work = Work(self._loaded, self._kinds, self._store, self._fail)
        self._writer: LogWriter | None = None

    def run(self) -> None:
        """Serve and work until a signal comes.

        Raises UsageError where the port is taken, ConfigError if nothing of the configuration fits the database.
        """
        config = self._loaded.config
        self._writer = _stderr_writer()
        logs.configure(config.agent.log_format, writer=self._writer)
        metrics.REGISTRY.register(self._store)
        server = MetricsServer(config.agent.address, metrics.REGISTRY, self._not_ready)
        try:
            server.start()
            self._heed_signals()
            _CONFIG_ACCEPTED.set(1)
            self._tell_start(self._loaded)
            self._work.start()
            self._until_stopped()
            clean = self._work.stop(STOP_SECONDS)
            log.info("agent.stopped", clean=clean)
        finally:
            server.stop()
            if self._writer is not None:
                self._writer.drain(DRAIN_SECONDS)
        if self._failure is not None:
            raise self._failure
        if not clean:
            _leave(0)

    def _until_stopped(self) -> None:
        clock = ClockWatch()
        while not self._stop.wait(LOOK_SECONDS):
            if self._file.changed() or self._reload_asked.is_set():
                self._reload_asked.clear()
                self._reload()
            if clock.set_back():
                self._work.clock_was_set_back()

    def _reload(self) -> None:
        """Take over the configuration as it is now; a broken one is told of, and the old one stays."""
        before = self._loaded.config
        try:
            loaded = self._load_some()
        except PgqOpsError as error:
            _CONFIG_ACCEPTED.set(0)
            # Our log: the error is a field of it, and no traceback is wanted.
            log.error("config.refused", error=error)  # noqa: TRY400
            return
        _CONFIG_ACCEPTED.set(1)
        self._loaded, config = loaded, loaded.config
        logs.configure(config.agent.log_format, writer=self._writer)
        if config.agent.listen != before.agent.listen:
            log.warning("config.needs_restart", key="agent.listen", still=before.agent.listen)
        if (config.database, config.agent.mode) == (before.database, before.agent.mode):
            self._work.configure(loaded)
        else:
            self._work.stop(CHANGE_SECONDS)
            self._work = Work(loaded, self._kinds, self._store)
            self._work.start()
        log.info("config.reloaded", mode=config.agent.mode, job_tables=",".join(config.job_tables))
        tell_notes(loaded, self._kinds)

    def _not_ready(self) -> str | None:
        """Ready once the database was looked at, be it without success: whether it is there is not ours to tell."""
        return None if self._work.attempted.is_set() else "the database has not been looked at yet"

    def _load_some(self) -> LoadedConfig:
        loaded = self._load()
        if not loaded.config.job_tables:
            raise UsageError(loaded.no_job_table)
        return loaded

    def _fail(self, error: ConfigError) -> None:
        """End: nothing of the configuration fits the database."""
        self._failure = error
        self._stop.set()

    def _heed_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        signal.signal(signal.SIGHUP, lambda _number, _frame: self._reload_asked.set())

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """The first signal ends in order, the second one at once."""
        if self._stop.is_set():
            _leave(_SIGNALLED + number)
        self._stop.set()

    def _tell_start(self, loaded: LoadedConfig) -> None:
        agent = loaded.config.agent
        log.info(
            "agent.started",
            version=version("pgq-ops"),
            mode=agent.mode,
            listen=agent.listen,
            job_tables=",".join(loaded.config.job_tables),
            pid=os.getpid(),
        )
        tell_notes(loaded, self._kinds)


def _stderr_writer() -> LogWriter | None:
    """The logs' way to stderr; None where that is closed, or no file."""
    try:
        return LogWriter(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def _leave(code: int) -> NoReturn:
    """End the process without waiting for threads that hang in the driver."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
