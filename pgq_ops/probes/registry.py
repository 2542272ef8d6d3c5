"""Every probe, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.probes.claim import Claim
from pgq_ops.probes.claim_statements import ClaimStatements
from pgq_ops.probes.finished import Finished
from pgq_ops.probes.horizon import Horizon
from pgq_ops.probes.index_bloat import IndexBloat
from pgq_ops.probes.indexes import Indexes
from pgq_ops.probes.jobs import Jobs
from pgq_ops.probes.leases import Leases
from pgq_ops.probes.leftover_indexes import LeftoverIndexes
from pgq_ops.probes.ready_locked import ReadyLocked
from pgq_ops.probes.slo import Slo
from pgq_ops.probes.table import Table
from pgq_ops.probes.transactions import Transactions

if TYPE_CHECKING:
    from pgq_ops.probes.probe import DatabaseProbe, Probe

PROBES: tuple[Probe, ...] = (
    Indexes(),
    Jobs(),
    Leases(),
    Finished(),
    Slo(),
    Table(),
    Claim(),
    ReadyLocked(),
    ClaimStatements(),
    IndexBloat(),
    LeftoverIndexes(),
)
DATABASE_PROBES: tuple[DatabaseProbe, ...] = (Horizon(), Transactions())
"""Those that look once for all job tables of the database, before the others."""
