"""What upkeep is shown of a job table, and a VACUUM of its own."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import MAINTENANCE_LIMITS, Purpose, connect
from pgq_ops.job_table.table import Relation
from pgq_ops.stats import horizon, table_health
from pgq_ops.stats.observed import Observations, Observed
from pgq_ops.tasks.upkeep.ending import VacuumFate
from pgq_ops.tasks.upkeep.run import Terms, run
from pgq_ops.tasks.upkeep.telling import VACUUMS
from pgq_ops.tasks.upkeep.upkeep import Upkeep
from pgq_ops.tasks.upkeep.yielding import NoWatch
from tests.support.agent import wait_until
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL
from tests.support.table_health import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.db.answers import AnsweringConnection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.upkeep.ending import VacuumEnd
    from pgq_ops.tasks.upkeep.order import Order
    from pgq_ops.tasks.upkeep.result import UpkeepResult
    from tests.support.database import Database

# The server is shared, and its autovacuum comes by: while it analyzes, its snapshot keeps the dead rows.
ITS_OWN_WORK = """
    SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'autovacuum worker' AND datname = current_database()
"""
VACUUMING = "SELECT count(*) FROM pg_stat_progress_vacuum WHERE datname = current_database()"
NEEDED_TOML = 'vacuum = "when-needed"\ndead_tuple_budget = 1000'
NEEDED = Autovacuum(vacuum="when-needed", dead_tuple_budget=1_000)


def maintenance(database: Database, role: str | None = None) -> AnsweringConnection:
    """A session as the agent's maintenance has it."""
    dsn = database.dsn if role is None else database.dsn_as(role)
    connection = connect(DatabaseConfig(dsn=SecretStr(dsn)), Purpose.MAINTENANCE, MAINTENANCE_LIMITS)
    database.adopt(connection)
    return connection


def relation(database: Database, name: str = "jobs") -> Relation:
    return Relation(database.value("SELECT %s::regclass::oid::bigint", [f"public.{name}"]), "public", name)


def table_of(database: Database, toml: str = SMALL) -> JobTable:
    bound = bind_toml(database, toml)
    bound.connection.close()
    return bound.table


def let_rows_die(database: Database) -> None:
    """20,000 jobs in the table of agents, so that autovacuum would wait for 4,050 dead rows, and 2,000 dead rows."""
    write(database, "INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 20000)")
    database.execute("VACUUM jobs")  # for `endless`: a scan of the rest is index-only
    write(database, "UPDATE jobs SET status = 'x' WHERE id <= 2000")
    database.execute("ANALYZE jobs")
    counted = "SELECT pg_stat_get_dead_tuples('jobs'::regclass)"
    wait_until(lambda: database.value(counted) == 2_000, what="counted")


def until_calm(database: Database) -> None:
    """Wait until autovacuum is not at work in this database."""
    wait_until(lambda: database.value(ITS_OWN_WORK) == 0, 30, "autovacuum is done")


@contextmanager
def endless(database: Database) -> Iterator[None]:
    """Within, no VACUUM of jobs comes to its end: a cursor rests on a page of an index that it wants to clean."""
    reader = database.connect(autocommit=False, application_name="reader")
    reader.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
    reader.execute("DECLARE resting CURSOR FOR SELECT id FROM jobs ORDER BY id DESC")
    reader.execute("FETCH 1 FROM resting")
    yield
    reader.rollback()
    reader.close()


@dataclass(slots=True)
class Keeper:
    """Upkeep of one job table over a session of its own, at moments that a test chooses."""

    database: Database
    table: JobTable
    connection: AnsweringConnection
    terms: Autovacuum | None = NEEDED
    now: float = 1_000.0
    observations: Observations = field(default_factory=Observations)
    owner_role: str | None = None
    task: Upkeep = field(init=False)

    def __post_init__(self) -> None:
        self.task = Upkeep(
            self.observations,
            lambda _: self.terms,
            NoWatch(),
            lambda: self.database.name,
            lambda: self.owner_role,
            clock=lambda: self.now,
        )

    def look(self, after: float = 5.0, held_for: float | None = None) -> UpkeepResult | None:
        """Show it how the table stands, so many seconds after the last time; what it says without the database.

        `held_for`: since when those who hold the horizon do, as the test's clock is not the server's.
        """
        self.now += after
        until_calm(self.database)
        health, seen = table_health.read(self.connection, self.table), horizon.read(self.connection)
        if held_for is not None:
            seen = replace(seen, holders=tuple(replace(one, seconds=held_for) for one in seen.holders))
        self.observations.put(self.table.name, Observed(health, horizon=seen))
        return self.task.rest(self.table)

    def counted(self) -> dict[str, float]:
        """Its VACUUMs by how they ended, zeros left out."""
        values = {fate: VACUUMS.labels(self.database.name, self.table.name, fate)._value.get() for fate in VacuumFate}
        return {str(fate): value for fate, value in values.items() if value}

    def act(self) -> UpkeepResult:
        until_calm(self.database)
        return self.task.run(self.connection, self.table, lambda: True)


def vacuumed(database: Database, order: Order, terms: Terms | None = None, role: str | None = None) -> VacuumEnd:
    """One VACUUM as upkeep runs it, in a session that is closed again."""
    connection = maintenance(database, role)
    until_calm(database)
    try:
        return run(connection, table_of(database), order, terms or Terms(), NoWatch())
    finally:
        connection.close()


@contextmanager
def meanwhile(action: Any, *args: Any) -> Iterator[list[Any]]:
    """Run the action on a thread of its own within; what it returned is in the list afterwards."""
    returned: list[Any] = []
    thread = threading.Thread(target=lambda: returned.append(action(*args)))
    thread.start()
    yield returned
    thread.join(30)
    assert not thread.is_alive()
