"""Ports for the demo's own servers."""

from __future__ import annotations

import secrets
import socket

# Below the range that Linux gives to outgoing connections (from 32768), so that a restart finds its port free.
_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on just now."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
