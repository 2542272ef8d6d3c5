"""How vacuum stands with the job table: rows, thresholds, runs, sizes, age; leaf by leaf, and all together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeafHealth:
    """One table that has rows: the job table itself, or a leaf of it.

    `live_rows` and `dead_rows` are None where the statistics were lost. `vacuum_threshold`: dead rows beyond which
    autovacuum comes, by this table's own settings. Times are epoch seconds, by the database's clock. `xid_age`: of
    relfrozenxid. Sizes are the catalog's, in bytes.
    """

    oid: int
    name: str
    live_rows: int | None
    dead_rows: int | None
    vacuum_threshold: float
    autovacuum_enabled: bool
    last_vacuum: float | None
    last_autovacuum: float | None
    vacuum_running: bool
    table_bytes: int
    index_bytes: int
    xid_age: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    hot_updated: int = 0
    vacuums: int = 0


@dataclass(frozen=True, slots=True)
class TableHealth:
    """All leaves. `statistics_lost`: the counters are younger than a crash, so that what they say is unknown."""

    leaves: tuple[LeafHealth, ...]
    statistics_lost: bool = False
