"""A leaf of which there is nothing to say, for tests to change what they are about."""

from __future__ import annotations

from pgq_ops.stats.table_health import LeafHealth

QUIET = LeafHealth(
    oid=1,
    name="jobs",
    live_rows=500,
    dead_rows=0,
    vacuum_threshold=50,
    autovacuum_enabled=True,
    last_vacuum=None,
    last_autovacuum=None,
    vacuum_running=False,
    table_bytes=0,
    index_bytes=0,
    xid_age=10,
    schema="public",
)
