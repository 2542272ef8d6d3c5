"""A network that swallows packets, by the packet filter of this machine; for root."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = shutil.which("iptables", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
# A second address of this machine: who came by it can be cut off while the others go on.
OTHER_ADDRESS = "127.0.0.2"


@contextmanager
def cut(port: int) -> Iterator[None]:
    """Nothing gets from or to OTHER_ADDRESS at the server's `port`, and nobody is told; ended with the block."""
    rules = [["-d", OTHER_ADDRESS, "--dport", str(port)], ["-s", OTHER_ADDRESS, "--sport", str(port)]]
    try:
        for rule in rules:
            assert _change("-I", rule), "the packet filter refuses the rule"
        yield
    finally:
        for rule in rules:
            _change("-D", rule)


@cache
def _can_cut() -> bool:
    """Whether a rule can be made here: that takes root, and a kernel with the module."""
    if PROGRAM is None or os.geteuid() != 0:
        return False
    rule = ["-d", OTHER_ADDRESS, "--dport", str(free_port())]
    return _change("-I", rule) and _change("-D", rule)


def _change(how: str, rule: list[str]) -> bool:
    assert PROGRAM is not None
    command = [PROGRAM, "-w", "5", how, "INPUT", "-i", "lo", "-p", "tcp", *rule, "-j", "DROP"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


needs_cut = pytest.mark.skipif(not _can_cut(), reason="iptables is not installed, or may not be used here")
