"""Fixtures of all tests. Those that need PostgreSQL start it when they are first used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.database import Database
from tests.support.postgres import Server, running_server
from tests.support.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OUR_SWITCHES = {"PGQ_OPS_PG_BIN", "PGQ_OPS_TEST_DSN", "PGQ_OPS_TEST_IMAGE"}


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> Iterator[None]:
    """Neither libpq's variables nor ours reach a test from the shell it was started in."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("PG") and name not in _OUR_SWITCHES:
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL of this worker: shared by its tests, so nothing may be left behind in it."""
    with running_server() as started:
        yield started


@pytest.fixture(scope="session")
def pg_major(server: Server) -> int:
    """Major version of the server, such as 18."""
    return server.major


@pytest.fixture
def make_role(server: Server) -> Iterator[Roles]:
    """`make_role("reader", "LOGIN", member_of=("pg_monitor",))` creates a role and returns its name."""
    roles = Roles(server)
    yield roles
    roles.drop()


# Asks for make_role so that roles outlive the databases in which they own things.
@pytest.fixture
def make_database(server: Server, make_role: Roles) -> Iterator[Callable[[], Database]]:  # noqa: ARG001
    """`make_database()` creates a further empty database."""
    made: list[Database] = []

    def make() -> Database:
        made.append(Database(server))
        return made[-1]

    yield make
    for database in made:
        database.drop()


@pytest.fixture
def database(make_database: Callable[[], Database]) -> Database:
    """An empty database of this test's own."""
    return make_database()
