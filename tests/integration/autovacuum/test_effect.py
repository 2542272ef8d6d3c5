"""With the settings that are derived, PostgreSQL's own autovacuum comes to a hot tail that it would leave for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.schema.versions import install
from pgq_ops.tasks.autovacuum.tuning import Tune
from tests.support.agent import wait_until
from tests.support.binding import bind_toml
from tests.support.database import Database
from tests.support.jobs import SMALL
from tests.support.postgres import SETTINGS, Server
from tests.support.storage import COLUMNS
from tests.support.table_health import told, vacuum, write

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, DYING = 200_000, 600
JOBS = f"""
    CREATE TABLE {{name}} ({COLUMNS}, PRIMARY KEY (id));
    INSERT INTO {{name}} (id, status) SELECT n, 'done' FROM generate_series(1, {ROWS}) AS n
"""
VACUUMS = "SELECT n_tup_upd, n_dead_tup, autovacuum_count FROM pg_stat_user_tables WHERE relname = %s"


@pytest.fixture(scope="module")
def quick() -> Iterator[Server]:
    with EmbeddedServer(SETTINGS | {"autovacuum_naptime": "1s"}) as embedded:
        yield Server(embedded.dsn(), embedded.binaries.major, embedded)


@pytest.fixture
def quick_database(quick: Server) -> Iterator[Database]:
    made_here = Database(quick)
    yield made_here
    made_here.drop()


def test_it_comes_to_the_table_that_was_tuned_and_not_to_its_twin(quick_database: Database) -> None:
    database = quick_database
    for name in ("jobs", "jobs_twin"):
        database.execute(JOBS.format(name=name))
    told(database, 2 * ROWS)
    vacuum(database, "VACUUM ANALYZE jobs, jobs_twin")
    install(database.connect())
    bound = bind_toml(database, SMALL)
    Tune(lambda _: Autovacuum(mode="apply")).run(bound.connection, bound.table, lambda: True)
    for name in ("jobs_twin", "jobs"):
        write(database, f"UPDATE {name} SET attempts = 1 WHERE id <= {DYING}")

    def is_vacuumed() -> bool:
        [(updated, dead, times)] = database.rows(VACUUMS, ["jobs"])
        return (updated, dead) == (DYING, 0) and times >= 1

    wait_until(is_vacuumed, 30, "autovacuum of the tuned table")
    assert database.rows(VACUUMS, ["jobs_twin"]) == [(DYING, DYING, 0)]
