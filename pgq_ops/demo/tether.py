"""Ties a process to the one that started it: when that one is gone, however it went, it is killed.

`python -m pgq_ops.demo.tether PARENT COMMAND...` ties itself and becomes the command. The kernel
keeps the tie over the exec, and its SIGKILL also ends a process that is stopped, which would never
notice a closed pipe. Linux only; elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def tie_to(parent: int) -> None:
    """Have the kernel kill this process once `parent`, which must have started it, is gone."""
    if not sys.platform.startswith("linux"):
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:  # it went before the tie was made
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    tie_to(int(sys.argv[1]))
    # The command is the demo's own, made of whole words; no shell reads it.
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606
