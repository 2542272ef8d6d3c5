"""The conditions of a lease, under one policy or under all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.columns import NEVER_FROM
from pgq_ops.job_table.quoting import all_of, literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.table import JobTable

# A lease further ahead than this was not meant: a week is beyond the longest jobs that people run
# under one lease without extending it. A longer `max_runtime` moves it.
FUTURE_SECONDS = 7 * 86_400.0
# A heartbeat or a claim has happened when it is written; a minute is more than kept clocks differ by.
AHEAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Lease conditions of the row `j`; with several policies each number is a CASE on the row's queue."""

    table: JobTable
    policies: tuple[QueuePolicy, ...]

    def seconds(self, of: Callable[[QueuePolicy], timedelta | None]) -> sql.Composable | None:
        """A policy's duration as SQL; None where no policy has it, NULL for queues whose policy has none."""
        values = [value.total_seconds() if (value := of(policy)) is not None else None for policy in self.policies]
        terms = [sql.SQL("NULL") if value is None else literal(value) for value in values]
        if all(value is None for value in values):
            return None
        if len(set(values)) == 1:
            return terms[0]
        cases = [
            sql.SQL("WHEN {} THEN {}").format(literal(policy.queue), term)
            for policy, term in zip(self.policies, terms, strict=True)
            if policy.queue is not None
        ]
        return sql.SQL("(CASE {} {} ELSE {} END)").format(self.table.queue(), sql.SQL(" ").join(cases), terms[0])

    def _ends(self) -> list[str]:
        """The columns that the lease's end is computed from; the latest of them counts."""
        fields = self.table.fields
        if "lease_expires_at" in fields:
            return ["lease_expires_at"]
        return [name for name in ("heartbeat_at", "leased_at") if name in fields]

    def column(self) -> MappedColumn | None:
        """The one column that tells when a lease ends; None for none, and for the later of two."""
        ends = self._ends()
        return self.table.fields[ends[0]] if len(ends) == 1 else None

    def _timeout(self, policy: QueuePolicy) -> timedelta | None:
        """From the moment that a lease counts from to its end."""
        return timedelta(0) if "lease_expires_at" in self.table.fields else policy.lease.timeout

    def _lag(self, policy: QueuePolicy, beyond: timedelta = timedelta(0)) -> timedelta | None:
        """From the same moment until the lease is expired, or has been for so long."""
        timeout = self._timeout(policy)
        return None if timeout is None else timeout + policy.lease.grace + beyond

    def _before(self, lag: Callable[[QueuePolicy], timedelta | None]) -> sql.Composable:
        return self._base_before(self.seconds(lag) or sql.SQL("NULL"))

    def _base(self) -> sql.Composable:
        """The moment the lease counts from, as timestamptz; NULL without any lease."""
        moments = [self.table.clock.to_timestamptz(self.table.fields[name]) for name in self._ends()]
        return moments[0] if len(moments) == 1 else sql.SQL("GREATEST({})").format(sql.SQL(", ").join(moments))

    def _base_before(self, lag_seconds: sql.Composable) -> sql.Composable:
        ends = self._ends()
        if len(ends) == 1:
            return self.table.clock.ran_out(self.table.fields[ends[0]], lag_seconds)
        return sql.SQL("{} <= pg_catalog.now() - pg_catalog.make_interval(secs => {})").format(
            self._base(), lag_seconds
        )

    def expires_at(self) -> sql.Composable:
        """When the lease ends (without grace), as timestamptz; NULL without any lease or mapping."""
        if not self.table.has_lease:
            return sql.SQL("NULL::timestamptz")
        if "lease_expires_at" in self.table.fields:
            return self._base()
        return sql.SQL(
            "(CASE WHEN {0} > {1} THEN 'infinity' ELSE {0} + pg_catalog.make_interval(secs => {2}) END)"
        ).format(self._base(), literal(NEVER_FROM), self.seconds(self._timeout) or sql.SQL("NULL"))

    def ran_out(self) -> sql.Composable:
        """Whether the lease ended at least its grace ago."""
        if not self.table.has_lease:
            return sql.SQL("false")
        return self._before(self._lag)

    def is_stale(self) -> sql.Composable:
        """Whether it ended so long ago that nobody reaps it unasked; `-infinity` is no date and so not stale."""
        if not self.table.has_lease:
            return sql.SQL("false")
        long_ago = self._before(lambda policy: self._lag(policy, policy.reaper.max_expired_age))
        return sql.SQL("({} AND pg_catalog.isfinite({}))").format(long_ago, self._base())

    def is_missing(self) -> sql.Composable:
        """Whether the row has no lease at all."""
        return sql.SQL("{} IS NULL").format(self._base()) if self.table.has_lease else sql.SQL("false")

    def claimed_at(self) -> sql.Composable:
        """When the row was claimed, else created, as a finite timestamptz; NULL where neither is known."""
        fields = self.table.fields
        known = [self.table.clock.finite(fields[name]) for name in ("leased_at", "created_at") if name in fields]
        return sql.SQL("COALESCE({})").format(sql.SQL(", ").join(known)) if known else sql.SQL("NULL::timestamptz")

    def is_missing_overdue(self) -> sql.Composable:
        """Whether it has no lease and was claimed, or else created, longer ago than `missing_after`."""
        after = self.seconds(lambda policy: policy.lease.missing_after)
        fields = self.table.fields
        known = [
            self.table.clock.to_timestamptz(fields[name]) for name in ("leased_at", "created_at") if name in fields
        ]
        if after is None or not known or not self.table.has_lease:
            return sql.SQL("false")
        since = sql.SQL("COALESCE({})").format(sql.SQL(", ").join(known))
        return sql.SQL("({} AND {} <= pg_catalog.now() - pg_catalog.make_interval(secs => {}))").format(
            self.is_missing(), since, after
        )

    def is_overlong(self) -> sql.Composable:
        """Whether a live lease has been kept alive longer than `max_runtime` since the claim."""
        limit = self.seconds(lambda policy: policy.lease.max_runtime)
        claimed = self.table.fields.get("leased_at")
        if limit is None or claimed is None:
            return sql.SQL("false")
        return self.table.clock.ran_out(claimed, limit)

    def is_future(self) -> sql.Composable:
        """Whether it ends further ahead than any lease can, or its heartbeat or claim is yet to come (infinite too)."""
        if not self.table.has_lease:
            return sql.SQL("false")
        if "lease_expires_at" not in self.table.fields:
            return sql.SQL("{} > pg_catalog.now() + pg_catalog.make_interval(secs => {})").format(
                self._base(), literal(AHEAD_SECONDS)
            )
        longest = self.seconds(lambda policy: policy.lease.max_runtime)
        ahead: sql.Composable = literal(FUTURE_SECONDS)
        if longest is not None:
            ahead = sql.SQL("GREATEST({}, {})").format(ahead, longest)
        return sql.SQL("{} > pg_catalog.now() + pg_catalog.make_interval(secs => {})").format(self.expires_at(), ahead)

    def is_reapable(self, *, include_stale: bool) -> sql.Composable:
        """Whether the reaper takes the row: running, its lease over, not stale unless asked for."""
        over = self.ran_out()
        if not include_stale:
            over = all_of([over, sql.SQL("NOT {}").format(self.is_stale())])
        missing = self.is_missing_overdue()
        either = over if missing == sql.SQL("false") else sql.SQL("(({}) OR {})").format(over, missing)
        return all_of([self.table.is_state("running"), either])
