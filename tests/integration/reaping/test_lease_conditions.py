"""Which leases count as expired, and which are left alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


def add(database: Database, lease: str, created: str = "now()", queue: str | None = None) -> None:
    database.execute(
        f"INSERT INTO jobs (status, lease_until, attempts, created_at, queue) VALUES ('running', {lease}, 1, {created}, %s)",
        [queue],
    )


def test_a_lease_is_expired_from_its_grace_on_and_not_before(database: Database) -> None:
    create_field_table(database)
    add(database, "now() - interval '20 seconds'")
    add(database, "now() - interval '31 seconds'")
    add(database, "now() + interval '10 seconds'")
    assert reap(database, FIELD + "[job_tables.jobs.lease]\ngrace = '30s'\n").requeued == 1
    assert database.rows("SELECT status FROM jobs ORDER BY id") == [("running",), ("pending",), ("running",)]


@pytest.mark.case("R7")
def test_a_running_job_without_a_lease_is_reaped_by_an_explicit_rule_only(database: Database) -> None:
    create_field_table(database)
    add(database, "NULL", "now() - interval '1 minute'")
    add(database, "NULL", "now() - interval '3 days'")
    assert reap(database).requeued == 0
    assert reap(database, FIELD + "[job_tables.jobs.lease]\nmissing_after = '1h'\n").requeued == 1
    assert database.rows("SELECT status FROM jobs ORDER BY id") == [("running",), ("pending",)]


@pytest.mark.case("R8")
def test_infinite_leases_are_never_reaped_and_minus_infinite_ones_always(database: Database) -> None:
    create_field_table(database)
    add(database, "'infinity'", "'infinity'")
    add(database, "'-infinity'", "'-infinity'")
    add(database, "NULL", "'infinity'")
    add(database, "NULL", "'-infinity'")
    result = reap(database, FIELD + "[job_tables.jobs.lease]\nmissing_after = '1h'\n")
    assert (result.requeued, result.stale, result.remaining) == (2, 0, 0)
    assert database.rows("SELECT status FROM jobs ORDER BY id") == [
        ("running",),
        ("pending",),
        ("running",),
        ("pending",),
    ]


@pytest.mark.case("R19")
def test_rows_stranded_since_last_year_wait_until_they_are_asked_for(database: Database) -> None:
    create_field_table(database)
    for _ in range(3):
        add(database, "now() - interval '1 minute'")
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts) SELECT 'running', now() - interval '300 days', 1 FROM generate_series(1, 1200)"
    )
    result = reap(database)
    assert (result.requeued, result.stale, result.remaining) == (3, 1200, 0)
    assert statuses(database) == {"pending": 3, "running": 1200}
    asked = reap(database, include_stale=True)
    assert (asked.requeued, asked.stale) == (1200, 0)


def test_a_lease_is_stale_from_max_expired_age_on(database: Database) -> None:
    create_field_table(database)
    add(database, "now() - interval '59 minutes'")
    add(database, "now() - interval '61 minutes'")
    result = reap(database, FIELD + "max_expired_age = '1h'\n")
    assert (result.requeued, result.stale) == (1, 1)


@pytest.mark.case("R13")
def test_each_queue_has_its_own_policy_and_one_can_opt_out(database: Database) -> None:
    create_field_table(database)
    for queue in ("fast", "video", "legal", "unknown", None):
        add(database, "now() - interval '10 minutes'", queue=queue)
    toml = (
        FIELD
        + """
[job_tables.jobs.queues.video]
lease.grace = "4h"
[job_tables.jobs.queues.legal]
reaper.enabled = false
[job_tables.jobs.queues.fast]
reaper.max_attempts = 1
"""
    )
    result = reap(database, toml)
    assert (result.requeued, result.dead_lettered) == (2, 1)
    found = dict(database.rows("SELECT coalesce(queue, 'NULL'), status FROM jobs"))
    assert found == {"fast": "dead", "video": "running", "legal": "running", "unknown": "pending", "NULL": "pending"}


@pytest.mark.case("R5")
@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT-14", "America/New_York"])
def test_naive_times_mean_the_configured_zone_whatever_the_server_thinks(
    database: Database, zone: str, make_role: Roles
) -> None:
    create_field_table(database)
    for column in ("lease_until", "run_at", "created_at"):
        database.execute(
            f"ALTER TABLE jobs ALTER {column} DROP DEFAULT, ALTER {column} TYPE timestamp USING {column} AT TIME ZONE 'UTC'"
        )
    role = make_role("zoned", "LOGIN SUPERUSER")
    database.execute(f"ALTER ROLE {role} SET TimeZone = '{zone}'")
    database.execute(f"ALTER DATABASE {database.name} SET TimeZone = '{zone}'")
    for minutes in (-1, 1):
        database.execute(
            "INSERT INTO jobs (status, attempts, lease_until) VALUES ('running', 0, (now() AT TIME ZONE 'UTC') + make_interval(mins => %s))",
            [minutes],
        )
    assert reap(database, role=role).requeued == 1
    [(status, delay)] = database.rows(
        "SELECT status, extract(epoch FROM (run_at AT TIME ZONE 'UTC') - now()) FROM jobs WHERE id = 1"
    )
    assert status == "pending"
    assert 7 < delay < 11


@pytest.mark.case("R18")
def test_the_agents_clock_decides_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    create_field_table(database)
    add(database, "now() - interval '1 minute'")
    add(database, "now() + interval '1 minute'")
    bound = bind_toml(database, FIELD)
    off = time.time() + 600
    monkeypatch.setattr(time, "time", lambda: off)
    result = Reap().run(bound.connection, bound.table, lambda: True)
    assert result.requeued == 1
    delay = database.value("SELECT extract(epoch FROM run_at - now()) FROM jobs WHERE status = 'pending'")
    assert 15 < delay < 21


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_naive_times_of_another_zone_count_by_that_zone(database: Database, zone: str) -> None:
    """The later of two columns is compared as a point in time, a single one in the column's own type: both must agree."""
    create_field_table(database)
    database.execute(
        "ALTER TABLE jobs ADD COLUMN beat timestamp, ALTER lease_until TYPE timestamp, ALTER run_at TYPE timestamp"
    )
    for minutes in (4, 6):
        database.execute(
            "INSERT INTO jobs (status, attempts, lease_until, beat) VALUES ('running', 0,"
            " (now() - interval '1 day') AT TIME ZONE %(zone)s, (now() - make_interval(mins => %(minutes)s)) AT TIME ZONE %(zone)s)",
            {"zone": zone, "minutes": minutes},
        )
    toml = FIELD.replace('lease_expires_at = "lease_until"', 'leased_at = "lease_until"\nheartbeat_at = "beat"')
    toml = f'[database]\ntimezone = "{zone}"\n{toml}[job_tables.jobs.lease]\ntimeout = "5m"\n'
    assert reap(database, toml).requeued == 1
    [(delay,)] = database.rows(
        "SELECT extract(epoch FROM run_at AT TIME ZONE %s - now()) FROM jobs WHERE status = 'pending'", [zone]
    )
    assert 7 < delay < 11
    assert database.rows("SELECT id, status FROM jobs ORDER BY id") == [(1, "running"), (2, "pending")]
