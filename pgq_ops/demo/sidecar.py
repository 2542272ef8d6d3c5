"""The agent beside the demo's workers: the real command, as its own process, with a file of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

from pgq_ops.demo import schedule
from pgq_ops.demo.environment import child_environment
from pgq_ops.demo.ports import free_port
from pgq_ops.errors import PgqOpsError
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pathlib import Path

_STOP_SECONDS = 10.0
_ASK_SECONDS = 0.5

_CONFIG = """\
# Written by `pgq-ops demo`. The connection string comes from PGQ_OPS_DSN.

[agent]
mode = "manage"
listen = "127.0.0.1:{port}"
collect_every = "1s"

[job_tables.demo]
table = "public.demo_queue_jobs"
preset = "lease"

[job_tables.demo.reaper]
every = "{every}"
max_attempts = {max_attempts}
backoff = {{ base = "{base}", factor = 2.0, max = "{longest}", jitter = 0.5 }}
settle = "1s"
"""


class AgentFailed(PgqOpsError):
    """The agent ended, or did not get ready; holds the end of its log."""

    exit_code = 4


class Sidecar:
    """`pgq-ops agent`, running until `end()` or until the demo is gone, however it goes."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self.port = free_port()
        self.config = folder / "pgq-ops.toml"
        self._log = folder / "agent.log"
        self.config.write_text(
            _CONFIG.format(
                port=self.port,
                every=format_duration(schedule.REAP_EVERY),
                max_attempts=schedule.MAX_ATTEMPTS,
                base=format_duration(schedule.BACKOFF_BASE),
                longest=format_duration(schedule.BACKOFF_MAX),
            )
        )
        tether = [sys.executable, "-P", "-m", "pgq_ops.demo.tether", str(os.getpid())]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*tether, *_agent_command(self.config)],
                env=child_environment(dsn),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def metrics_url(self) -> str:
        """Where it can be scraped."""
        return f"http://127.0.0.1:{self.port}/metrics"

    def is_ready(self) -> bool:
        """Whether it says so. Raises AgentFailed if it has ended."""
        self.check()
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=_ASK_SECONDS):
                return True
        except (URLError, OSError):
            return False

    def check(self) -> None:
        """Raise AgentFailed if it has ended."""
        if self._process.poll() is not None:
            raise AgentFailed(f"pgq-ops agent ended with {self._process.returncode}:\n{self.log_end()}")

    def log_end(self) -> str:
        """The last lines that it wrote."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-12:])

    def end(self) -> None:
        """Ask it to end, as an orchestrator would; kill it if it does not."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _agent_command(config: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "pgq_ops", "agent", "--config", str(config)]
