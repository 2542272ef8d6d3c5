"""Tables to examine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.doctor_points import BY_RUN_AT, YEARS
from tests.support.jobs import create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database


@pytest.fixture
def jobs(database: Database) -> Database:
    """The table of the field cases."""
    create_field_table(database)
    return database


@pytest.fixture
def partitioned(database: Database) -> Database:
    """The same by years of `run_at`: two are over."""
    database.execute(BY_RUN_AT)
    for name, bounds in YEARS.items():
        database.execute(f"CREATE TABLE {name} PARTITION OF jobs FOR VALUES FROM {bounds}")
    return database
