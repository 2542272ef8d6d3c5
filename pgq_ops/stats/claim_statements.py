"""The workers' own claims, as pg_stat_statements counts them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaimStatements:
    """All statements of others on the job table with SKIP LOCKED, summed since their counters began.

    `rows`: jobs that they returned, so that calls that found nothing can be told. `queries` are their texts, without
    constants, the most called first. `why_not` says why nothing is known, with what to do about it; empty if it is.
    """

    calls: int = 0
    seconds: float = 0.0
    rows: int = 0
    queries: tuple[str, ...] = ()
    why_not: str = ""
