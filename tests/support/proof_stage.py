"""The database that the proof plays in: its tables, made anew for each run, and what stands in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from psycopg import errors

from pgq_ops.metrics import REGISTRY
from pgq_ops.schema import versions
from tests.support import proof_ground as ground_
from tests.support.proof_clock import ProofClock, seconds_of

if TYPE_CHECKING:
    import psycopg

    from tests.support.database import Database
    from tests.support.proof_ground import Ground

    Row = dict[str, Any]

OUTCOMES = ("requeued", "dead_lettered", "conflict")
_MOMENTS = frozenset({"available_at", "run_after", "lease_until", "started_at", "created_at"})
# How long a session waits for a lock. Nobody in the proof lets go while another waits; autovacuum does.
LOCK_WAIT, PATIENT_WAIT = "10ms", "20s"

_OVERDUE = """
SELECT id FROM {table} WHERE status = 'running'
  AND {lease} + make_interval(secs => %(lag)s) <= now() AND {lease} + make_interval(secs => %(lag)s + %(stale)s) > now()
FOR UPDATE SKIP LOCKED
"""


class Print(NamedTuple):
    """Where a row's newest version is, who wrote it, and its bytes as text: the same only if nobody touched the row."""

    relation: int
    place: str
    writer: str
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All jobs by id as they are committed, in the job table and in the dead-letter table, and their prints."""

    jobs: dict[int, Row] = field(default_factory=dict)
    dead: dict[int, Row] = field(default_factory=dict)
    prints: dict[int, Print] = field(default_factory=dict)


class Stage:
    """One ground in one database. `seen` counts what happened on it over all runs."""

    def __init__(self, database: Database, ground: Ground) -> None:
        self.database = database
        self.ground = ground
        self.seen: Counter[str] = Counter()
        self.clock = ProofClock(database)
        self.clock.install()
        if ground.logged:
            versions.install(database.connect())
        self._admin = self.session(PATIENT_WAIT)
        self._log_read = 0

    def session(self, lock_wait: str = LOCK_WAIT) -> psycopg.Connection[Any]:
        """A session that goes by the proof's clock, as a worker's."""
        connection = self.database.connect(options=f"-c timezone=UTC -c lock_timeout={lock_wait}")
        connection.execute("SET client_min_messages = warning")
        return connection

    def begin(self) -> None:
        """Empty tables and second 0."""
        self.clock.set(0, 0)
        self._admin.execute(f"DROP TABLE IF EXISTS {self.ground.table}, dead_jobs".encode())
        self._admin.execute(self.ground.ddl.encode())
        self.new_log_rows()

    def snapshot(self) -> Snapshot:
        """What is committed; fails where a job is there twice."""
        snapshot = Snapshot()
        one = "SELECT '{}', id, tableoid::bigint, ctid::text, xmin::text, j::text, to_jsonb(j) FROM {} AS j"
        places = {"jobs": self.ground.table, "dead": self.ground.dead_table}
        query = " UNION ALL ".join(one.format(place, name) for place, name in places.items() if name)
        for place, job, *print_, row in self._admin.execute(query.encode()).fetchall():
            assert job not in snapshot.prints, f"job {job} is there twice"
            snapshot.prints[job] = Print(*print_)
            getattr(snapshot, place)[job] = read(row)
        return snapshot

    def insert(self, values: Row) -> Row:
        """Enqueue one job; returns its row."""
        columns = ", ".join(values)
        places = ", ".join(f"%({name})s" for name in values)
        query = f"INSERT INTO {self.ground.table} AS j ({columns}) VALUES ({places}) RETURNING to_jsonb(j)"  # noqa: S608 (the proof's own names)
        return read(self._admin.execute(query.encode(), values).fetchall()[0][0])

    def add_column(self, table: str, name: str, default: str | None, *, contested: bool) -> bool:
        """A migration; where `contested`, a careful one: False where it could not have its lock at once."""
        with_default = "" if default is None else f" DEFAULT '{default}'"
        self._admin.execute(f"SET lock_timeout = '{LOCK_WAIT if contested else PATIENT_WAIT}'".encode())
        try:
            self._admin.execute(f"ALTER TABLE {table} ADD COLUMN {name} text{with_default}".encode())
        except errors.LockNotAvailable:
            assert contested
            return False
        finally:
            self._admin.execute(f"SET lock_timeout = '{PATIENT_WAIT}'".encode())
        return True

    def terminate(self, connection: psycopg.Connection[Any]) -> None:
        """End a session from outside, and wait until it is gone with its locks."""
        pid = connection.info.backend_pid
        self._admin.execute("SELECT pg_terminate_backend(%s, 20000)", [pid])
        assert not self._admin.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid]).fetchall(), "not gone"

    def overdue(self, lag_seconds: float) -> list[int]:
        """Jobs in nobody's hands whose lease (not a stale one) ended `lag_seconds` ago, asked of the database."""
        query = _OVERDUE.format(table=self.ground.table, lease=self.ground.lease)
        lag = {"lag": lag_seconds + self.ground.lease_seconds, "stale": ground_.MAX_EXPIRED_AGE_SECONDS}
        return [job for (job,) in self._admin.execute(query.encode(), lag).fetchall()]

    def leaders(self) -> int:
        """How many sessions hold an advisory lock in this database."""
        query = (
            "SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        return int(self._admin.execute(query).fetchall()[0][0])

    def new_log_rows(self) -> list[tuple[str, str]]:
        """What the reap log has got since the last call: each job's key as text and its outcome."""
        if not self.ground.logged:
            return []
        query = "SELECT id, job, outcome FROM pgq_ops.reap_log WHERE id > %s ORDER BY id"
        rows = self._admin.execute(query, [self._log_read]).fetchall()
        self._log_read = max((number for number, *_ in rows), default=self._log_read)
        return [(job, outcome) for _, job, outcome in rows]

    def exported(self) -> dict[str, float]:
        """`pgqops_reaped_total` of this process by outcome."""
        labels = {"database": self.database.name, "job_table": "emails", "queue": "default"}
        return {
            outcome: REGISTRY.get_sample_value("pgqops_reaped_total", labels | {"outcome": outcome}) or 0.0
            for outcome in OUTCOMES
        }


def read(row: Row) -> Row:
    """A row as `to_jsonb` gives it, its times as seconds of the proof's clock."""
    return {name: seconds_of(value) if name in _MOMENTS and value is not None else value for name, value in row.items()}
