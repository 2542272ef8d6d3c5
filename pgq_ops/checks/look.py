"""What the checks judge: the rows of one collection, bundled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.blocking import Blocking
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.claim_statements import ClaimStatements
    from pgq_ops.stats.depth import Depths
    from pgq_ops.stats.horizon import Horizon
    from pgq_ops.stats.index_bloat import IndexBloat
    from pgq_ops.stats.index_states import IndexState
    from pgq_ops.stats.index_support import IndexSupport
    from pgq_ops.stats.leases import Leases
    from pgq_ops.stats.ready_locked import ReadyLocked
    from pgq_ops.stats.table_health import TableHealth
    from pgq_ops.stats.transactions import Transactions
    from pgq_ops.stats.vacuum_reach import Reach


@dataclass(frozen=True, slots=True)
class ReapNews:
    """What the last reaping pass met that a person should know. All 0 where there was no such pass."""

    mass_expired: int = 0
    """Leases found expired at once; more than 0 only while the mass-expiry guard slows the reaper down."""
    conflicts: int = 0
    """Rows that the user's own constraint or trigger refused to have changed."""
    swallowed: int = 0
    """Rows whose change a trigger discarded without an error (they are among `conflicts` too)."""
    example: str = ""
    """The database's reason for one of the conflicts."""


@dataclass(frozen=True, slots=True)
class UpkeepNews:
    """What the agent's upkeep says of vacuum on the job table."""

    outpaced: tuple[Reach, ...] = ()
    """Leaves where rows have died for some minutes faster than autovacuum can come, the worst first."""
    acts: bool = False
    """Whether the agent runs VACUUM itself."""
    refused: str = ""
    """Why it may not, with the GRANT."""


@dataclass(frozen=True, slots=True)
class DatabaseLook:
    """What was read once for all job tables of the database; None for what could not be read."""

    horizon: Horizon | None = None
    transactions: Transactions | None = None
    blocking: Blocking | None = None
    warn_after_seconds: float = 60.0
    """`transactions.warn_after` of the config."""


@dataclass(frozen=True, slots=True)
class Look:
    """One collection of one job table; None for what could not be read."""

    table: JobTable
    depths: Depths | None = None
    leases: Leases | None = None
    support: IndexSupport | None = None
    reaping: bool | None = None
    """Whether an agent takes expired leases back; None where that is not known."""
    reaping_seconds: float | None = None
    """For how long this agent has been the one to take them back; None where that is not known."""
    news: ReapNews = ReapNews()
    upkeep: UpkeepNews = UpkeepNews()
    claim: ClaimCost | None = None
    best_claim: ClaimCost | None = None
    """The cheapest claim seen since the agent began to look."""
    claim_statements: ClaimStatements | None = None
    ready_locked: ReadyLocked | None = None
    health: TableHealth | None = None
    index_bloat: tuple[IndexBloat, ...] | None = None
    """The claim's indexes that are far too large."""
    leftover_indexes: tuple[IndexState, ...] | None = None
    database: DatabaseLook = field(default_factory=DatabaseLook)
    section: str = ""
    """What must be written into a configuration file before a command can act on the table; empty if one knows it."""
