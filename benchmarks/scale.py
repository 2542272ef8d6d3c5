"""How large and how long the benchmarks are."""

from __future__ import annotations

from dataclasses import dataclass

# What performance.md asks about: 100,000 leases that expire at once in a table of 10 million.
_MOST_EXPIRED = 100_000
_MOST_DEAD_ENTRIES = 1_000_000
_MOST_JOB_TABLES = 100
_LEAST_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Scale:
    """`rows`: finished jobs in the large table. `effort`: the share of the usual repetitions and seconds."""

    rows: int = 10_000_000
    effort: float = 1.0

    def repetitions(self, usual: int) -> int:
        """How often to measure; at least twice, so that there is a spread."""
        return max(2, round(usual * self.effort))

    def seconds(self, usual: float) -> float:
        """How long to watch."""
        return max(_LEAST_SECONDS, usual * self.effort)

    @property
    def expired(self) -> int:
        """Leases that expire at once."""
        return min(_MOST_EXPIRED, self.rows // 10)

    @property
    def job_tables(self) -> int:
        """Job tables of one agent."""
        return min(_MOST_JOB_TABLES, self.rows // 1_000)

    @property
    def dead_entries(self) -> int:
        """Index entries of rows that changed while a snapshot was held."""
        return min(_MOST_DEAD_ENTRIES, self.rows)
