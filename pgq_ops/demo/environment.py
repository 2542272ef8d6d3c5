"""What the demo's processes see of the environment: nothing that leads them to another database."""

from __future__ import annotations

import os

_OURS = "PGQ_OPS_"


def forget_libpq_settings() -> None:
    """Remove libpq's PG* variables from this process: some, such as PGSSLMODE, would add to our connection strings."""
    for name in [name for name in os.environ if name.startswith("PG") and not name.startswith(_OURS)]:
        del os.environ[name]


def child_environment(dsn: str) -> dict[str, str]:
    """The environment of a worker or the agent: ours without settings of pgq-ops, and with the demo's DSN.

    A connection string may not stand on a command line: everybody on the machine can read those.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return kept | {f"{_OURS}DSN": dsn}
