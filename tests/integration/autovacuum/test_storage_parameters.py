"""What the catalog says of the leaves' storage parameters, of whose they are, and of which are closed."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from pgq_ops.stats import storage_parameters
from tests.support.agent import wait_until
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL
from tests.support.table_health import COLUMNS

if TYPE_CHECKING:
    from pgq_ops.stats.storage_parameters import LeafStorage
    from tests.support.database import Database
    from tests.support.roles import Roles

IN_NEW_YORK = '[database]\ntimezone = "America/New_York"\n' + SMALL


def leaves(
    database: Database, toml: str = SMALL, *, role: str | None = None, owner_role: str | None = None
) -> dict[str, LeafStorage]:
    bound = bind_toml(database, toml, role=role, read_only=True)
    found = storage_parameters.read(bound.connection, bound.table, owner_role)
    return {leaf.relation.name: leaf for leaf in found}


def closed(database: Database, toml: str = SMALL) -> dict[str, bool | None]:
    return {name: leaf.closed for name, leaf in leaves(database, toml).items()}


def partitioned(database: Database, by: str, *, key_type: str = "timestamptz") -> None:
    columns = COLUMNS.replace("run_at timestamptz", f"run_at {key_type}")
    database.execute(f"CREATE TABLE jobs ({columns}) PARTITION BY {by}")


def part(database: Database, name: str, bounds: str, of: str = "jobs") -> None:
    database.execute(f"CREATE TABLE {name} PARTITION OF {of} {bounds}")


def until(database: Database, name: str, first: str, end: str, key_type: str = "timestamptz") -> None:
    """A partition between two moments, given as expressions, as the server prints them."""
    bounds = database.rows(f"SELECT ({first})::{key_type}::text, ({end})::{key_type}::text")[0]
    part(database, name, "FOR VALUES FROM ('{}') TO ('{}')".format(*bounds))


def test_the_parameters_are_those_of_the_table_and_of_its_toast_table_and_no_others(database: Database) -> None:
    database.execute(f"""
        CREATE TABLE jobs ({COLUMNS}) WITH (
            fillfactor = 70, autovacuum_vacuum_cost_limit = 2000, vacuum_index_cleanup = on,
            toast.autovacuum_enabled = off, toast.vacuum_truncate = false)
    """)
    [leaf] = leaves(database).values()
    assert leaf.parameters == {
        "fillfactor": "70",
        "autovacuum_vacuum_cost_limit": "2000",
        "vacuum_index_cleanup": "on",
        "toast.autovacuum_enabled": "off",
        "toast.vacuum_truncate": "false",
    }
    assert (leaf.toast, leaf.owner, leaf.may_change, leaf.closed) == (
        True,
        database.value("SELECT current_user::text"),
        True,
        False,
    )
    assert str(leaf.relation) == "public.jobs"


def test_without_parameters_and_without_a_toast_table_there_is_nothing(database: Database) -> None:
    database.execute(f"CREATE TABLE jobs ({COLUMNS.replace('text', 'varchar(20)')})")
    [leaf] = leaves(database).values()
    assert (leaf.parameters, leaf.toast) == ({}, False)


@pytest.mark.parametrize("key_type", ["timestamptz", "timestamp", "date"])
def test_a_partition_is_closed_once_its_upper_bound_is_over(database: Database, key_type: str) -> None:
    partitioned(database, "RANGE (run_at)", key_type=key_type)
    here = "now() AT TIME ZONE 'America/New_York'" if key_type != "timestamptz" else "now()"
    unit = "day" if key_type == "date" else "minute"
    until(database, "old", f"{here} - interval '2 {unit}'", f"{here}", key_type)
    until(database, "new", f"{here}", f"{here} + interval '2 {unit}'", key_type)
    until(database, "last", f"{here} + interval '2 {unit}'", f"{here} + interval '9 {unit}'", key_type)
    part(database, "other", "DEFAULT")
    assert closed(database, IN_NEW_YORK) == {"old": True, "new": False, "last": False, "other": False}


def test_a_time_without_a_zone_is_of_the_zone_that_is_configured(database: Database) -> None:
    partitioned(database, "RANGE (run_at)", key_type="timestamp")
    # New York's clock shows this in two hours; in UTC it is over.
    until(database, "soon", "'2020-01-01'", "now() AT TIME ZONE 'America/New_York' + interval '2 h'", "timestamp")
    assert closed(database, IN_NEW_YORK) == {"soon": False}
    assert closed(database) == {"soon": True}


def test_without_an_end_or_with_an_infinite_one_a_partition_is_never_closed(database: Database) -> None:
    partitioned(database, "RANGE (run_at)")
    part(database, "old", "FOR VALUES FROM (MINVALUE) TO ('2020-01-01')")
    part(database, "endless", "FOR VALUES FROM ('2020-01-01') TO ('infinity')")
    part(database, "ever", "FOR VALUES FROM ('infinity') TO (MAXVALUE)")
    assert closed(database) == {"old": True, "endless": False, "ever": False}


@pytest.mark.parametrize(
    ("by", "bounds"),
    [
        ("RANGE (id)", "FOR VALUES FROM (0) TO (1000)"),
        ("LIST (status)", "FOR VALUES IN ('done')"),
        ("HASH (id)", "FOR VALUES WITH (MODULUS 1, REMAINDER 0)"),
        ("RANGE ((run_at AT TIME ZONE 'UTC'))", "FOR VALUES FROM ('2000-01-01') TO ('2001-01-01')"),
    ],
)
def test_of_what_is_no_time_nobody_knows_whether_it_is_closed(database: Database, by: str, bounds: str) -> None:
    partitioned(database, by)
    part(database, "one", bounds)
    assert closed(database) == {"one": None}


def test_a_part_is_closed_with_what_it_is_a_part_of(database: Database) -> None:
    partitioned(database, "RANGE (run_at)")
    part(database, "y", "FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') PARTITION BY HASH (id)")
    part(database, "later", "FOR VALUES FROM ('2021-01-01') TO (MAXVALUE) PARTITION BY LIST (status)")
    part(database, "y_1", "FOR VALUES WITH (MODULUS 1, REMAINDER 0)", of="y")
    part(database, "later_1", "FOR VALUES IN ('done')", of="later")
    part(database, "later_2", "DEFAULT", of="later")
    assert closed(database) == {"y_1": True, "later_1": False, "later_2": False}


def test_of_several_columns_the_last_day_belongs_to_the_next_partition_too(database: Database) -> None:
    partitioned(database, "RANGE (run_at, id)", key_type="date")
    today, yesterday = database.rows("SELECT (now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date - 1")[0]
    part(database, "old", f"FOR VALUES FROM ('2020-01-01', 0) TO ('{yesterday}', 500)")
    part(database, "now", f"FOR VALUES FROM ('{yesterday}', 500) TO ('{today}', 500)")
    assert closed(database) == {"old": True, "now": False}


def test_a_partition_that_is_not_attached_is_not_told(database: Database) -> None:
    partitioned(database, "RANGE (run_at)")
    part(database, "one", "FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')")
    part(database, "gone", "FOR VALUES FROM ('2021-01-01') TO ('2022-01-01')")
    database.execute("ALTER TABLE jobs DETACH PARTITION gone")
    assert set(leaves(database)) == {"one"}


def test_who_may_change_them_is_the_owner_a_member_that_inherits_and_who_may_become_one(
    database: Database, make_role: Roles
) -> None:
    owner = make_role("owner", "NOLOGIN")
    inheriting = make_role("inheriting", "LOGIN INHERIT", member_of=(owner,))
    becoming = make_role("becoming", "LOGIN NOINHERIT", member_of=(owner,))
    stranger = make_role("stranger", "LOGIN")
    database.execute(f"CREATE TABLE jobs ({COLUMNS}); ALTER TABLE jobs OWNER TO {owner}")
    for role in (owner, inheriting, becoming, stranger):
        database.execute(f"GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON jobs TO {role}")

    def may(role: str, owner_role: str | None = None) -> bool:
        [leaf] = leaves(database, role=role, owner_role=owner_role).values()
        assert leaf.owner == owner
        return leaf.may_change

    assert [may(role) for role in (inheriting, becoming, stranger)] == [True, False, False]
    assert [may(role, owner) for role in (inheriting, becoming, stranger)] == [True, True, False]
    assert not may(becoming, "nobody_of_this_name")
    assert not may(stranger, inheriting)
    database.execute(f"REVOKE USAGE ON SCHEMA public FROM PUBLIC; REVOKE USAGE ON SCHEMA public FROM {owner}")
    assert not may(becoming, owner)


def test_from_16_on_a_member_that_may_not_become_the_role_cannot_use_it(
    database: Database, make_role: Roles, pg_major: int
) -> None:
    if pg_major < 16:
        pytest.skip("before PostgreSQL 16 every member may become the role")
    owner, role = make_role("owner", "NOLOGIN"), make_role("held", "LOGIN NOINHERIT")
    database.execute(f"GRANT {owner} TO {role} WITH SET false, INHERIT false")
    database.execute(
        f"CREATE TABLE jobs ({COLUMNS}); ALTER TABLE jobs OWNER TO {owner}; GRANT SELECT ON jobs TO {role}"
    )
    [leaf] = leaves(database, role=role, owner_role=owner).values()
    assert not leaf.may_change
    database.execute(f"GRANT {owner} TO {role} WITH SET true, INHERIT false")
    [leaf] = leaves(database, role=role, owner_role=owner).values()
    assert leaf.may_change


@pytest.mark.parametrize("locked", ["jobs", "one"])
@pytest.mark.parametrize("queued", [False, True])
def test_they_are_read_while_the_strongest_lock_is_held_or_waited_for(
    database: Database,
    locked: str,
    queued: bool,  # noqa: FBT001
) -> None:
    partitioned(database, "RANGE (run_at)")
    part(database, "one", "FOR VALUES FROM ('2020-01-01') TO ('2021-01-01')")
    bound = bind_toml(database, SMALL, read_only=True)
    expected = storage_parameters.read(bound.connection, bound.table)
    holder, waiter = database.connect(autocommit=False), database.connect()
    mode = "ACCESS SHARE" if queued else "ACCESS EXCLUSIVE"
    holder.execute(f"LOCK TABLE {locked} IN {mode} MODE".encode())
    waiting = Thread(target=waiter.execute, args=(f"ALTER TABLE {locked} RENAME TO other".encode(),))
    if queued:
        waiting.start()
        wait_until(
            lambda: database.value("SELECT count(*) FROM pg_locks WHERE NOT granted"), 10, "a lock is waited for"
        )
    began = time.monotonic()
    assert storage_parameters.read(bound.connection, bound.table) == expected
    assert time.monotonic() - began < 1
    assert [leaf.closed for leaf in expected] == [True]
    holder.rollback()
    if queued:
        waiting.join()
