"""What the tests of transactions begin with: a table to have transactions on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.jobs import create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.fixture
def app(database: Database, make_role: Roles) -> str:
    """The role of the workers, with a table `t`."""
    role = make_role("app")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute(f'INSERT INTO t VALUES (1); GRANT ALL ON t TO "{role}"')
    return role


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    database.execute("INSERT INTO t SELECT n, 0 FROM generate_series(1, 100) AS n")
    return database
