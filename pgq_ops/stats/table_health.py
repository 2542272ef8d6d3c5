"""How vacuum stands with the job table: rows, thresholds, runs, sizes, age; leaf by leaf, and all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.job_table.table import Relation
from pgq_ops.stats import bounded, leaf_look, uncounted, vacuum_progress, vacuum_settings
from pgq_ops.stats.uncounted import File, Trust
from pgq_ops.stats.vacuum_settings import DEFAULT_SERVER, DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.vacuum_progress import VacuumProgress
    from pgq_ops.stats.vacuum_settings import ServerAutovacuum, VacuumSettings
    from pgq_ops.stats.vacuum_watch import VacuumOutcome

    Row = tuple[Any, ...]

# A claim that steps over 5,000 dead entries reads 851 buffers, over 20,000 it reads 4,240 (postgres-facts.md).
_BEARABLE_ROWS = 10_000
# Autovacuum begins at the threshold; while it works, rows go on dying.
_BEARABLE_SHARE = 2.0


@dataclass(frozen=True, slots=True)
class LeafHealth:
    """One table that has rows: the job table itself, or a leaf of it.

    `live_rows` and `dead_rows` are None where the statistics do not tell: they were lost (`lost`), are not kept, or
    this is a standby. `vacuum_threshold`: dead rows beyond which autovacuum comes, by this table's own settings.
    `autovacuum_enabled`: whether it comes for them at all. Times are epoch seconds, by the database's clock. Sizes are
    the catalog's, as of the last vacuum or analyze (`sized`: there was one), in bytes, TOAST included; `toast_bytes` of
    TOAST alone. `rows`: as the catalog has them, by which autovacuum reckons; below 0: not known. `xid_age`: of
    relfrozenxid, `mxid_age` of relminmxid. `vacuum_seconds`: what all its vacuums took (None before PostgreSQL 18).
    `index_entries`: of its B-trees, as of their last vacuum or analyze.

    Where looks one after another tell it (else None): `over_seconds`, for how long there have been more than
    `bearable_dead_rows` and no vacuum that removed them; `outcome`, of the last vacuum.
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
    schema: str = ""
    mxid_age: int = 0
    last_analyze: float | None = None
    lost: bool = False
    sized: bool = True
    settings: VacuumSettings = DEFAULTS
    toast_autovacuum_enabled: bool = True
    progress: VacuumProgress | None = None
    outcome: VacuumOutcome | None = None
    over_seconds: float | None = None
    rows: float = -1.0
    toast_bytes: int = 0
    vacuum_seconds: float | None = None
    index_entries: float = 0.0

    @property
    def relation(self) -> Relation:
        """The table, to name it in words and in SQL."""
        return Relation(self.oid, self.schema, self.name)

    @property
    def last_vacuumed(self) -> float | None:
        """When a vacuum or autovacuum last ended; None: never, or the statistics are lost."""
        return max((at for at in (self.last_vacuum, self.last_autovacuum) if at is not None), default=None)

    @property
    def bearable_dead_rows(self) -> float:
        """More dead rows than this are too many for a job table, by its own threshold and by what claims bear."""
        return max(_BEARABLE_ROWS, _BEARABLE_SHARE * self.vacuum_threshold)

    @property
    def due_ratio(self) -> float | None:
        """Dead rows as a share of the threshold: above 1 autovacuum is due."""
        return None if self.dead_rows is None else self.dead_rows / max(self.vacuum_threshold, 1.0)


@dataclass(frozen=True, slots=True)
class TableHealth:
    """All leaves, as they were at `at` (epoch seconds). Sums are None where one of the leaves does not tell.

    `statistics_lost`: a leaf's counters are younger than a crash, so that what they say is unknown.
    """

    leaves: tuple[LeafHealth, ...]
    statistics_lost: bool = False
    at: float = 0.0
    server: ServerAutovacuum = DEFAULT_SERVER

    @property
    def live_rows(self) -> int | None:
        """Live rows of all leaves."""
        return _sum(leaf.live_rows for leaf in self.leaves)

    @property
    def dead_rows(self) -> int | None:
        """Dead rows of all leaves."""
        return _sum(leaf.dead_rows for leaf in self.leaves)

    @property
    def vacuum_threshold(self) -> float:
        """The leaves' thresholds together; autovacuum comes to each by its own, see `due_ratio`."""
        return sum(leaf.vacuum_threshold for leaf in self.leaves)

    @property
    def due_ratio(self) -> float | None:
        """That of the leaf where it is highest; None where one does not tell."""
        known = [leaf.due_ratio for leaf in self.leaves if leaf.due_ratio is not None]
        return max(known, default=0.0) if len(known) == len(self.leaves) else None

    @property
    def table_bytes(self) -> int | None:
        """All leaves, TOAST included."""
        return _sum(leaf.table_bytes if leaf.sized else None for leaf in self.leaves)

    @property
    def index_bytes(self) -> int | None:
        """All indexes of all leaves."""
        return _sum(leaf.index_bytes if leaf.sized else None for leaf in self.leaves)

    @property
    def last_vacuumed(self) -> float | None:
        """When the last vacuum of any leaf ended."""
        return max((leaf.last_vacuumed for leaf in self.leaves if leaf.last_vacuumed is not None), default=None)

    @property
    def vacuums_running(self) -> int:
        """How many leaves are vacuumed now."""
        return sum(leaf.vacuum_running for leaf in self.leaves)

    @property
    def xid_age(self) -> int | None:
        """That of the oldest leaf; None without any."""
        return max((leaf.xid_age for leaf in self.leaves), default=None)


def read(connection: Connection, table: JobTable) -> TableHealth:
    """Look at the catalog and the statistics; waits for no lock on the table. Raises the driver's errors."""
    looks = [vacuum_settings.look(), vacuum_progress.look(), leaf_look.of(connection, table)]
    ([settings], vacuums, rows), at = bounded.read_all(connection, table, looks, {}, again=True)
    server = vacuum_settings.parsed(settings)
    running = vacuum_progress.by_table(connection, vacuums)
    # Where neither the catalog nor the counters know of any vacuum or analyze, the file may know of rows.
    never = [row[0] for row in rows if row[6] < 0 and not any(row[9:12])] if server.counts else []
    files = uncounted.read(connection, never)
    leaves = [_leaf(row, server, running, files.get(row[0], File())) for row in sorted(rows, key=lambda row: row[1:3])]
    return TableHealth(tuple(leaves), any(leaf.lost for leaf in leaves), at, server)


def _leaf(row: Row, server: ServerAutovacuum, running: Mapping[int, VacuumProgress], file: File) -> LeafHealth:
    oid, schema, name, toast, parameters, toast_parameters, rows, live, dead, *rest, seconds, entries = row
    *last, pages, index_pages, xid_age, mxid_age, inserted, updated, deleted, hot, vacuums, toast_pages = rest
    settings = server.settings.of_table(parameters)
    # A TOAST table without any parameter of its own is under those of its table.
    toast_settings = settings if toast_parameters is None else server.settings.of_table(toast_parameters)
    counted, new = server.counts, not any(last)
    last_vacuum, last_autovacuum, last_analyze = last if counted else (None, None, None)
    trust = uncounted.trust(rows, inserted, updated + deleted, file) if counted and new else Trust.TOLD
    lost, told = trust is Trust.LOST, counted and trust is Trust.TOLD
    progress = running.get(oid) or running.get(toast)
    return LeafHealth(
        oid,
        name,
        live_rows=live if told else None,
        dead_rows=dead if told else None,
        vacuum_threshold=settings.threshold_rows(rows),
        autovacuum_enabled=settings.enabled,
        last_vacuum=last_vacuum,
        last_autovacuum=last_autovacuum,
        vacuum_running=progress is not None,
        table_bytes=pages * server.page_bytes,
        index_bytes=index_pages * server.page_bytes,
        xid_age=xid_age,
        inserted=inserted,
        updated=updated,
        deleted=deleted,
        hot_updated=hot,
        vacuums=vacuums,
        schema=schema,
        mxid_age=mxid_age,
        last_analyze=last_analyze,
        lost=lost,
        sized=rows >= 0 or (told and live == inserted == 0),
        settings=settings,
        toast_autovacuum_enabled=toast_settings.enabled,
        progress=progress,
        rows=rows,
        toast_bytes=toast_pages * server.page_bytes,
        vacuum_seconds=seconds,
        index_entries=entries,
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)
