"""The environment of the demo's child processes."""

from __future__ import annotations

import os


def child_environment(dsn: str) -> dict[str, str]:
    """Ours, without settings that would lead libpq or pgq-ops to another database, and with the demo's DSN.

    A connection string may not stand on a command line: everybody on the machine can read those.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "PGQ_OPS_"))}
    return kept | {"PGQ_OPS_DSN": dsn}
