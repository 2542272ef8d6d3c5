"""What finding the next job costs now: the claim's SELECT, without its locking clause, explained and run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """How the next job is found. `node` is one line for people, such as `Index Scan using jobs_pending`.

    `rows_read` were looked at, filtered ones included, for `rows_returned`.
    """

    node: str
    indexes: tuple[str, ...] = ()
    sorts: bool = False
    scans_table: bool = False
    rows_read: int = 0
    rows_returned: int = 0


@dataclass(frozen=True, slots=True)
class ClaimCost:
    """The cost of one claim, of the dearer of a custom and a generic plan.

    `buffers`: pages hit and read at the top of the plan, planning left out. `seconds`: execution; both are None where
    the look `timed_out`, after so many seconds: then they are more than that, and the plan is not known.
    """

    buffers: int | None
    seconds: float | None
    plan: ClaimPlan | None
    generic: bool = False
    timed_out: bool = False
    timeout_seconds: float = 0.0
