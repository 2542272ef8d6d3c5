"""Times without a zone whose meaning nobody gave: told where the server's own zone makes another likely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database


def notes(database: Database, toml: str = FIELD) -> list[str]:
    return [note for note in bind_toml(database, toml).notes if "database.timezone" in note]


def set_zone(database: Database, zone: str) -> None:
    database.execute(f"ALTER DATABASE {database.name} SET TimeZone = '{zone}'")


def test_naive_columns_are_named_with_the_server_s_zone_where_it_is_not_utc(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER lease_until TYPE timestamp, ALTER run_at TYPE date")
    set_zone(database, "Asia/Kolkata")
    [note] = notes(database)
    for part in ("lease_until", "run_at", "UTC", "Asia/Kolkata", 'timezone = "Asia/Kolkata"'):
        assert part in note
    assert "created_at" not in note


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "GMT", "Zulu"])
def test_nothing_is_noted_where_the_server_s_zone_is_utc_under_any_name(database: Database, zone: str) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER lease_until TYPE timestamp")
    set_zone(database, zone)
    assert notes(database) == []


def test_nothing_is_noted_where_the_zone_was_given_or_every_time_has_one(database: Database) -> None:
    create_field_table(database)
    set_zone(database, "Asia/Kolkata")
    assert notes(database) == []
    database.execute("ALTER TABLE jobs ALTER lease_until TYPE timestamp")
    assert len(notes(database)) == 1
    assert notes(database, '[database]\ntimezone = "UTC"\n' + FIELD) == []
