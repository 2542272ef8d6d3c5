"""What finding the next job costs, and by which plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.metrics import Family
from pgq_ops.stats import claim_cost, claim_generic, ready_locked
from pgq_ops.stats.claim_best import better

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.memory import Memory
    from pgq_ops.stats.claim_cost import ClaimCost

_TABLE = ("database", "job_table")

BUFFERS = Family("claim_buffers", "Pages read to find the next job; absent where that takes too long.", _TABLE)
SECONDS = Family("claim_probe_seconds", "How long it took to find the next job, without planning.", _TABLE)

# It changes with the statistics and the indexes, not from one claim to the next, and takes a few plannings.
_GENERIC_EVERY_SECONDS = 600.0
# Up to here the look at the ready jobs is made together with the claim's; each on its own after one that failed.
_CHEAP_SECONDS, _ALONE_SECONDS = 0.01, 60.0


@dataclass(slots=True)
class _Kept:
    """The statement of a table, and the last look at a claim with a parameter."""

    table: JobTable
    look: composing.SQL
    look_at_ready: composing.SQL
    alone_until: float = 0.0
    if_generic: ClaimCost | None = None
    generic_until: float = 0.0


class Claim:
    """The probe."""

    name = "claim"
    families = (BUFFERS, SECONDS)
    every_seconds = 0.0

    def collect(self, connection: Connection, table: JobTable, memory: Memory) -> Iterable[Sample]:
        """Look once; leaves the cost, and the best one so far, in the memory. One that timed out is no failure."""
        if "pending" not in table.states:
            return []
        kept = _kept(table, memory)
        cost = _cost(connection, table, kept, memory)
        if not cost.timed_out:
            _ask_for_generic(connection, kept, memory)
        memory.claim = cost = replace(cost, if_generic=kept.if_generic)
        memory.best_claim = better(memory.best_claim, cost)
        if cost.buffers is None or cost.seconds is None:
            return []
        labels = (memory.database, table.name)
        return [BUFFERS.sample(cost.buffers, *labels), SECONDS.sample(cost.seconds, *labels)]


def _kept(table: JobTable, memory: Memory) -> _Kept:
    kept: _Kept | None = memory.kept.get(Claim.name)
    if kept is None or kept.table is not table:
        kept = memory.kept[Claim.name] = _Kept(table, claim_cost.look(table), ready_locked.look(table))
    return kept


def _cost(connection: Connection, table: JobTable, kept: _Kept, memory: Memory) -> ClaimCost:
    """The cost, in one message with the look at the ready jobs as long as that is as cheap and allowed."""
    memory.ready_rows = None
    last = memory.claim
    cheap = last is not None and not last.timed_out and (last.seconds or 0.0) < _CHEAP_SECONDS
    if cheap and memory.now() >= kept.alone_until:
        try:
            cost, memory.ready_rows = claim_cost.measured_beside(
                connection, table, kept.look, kept.look_at_ready, ready_locked.PARAMETERS
            )
        except (errors.QueryCanceled, errors.InsufficientPrivilege):
            kept.alone_until = memory.now() + _ALONE_SECONDS
        else:
            return cost
    return claim_cost.measured(connection, table, kept.look)


def _ask_for_generic(connection: Connection, kept: _Kept, memory: Memory) -> None:
    """Now and then; where the planning takes too long it stays unknown."""
    if memory.now() < kept.generic_until:
        return
    kept.if_generic = None
    kept.generic_until = memory.now() + _GENERIC_EVERY_SECONDS
    try:
        kept.if_generic = claim_generic.read(connection, kept.table)
    except errors.QueryCanceled:
        return
