"""A process that ends when we end, even if we are killed."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pgq_ops.demo.account import Account

# Nothing of ours reaches the server: no PG* variables, no locale, no secrets.
ENVIRONMENT = {"PATH": os.defpath}


class Lifeline:
    """Runs `command` under lifeline.sh, which holds the other end of a pipe of ours.

    Signals go through that pipe. A parent-death signal would not do: it is cleared when the user
    changes, and it fires when the thread that started the process ends. The process has a session
    of its own, so that Ctrl-C on the terminal reaches us alone.
    """

    def __init__(self, command: Sequence[str], *, folder: Path, log: Path, account: Account) -> None:
        script = resources.files("pgq_ops.demo").joinpath("lifeline.sh").read_text()
        with log.open("w") as output:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", script, "lifeline", *command],
                cwd=folder,
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                text=True,
                start_new_session=True,
                **account,
            )

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    def end(self, signal_name: str, within_seconds: float) -> bool:
        """Send a signal ("INT") and wait; True once the process is gone."""
        assert self._process.stdin is not None  # noqa: S101 (it is a pipe, see above)
        with suppress(BrokenPipeError):  # it has ended already
            print(signal_name, file=self._process.stdin, flush=True)
        try:
            self._process.wait(within_seconds)
        except subprocess.TimeoutExpired:
            return False
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        return True
