"""Values at the ends of their types, and those that stand for "never": no pass and no look fails on one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import ConfigError
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database

CONFIG = """
[job_tables.jobs]
table = "jobs"
[job_tables.jobs.columns]
id = "id"
state = "status"
available_at = {run_at}
{lease}
created_at = {created_at}
attempts = "attempts"
[job_tables.jobs.states]
pending = ["pending"]
running = ["running"]
done = ["done"]
dead = ["dead"]
[job_tables.jobs.lease]
missing_after = "1h"
max_runtime = "4h"
[job_tables.jobs.reaper]
"""
EPOCH_NOW = "extract(epoch FROM now())"
# By type: leases that never end, leases that ended long ago.
ENDS = {
    "timestamptz": (["'infinity'", "'294276-12-31 23:59:59+00'"], ["'-infinity'", "'4713-01-01 BC'"]),
    "timestamp": (["'infinity'", "'294276-12-31 23:59:59'"], ["'-infinity'", "'4714-12-01 BC'"]),
    "date": (["'infinity'", "'5874897-12-31'"], ["'-infinity'", "'4714-12-01 BC'"]),
    "double precision": (["'Infinity'", "'NaN'", "1e300"], ["'-Infinity'", "-1e300", "0"]),
    "numeric": (["'Infinity'", "'NaN'", "1e300"], ["'-Infinity'", "-1e300", "0"]),
    "bigint": (["9223372036854775807"], ["-9223372036854775808", "0"]),
    "integer": (["2147483647"], ["-2147483648", "0"]),
}


@pytest.mark.case("R8")
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize("lease", ["lease_expires_at", "heartbeat_at"])
@pytest.mark.parametrize("kind", list(ENDS))
def test_times_at_the_end_of_their_type_break_neither_a_pass_nor_a_look(
    database: Database, kind: str, lease: str, zone: str
) -> None:
    database.execute(
        f"CREATE TABLE jobs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text, attempts int,"
        f" lease {kind}, run_at {kind}, created_at {kind})"
    )
    never, ended = ENDS[kind]
    for value in [*never, *ended]:
        for status in ("running", "pending", "dead"):
            database.execute(
                f"INSERT INTO jobs (status, attempts, lease, run_at, created_at)"
                f" VALUES ('{status}', 1, {value}, {value}, {value})"
            )
    form = "{{ column = {!r}, unit = 's' }}" if "'" not in never[-1] else "{!r}"
    columns = {name: form.format(name) for name in ("lease", "run_at", "created_at")}
    toml = f'[database]\ntimezone = "{zone}"\n' + CONFIG.format(
        **(columns | {"lease": f"{lease} = {columns['lease']}"})
    )
    if lease == "heartbeat_at":
        toml = toml.replace("missing_after", 'timeout = "30s"\nmissing_after')
    collection_of(database, toml).healthy()
    bound = bind_toml(database, toml)
    planned = Reap(include_stale=True).plan(bound.connection, bound.table)
    result = reap(database, toml, include_stale=True)
    assert (planned.requeued, result.requeued, result.conflicts) == (len(ended), len(ended), 0)
    assert statuses(database)["running"] == len(never)


@pytest.mark.parametrize("never", ["9223372036854775807", "253402300799", "253402300799000", "32503680000"])
@pytest.mark.parametrize("per_second", [1, 1_000])
def test_a_number_that_means_never_does_not_decide_in_which_unit_leases_are_counted(
    database: Database, never: str, per_second: int
) -> None:
    database.execute(
        "CREATE TABLE jobs (id int PRIMARY KEY, status text, attempts int, lease bigint, run_at bigint, created_at bigint)"
    )
    database.execute(f"INSERT INTO jobs VALUES (0, 'pending', 0, {never}, {never}, {never})")
    for number, seconds in ((1, 60), (2, -60)):
        database.execute(
            f"INSERT INTO jobs SELECT {number}, 'running', 1, t.at, t.at, t.at"
            f" FROM (SELECT ({EPOCH_NOW} + {seconds}) * {per_second} AS at) AS t"
        )
    toml = CONFIG.format(lease="lease_expires_at = 'lease'", run_at="'run_at'", created_at="'created_at'")
    assert reap(database, toml, include_stale=True).requeued == 1
    assert database.rows("SELECT id, status FROM jobs ORDER BY id") == [
        (0, "pending"),
        (1, "running"),
        (2, "pending"),
    ]


def test_rows_in_two_units_are_a_mistake_and_rows_in_none_need_the_unit_to_be_given(database: Database) -> None:
    database.execute(
        "CREATE TABLE jobs (id int PRIMARY KEY, status text, attempts int, lease bigint, run_at bigint, created_at bigint)"
    )
    toml = CONFIG.format(lease="lease_expires_at = 'lease'", run_at="'run_at'", created_at="'created_at'")
    database.execute("INSERT INTO jobs VALUES (1, 'pending', 0, 0, 9223372036854775807, 5)")
    with pytest.raises(ConfigError, match="no row tells the unit of 'lease'"):
        bind_toml(database, toml)
    database.execute(
        "INSERT INTO jobs VALUES (2, 'pending', 0, 1800000000, 0, 0), (3, 'pending', 0, 1800000000000, 0, 0)"
    )
    with pytest.raises(ConfigError, match="the rows of 'lease' are in several units"):
        bind_toml(database, toml)


@pytest.mark.case("R3")
@pytest.mark.parametrize("counted_at", ["claim", "reap"])
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("smallint", ["-32768", "NULL"], ["32767"]),
        ("bigint", ["-9223372036854775808"], ["9223372036854775807"]),
        ("numeric", ["-1e30"], ["1e30", "'NaN'", "'Infinity'"]),
        ("double precision", ["-1e300", "'-Infinity'"], ["1e300", "'NaN'", "'Infinity'"]),
    ],
)
def test_attempts_of_any_size_are_requeued_below_the_cap_and_buried_above(
    database: Database, kind: str, low: list[str], high: list[str], counted_at: str
) -> None:
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs ALTER attempts TYPE {kind}")
    for value in [*low, *high]:
        database.execute(
            f"INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', {value})"
        )
    result = reap(database, FIELD + f'attempts_counted_at = "{counted_at}"\n')
    assert (result.requeued, result.dead_lettered, result.conflicts) == (len(low), len(high), 0)
