"""What a retry writes: a dead job becomes pending again, with fresh attempts, as SQL expressions over the row `j`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql

from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.job_table.columns import INTEGER_TYPES
from pgq_ops.job_table.giving_back import error_appended, pending_writes
from pgq_ops.job_table.quoting import literal, type_name

if TYPE_CHECKING:
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable

_NOW = sql.SQL("pg_catalog.to_char(pg_catalog.now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")


@dataclass(frozen=True, slots=True)
class RetryChanges:
    """The writes of a retry under all policies of a table.

    `extra_attempts`: how many runs are left then; None for as many as a new job has. `ceiling` is the expression of
    the latest moment a job may be given back for (the end of the last partition), None where any will do.
    """

    table: JobTable
    extra_attempts: int | None = None
    ceiling: sql.Composable | None = None

    def writes(self) -> dict[str, sql.Composable]:
        """Every column that is written, with its new value.

        `%(begun)s` (epoch seconds) and `taken.pgq_ops_delay_seconds` are in scope of the statement.
        """
        writes = pending_writes(self.table, self.moment())
        finished, attempts = self.table.fields.get("finished_at"), self.table.fields.get("attempts")
        if finished is not None and finished.name is not None and not finished.not_null:
            writes.setdefault(finished.name, sql.SQL("NULL"))
        if attempts is not None and attempts.name is not None:
            writes[attempts.name] = sql.SQL("{}::{}").format(self.fresh_attempts(), type_name(attempts.base_type))
        error = self.table.fields.get("error")
        if error is not None and error.name is not None:
            writes[error.name] = error_appended(error, self._note_text(), self._note_element())
        return writes

    def written_columns(self) -> tuple[str, ...]:
        """The columns of the job table that a retry writes."""
        return tuple(self.writes())

    def moment(self) -> sql.Composable:
        """When the job may be claimed, as timestamptz."""
        moment: sql.Composable = sql.SQL(
            "(pg_catalog.to_timestamp(%(begun)s::double precision)"
            " + pg_catalog.make_interval(secs => taken.pgq_ops_delay_seconds))"
        )
        return moment if self.ceiling is None else sql.SQL("LEAST({}, {})").format(moment, self.ceiling)

    def fresh_attempts(self) -> sql.Composable:
        """How many attempts count as made: none, or all but the extra ones, by the row's own cap where it has one."""
        if self.extra_attempts is None:
            return literal(0)
        left = sql.SQL("GREATEST(0, {} - {})").format(self._cap(), literal(self.extra_attempts))
        attempts = self.table.fields.get("attempts")
        # An infinite cap, or NaN (the largest), leaves the highest number that a whole one can be.
        highest = INTEGER_TYPES.get("integer" if attempts is None else attempts.base_type, INTEGER_TYPES["bigint"])
        return sql.SQL("LEAST({}, {})").format(left, literal(highest))

    def attempts_left(self) -> sql.Composable:
        """How many runs a job has then until it reaches its cap, as bigint; NULL for as many as a new job has.

        At least one, since whoever claims a job does not ask for its cap.
        """
        if self.extra_attempts is None:
            return sql.SQL("NULL::bigint")
        return sql.SQL("LEAST(GREATEST(1, {} - {}), {})::bigint").format(
            self._cap(), self.fresh_attempts(), literal(INTEGER_TYPES["integer"])
        )

    def _cap(self) -> sql.Composable:
        """The cap, as a numeric: from that of any type something can be taken away without an overflow."""
        caps = [
            sql.SQL("({})::numeric").format(ReapChanges(self.table, policy).max_attempts())
            for policy in self.table.policies
        ]
        cases = [
            sql.SQL("WHEN {} THEN {}").format(literal(policy.queue), cap)
            for policy, cap in zip(self.table.policies, caps, strict=True)
            if policy.queue is not None
        ]
        if not cases:
            return caps[0]
        return sql.SQL("(CASE {} {} ELSE {} END)").format(self.table.queue(), sql.SQL(" ").join(cases), caps[0])

    def _note_text(self) -> sql.Composable:
        return sql.SQL("pg_catalog.concat({}, ' retried by pgq-ops: attempts ', {}, ' now count as ', {})").format(
            _NOW, self._attempts(), self.fresh_attempts()
        )

    def _note_element(self) -> sql.Composable:
        return sql.SQL(
            "pg_catalog.jsonb_build_object('at', {}, 'by', 'pgq-ops', 'error', 'retried by pgq-ops',"
            " 'outcome', 'retried', 'attempt', {}, 'attempts_made', {})"
        ).format(_NOW, self._attempts(), self.fresh_attempts())

    def _attempts(self) -> sql.Composable:
        attempts = self.table.fields.get("attempts")
        return sql.SQL("NULL") if attempts is None else sql.SQL("COALESCE({}, 0)").format(attempts.value)


def lockable(place: DeadPlace) -> tuple[str, ...]:
    """The column, if one can be named, whose UPDATE lets a role lock the rows of a place, as FOR UPDATE asks for."""
    fields = (place.table.fields.get(name) for name in ("state", "id", "attempts", "created_at"))
    return tuple(field.name for field in fields if field is not None and field.name is not None)[:1]
