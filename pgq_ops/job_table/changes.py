"""What reaping writes: the columns of a requeue and of a burial, as SQL expressions over the row `j`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.columns import INTEGER_TYPES, column
from pgq_ops.job_table.giving_back import error_appended, pending_writes
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import identifier, literal, type_name

if TYPE_CHECKING:
    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.job_table.table import JobTable

# The index of the log holds the beginning of the key.
_SAME_JOB = sql.SQL(
    "{log}.table_oid = {table_oid} AND pg_catalog.left({log}.job, 200) = pg_catalog.left({key}, 200)"
    " AND {log}.job = {key}"
)
# Counted since the job was last buried or retried; a retry says with how many attempts it begins.
_LOGGED_ATTEMPTS = sql.SQL(
    "(SELECT COALESCE(begun.attempts, 0) + (SELECT pg_catalog.count(*) FROM pgq_ops.reap_log AS past"
    " WHERE {past} AND past.outcome = 'requeued' AND past.at > COALESCE(begun.at, '-infinity'))"
    " FROM (SELECT) AS once LEFT JOIN LATERAL (SELECT fresh.at,"
    " CASE WHEN fresh.outcome = 'retried' THEN COALESCE(fresh.attempt, 0) ELSE 0 END AS attempts"
    " FROM pgq_ops.reap_log AS fresh WHERE {fresh} AND fresh.outcome IN ('dead_lettered', 'retried')"
    " ORDER BY fresh.at DESC, fresh.id DESC LIMIT 1) AS begun ON true)"
)


@dataclass(frozen=True, slots=True)
class ReapChanges:
    """The decision and the writes of the reaper for one policy.

    `ceiling` is the expression of the latest moment a requeue may land on (the end of the last
    partition), None where any will do.
    """

    table: JobTable
    policy: QueuePolicy
    ceiling: sql.Composable | None = None

    def attempts(self) -> sql.Composable:
        """Attempts as stored (NULL is 0); counted in `pgq_ops.reap_log` where the table keeps none."""
        mapped = self.table.fields.get("attempts")
        if mapped is None:
            same = {"table_oid": literal(self.table.relation.oid), "key": self.table.key_text()}
            return _LOGGED_ATTEMPTS.format(
                past=_SAME_JOB.format(log=sql.SQL("past"), **same),
                fresh=_SAME_JOB.format(log=sql.SQL("fresh"), **same),
            )
        # One more than the largest integer is still a bigint; numbers of unlimited size take four times as long.
        wide = "bigint" if mapped.base_type in ("smallint", "integer") else "numeric"
        return sql.SQL("COALESCE({}, 0)::{}").format(mapped.value, type_name(wide))

    def counts_here(self) -> bool:
        """Whether it is the reaper that counts this attempt, not the worker's claim."""
        return self.policy.reaper.attempts_counted_at == "reap" or "attempts" not in self.table.fields

    def attempts_now(self) -> sql.Composable:
        """Attempts with this one counted."""
        return sql.SQL("({} + 1)").format(self.attempts()) if self.counts_here() else self.attempts()

    def max_attempts(self) -> sql.Composable:
        """The cap: the row's own, else the policy's."""
        mapped = self.table.fields.get("max_attempts")
        default = literal(self.policy.reaper.max_attempts)
        return default if mapped is None else sql.SQL("COALESCE({}, {})").format(mapped.value, default)

    def reaches_cap(self) -> sql.Composable:
        """Whether the job is buried rather than requeued."""
        return sql.SQL("({} >= {})").format(self.attempts_now(), self.max_attempts())

    def delay_seconds(self) -> sql.Composable:
        """min(max, base * factor^attempts) * (1 - jitter * random), attempts as stored before.

        The exponent is clamped first: beyond the clamp the maximum is reached anyway, and
        `power(2, 1024)` is out of range.
        """
        backoff = self.policy.reaper.backoff
        base, longest = backoff.base.total_seconds(), backoff.max.total_seconds()
        exponent = 0 if backoff.factor == 1 else max(0, math.ceil(math.log(longest / base, backoff.factor)))
        return sql.SQL(
            "(LEAST({max}, {base}::float8 * pg_catalog.power({factor},"
            " LEAST(GREATEST({attempts}, 0), {exponent})::double precision))"
            " * (1.0::float8 - {jitter}::float8 * pg_catalog.random()))::double precision"
        ).format(
            max=literal(longest),
            base=literal(base),
            factor=sql.SQL("{}::double precision").format(literal(float(backoff.factor))),
            attempts=self.attempts(),
            exponent=literal(min(exponent, 1023)),
            jitter=literal(float(backoff.jitter)),
        )

    def requeue_writes(self) -> dict[str, sql.Composable]:
        """State, available time, owner and lease columns, so that the workers' own claim finds the job again."""
        moment: sql.Composable = sql.SQL("(pg_catalog.now() + pg_catalog.make_interval(secs => {}))").format(
            self.delay_seconds()
        )
        if self.ceiling is not None:
            moment = sql.SQL("LEAST({}, {})").format(moment, self.ceiling)
        return pending_writes(self.table, moment) | self._both()

    def bury_writes(self) -> dict[str, sql.Composable]:
        """State and `finished_at`; the owner stays as the last one who held the job."""
        dead = self.table.states.get("dead")
        writes = dict(dead.writes) if dead is not None else {}
        finished = self.table.fields.get("finished_at")
        if finished is not None and finished.name is not None:
            writes.setdefault(finished.name, self.table.clock.written(sql.SQL("pg_catalog.now()"), finished))
        return writes | self._both()

    def _both(self) -> dict[str, sql.Composable]:
        writes: dict[str, sql.Composable] = {}
        attempts, error = self.table.fields.get("attempts"), self.table.fields.get("error")
        if attempts is not None and attempts.name is not None and self.policy.reaper.attempts_counted_at == "reap":
            counted = self.attempts_now()
            if (highest := INTEGER_TYPES.get(attempts.base_type)) is not None:
                counted = sql.SQL("LEAST({}, {})").format(counted, literal(highest))
            writes[attempts.name] = sql.SQL("{}::{}").format(counted, type_name(attempts.base_type))
        if error is not None and error.name is not None:
            writes[error.name] = error_appended(error, self._note_text(), self._note_json())
        return writes

    def _owner(self) -> sql.Composable:
        owner = self.table.fields.get("owner")
        return sql.SQL("NULL::text") if owner is None else sql.SQL("{}::text").format(owner.value)

    def _note_text(self) -> sql.Composable:
        return sql.SQL(
            "pg_catalog.concat(pg_catalog.to_char(pg_catalog.now() AT TIME ZONE 'UTC',"
            " 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), ' pgq-ops ',"
            " CASE WHEN taken.pgq_ops_bury THEN 'buried' ELSE 'requeued' END, ': ',"
            " COALESCE('lease expired ' || pg_catalog.to_char({expires} AT TIME ZONE 'UTC',"
            " 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), 'no lease'), ', attempt ', {attempts}, ' of ', {cap},"
            " ', last owner ', COALESCE({owner}, 'unknown'))"
        ).format(**self._note_parts())

    def _note_json(self) -> sql.Composable:
        return sql.SQL(
            "pg_catalog.jsonb_build_object('at', pg_catalog.to_char(pg_catalog.now() AT TIME ZONE 'UTC',"
            " 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), 'by', 'pgq-ops',"
            " 'error', CASE WHEN {expires} IS NULL THEN 'no lease' ELSE 'lease expired' END,"
            " 'outcome', CASE WHEN taken.pgq_ops_bury THEN 'buried' ELSE 'requeued' END,"
            " 'attempt', {attempts}, 'max_attempts', {cap}, 'owner', {owner})"
        ).format(**self._note_parts())

    def _note_parts(self) -> dict[str, sql.Composable]:
        return {
            "expires": LeaseTerms(self.table, (self.policy,)).expires_at(),
            "attempts": self.attempts_now(),
            "cap": self.max_attempts(),
            "owner": self._owner(),
        }

    def assignments(self) -> sql.Composable:
        """The SET list of the job table's UPDATE, of `written_columns()` and no others.

        Where jobs are buried in place it does both, and what only one of them writes stays in the other.
        """
        requeue, bury = self.requeue_writes(), self.bury_writes()
        parts: list[sql.Composable] = []
        for name in self.written_columns():
            kept = column(name)
            value = requeue.get(name, kept)
            other = bury.get(name, kept)
            if self.table.dead_letters is None and value != other:
                value = sql.SQL("CASE WHEN taken.pgq_ops_bury THEN {} ELSE {} END").format(other, value)
            parts.append(sql.SQL("{} = {}").format(identifier(name), value))
        return sql.SQL(", ").join(parts)

    def written_columns(self) -> tuple[str, ...]:
        """The columns of the job table that a reap may write, for privilege and partition-key checks."""
        bury = {} if self.table.dead_letters is not None else self.bury_writes()
        return tuple(dict.fromkeys([*self.requeue_writes(), *bury]))


def written_columns(table: JobTable) -> tuple[str, ...]:
    """The columns of the job table that a reap may write under any of its policies."""
    columns = [column for policy in table.policies for column in ReapChanges(table, policy).written_columns()]
    return tuple(dict.fromkeys(columns))
