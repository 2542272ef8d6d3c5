"""Every point of the checklist, in the order in which it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pgq_ops.checks.production import (
    attempts_mapped,
    autovacuum_off,
    autovacuum_threshold,
    backoff_mapped,
    claim_in_one_statement,
    claim_index,
    claim_index_size,
    claims_and_foreign_keys,
    clock_skew,
    connection_headroom,
    dead_state_mapped,
    delete_cascades,
    duplicate_indexes,
    fenced_completion,
    fsync_off,
    handled_failures,
    heartbeat_margin,
    hot_heartbeats,
    id_range,
    idempotency,
    idle_transaction_timeout,
    incoming_foreign_keys,
    invalid_indexes,
    lease_length,
    lease_mapped,
    missing_privileges,
    no_idle_transaction,
    outgoing_foreign_keys,
    partition_freezing,
    read_only_workers,
    reaping_index,
    replica_identity,
    retention,
    row_triggers,
    server_version,
    stale_statistics,
    standby_feedback,
    synchronous_commit_off,
    tcp_keepalives,
    throughput,
    transaction_pooler,
    unlogged_table,
    unused_indexes,
    version_mapped,
    worker_isolation,
    worker_row_security,
)

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict


class Point(Protocol):
    """A module of this package: `ID` (kebab-case, of its finding too), `TITLE` (the good state), `check`."""

    ID: str
    TITLE: str

    def check(self, examination: Examination) -> Verdict:
        """Judge. May raise the driver's errors: then it could not be checked."""
        ...


POINTS: tuple[Point, ...] = (
    worker_isolation,
    claim_in_one_statement,
    no_idle_transaction,
    fenced_completion,
    claims_and_foreign_keys,
    claim_index,
    reaping_index,
    hot_heartbeats,
    heartbeat_margin,
    lease_length,
    lease_mapped,
    version_mapped,
    attempts_mapped,
    backoff_mapped,
    dead_state_mapped,
    handled_failures,
    throughput,
    idempotency,
    idle_transaction_timeout,
    tcp_keepalives,
    read_only_workers,
    worker_row_security,
    synchronous_commit_off,
    fsync_off,
    unlogged_table,
    autovacuum_off,
    autovacuum_threshold,
    stale_statistics,
    retention,
    partition_freezing,
    id_range,
    invalid_indexes,
    unused_indexes,
    duplicate_indexes,
    claim_index_size,
    incoming_foreign_keys,
    outgoing_foreign_keys,
    delete_cascades,
    row_triggers,
    replica_identity,
    standby_feedback,
    connection_headroom,
    server_version,
    transaction_pooler,
    missing_privileges,
    clock_skew,
)

READING: tuple[Point, ...] = (claim_index, heartbeat_margin, lease_length, handled_failures, throughput)
"""Those that ask the job table itself: the more partitions it has, the longer that takes to plan. Judged last."""
