"""Every point of the checklist, in the order in which it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pgq_ops.checks.production import (
    attempts_mapped,
    backoff_mapped,
    claim_in_one_statement,
    claim_index,
    claims_and_foreign_keys,
    dead_state_mapped,
    fenced_completion,
    handled_failures,
    heartbeat_margin,
    hot_heartbeats,
    idempotency,
    lease_length,
    lease_mapped,
    no_idle_transaction,
    reaping_index,
    throughput,
    version_mapped,
    worker_isolation,
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
)
