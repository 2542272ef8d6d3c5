"""The advisory lock that stands for leading one job table."""

from __future__ import annotations

from hashlib import blake2b

_TOOL = "pgq-ops"


def lock_key(table_oid: int, mode: str) -> int:
    """The lock's key as a signed 64-bit number: the same in every agent, different for each table and mode.

    Advisory locks belong to one database, so the key needs no database in it. `mode` keeps an agent that
    observes from standing in the way of one that manages.
    """
    digest = blake2b(f"{_TOOL}/{table_oid}/{mode}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
