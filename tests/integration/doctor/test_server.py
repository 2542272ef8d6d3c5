"""The points about the server: crashes, autovacuum, connections, standbys, its version."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    autovacuum_off,
    autovacuum_threshold,
    connection_headroom,
    fsync_off,
    read_only_workers,
    server_version,
    standby_feedback,
)
from pgq_ops.checks.production.known_bugs import KNOWN_BUGS, SUPPORT_ENDS
from pgq_ops.demo.binaries import find_binaries
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.stats import server_state
from pgq_ops.stats.server_state import ServerState
from tests.support.agent import wait_until
from tests.support.database import Database
from tests.support.doctor_points import Doctor, doctor, remedies
from tests.support.jobs import create_field_table
from tests.support.postgres import Server
from tests.support.standby import caught_up, standby_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server with PostgreSQL's own defaults, whose settings a test may change."""
    binaries = find_binaries()
    with EmbeddedServer({"max_connections": 23}, binaries) as embedded:
        yield Server(embedded.dsn(), binaries.major, embedded)


@pytest.fixture
def own_jobs(own_server: Server) -> Iterator[Database]:
    """The table of the field cases on that server."""
    database = Database(own_server)
    create_field_table(database)
    yield database
    database.drop()
    own_server.execute("ALTER SYSTEM RESET ALL")
    own_server.execute("SELECT pg_reload_conf()")


def set_on_server(database: Database, name: str, value: str) -> None:
    """Change a setting of the whole server, and wait until new sessions have it."""
    database.execute(f"ALTER SYSTEM SET {name} = {value}")
    reload(database, name, value)


def reload(database: Database, name: str, value: str) -> None:
    database.execute("SELECT pg_reload_conf()")

    def is_there() -> bool:
        with psycopg.connect(database.dsn) as session:
            return session.execute(f"SHOW {name}".encode()).fetchall() == [(value,)]

    wait_until(is_there, 10, f"{name} is {value}")


@pytest.mark.parametrize(("name", "severity"), [("fsync", Severity.CRITICAL), ("full_page_writes", Severity.WARNING)])
def test_what_a_crash_would_cost_is_found(own_jobs: Database, name: str, severity: Severity) -> None:
    assert doctor(own_jobs).passed(fsync_off)
    set_on_server(own_jobs, name, "off")
    finding = doctor(own_jobs).finding(fsync_off)
    assert finding.severity is severity
    assert finding.evidence[name] is False
    own_jobs.execute(next(remedies(finding)))
    reload(own_jobs, name, "on")
    assert doctor(own_jobs).passed(fsync_off)


def test_an_autovacuum_that_the_server_does_not_run_is_found(own_jobs: Database) -> None:
    assert doctor(own_jobs).passed(autovacuum_off)
    set_on_server(own_jobs, "autovacuum", "off")
    finding = doctor(own_jobs).finding(autovacuum_off)
    assert finding.severity is Severity.WARNING
    assert "autovacuum is off for the server" in finding.summary
    assert doctor(own_jobs).not_applicable(autovacuum_threshold)
    own_jobs.execute(next(remedies(finding)))
    reload(own_jobs, "autovacuum", "on")
    assert doctor(own_jobs).passed(autovacuum_off)


def test_an_autovacuum_that_looks_too_seldom_is_found(own_jobs: Database) -> None:
    own_jobs.execute("ALTER SYSTEM SET autovacuum_naptime = '5min'")
    reload(own_jobs, "autovacuum_naptime", "5min")
    assert "looked for every 5m" in doctor(own_jobs).passed(autovacuum_threshold)
    own_jobs.execute("ALTER SYSTEM SET autovacuum_naptime = '301s'")
    reload(own_jobs, "autovacuum_naptime", "301s")
    finding = doctor(own_jobs).finding(autovacuum_threshold)
    assert finding.evidence == {"naptime_seconds": 301.0}
    own_jobs.execute(next(remedies(finding)))
    reload(own_jobs, "autovacuum_naptime", "1min")
    assert doctor(own_jobs).passed(autovacuum_threshold)


def test_a_server_that_is_nearly_full_is_found(own_jobs: Database) -> None:
    """20 connections for others than superusers: 18 are nine tenths."""

    def taken() -> int:
        return int(own_jobs.value("SELECT sum(numbackends)::int FROM pg_stat_database"))

    wait_until(lambda: taken() <= 2, 10, "earlier sessions have gone")
    with ExitStack() as stack:

        def fill(number: int) -> None:
            while taken() < number - 1:  # the doctor's own is one more
                stack.enter_context(psycopg.connect(own_jobs.dsn))

        fill(17)
        assert "17 of 20 connections" in doctor(own_jobs).passed(connection_headroom)
        fill(17)
        finding = doctor(own_jobs).finding(connection_headroom)
        assert finding.evidence == {"connections": 18, "allowed": 20}
        [statement] = remedies(finding)
        assert sum(row[-1] for row in own_jobs.rows(statement)) >= 18


def reached_by(database: Database, dsn: str) -> Database:
    """The same database, on another server or as another role."""
    other = copy(database)
    other.dsn, other._own = dsn, None
    return other


def test_a_standby_is_noticed_from_both_sides(own_server: Server, own_jobs: Database) -> None:
    assert "0 standby connections" in doctor(own_jobs).passed(standby_feedback)
    primary = own_server.embedded
    assert primary is not None
    own_jobs._connection().close()  # the primary is stopped for a moment
    with standby_of(primary) as standby:
        assert "1 standby connection, none" in doctor(own_jobs).passed(standby_feedback)
        caught_up(primary, standby)
        there = reached_by(own_jobs, standby.dsn(own_jobs.name))
        finding = doctor(there).finding(read_only_workers)
        assert finding.evidence == {"in_recovery": True}
        assert "standby" in doctor(there).not_applicable(autovacuum_off)
        standby.restart({"hot_standby_feedback": "on"})
        fed = "SELECT backend_xmin IS NOT NULL FROM pg_stat_replication"
        wait_until(lambda: own_jobs.rows(fed) == [(True,)], 20, "the standby tells of its queries")
        finding = doctor(own_jobs).finding(standby_feedback)
        assert finding.severity is Severity.INFO
        assert finding.evidence == {"standbys": ["walreceiver"]}
        own_jobs.execute("CREATE ROLE blind LOGIN PASSWORD 'blind'; GRANT SELECT ON jobs TO blind")
        dsn = own_server.dsn_of(own_jobs.name, user="blind", password="blind")  # noqa: S106 (a test's role)
        one = doctor(reached_by(own_jobs, dsn))
        assert "may not see more" in one.unknown(standby_feedback)
        assert one.verdict(standby_feedback).remedy == 'GRANT pg_monitor TO "blind";'
        one.examination.connection.close()
        own_jobs.execute("DROP OWNED BY blind; DROP ROLE blind")


def stated(one: Doctor, **changes: Any) -> Doctor:
    """As if the server were another one: no test can have all releases."""
    one.examination._facts[server_state.read] = replace(one.examination.fact(server_state.read), **changes)
    return one


def seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()


def test_this_server_is_judged_by_its_own_version_and_clock(jobs: Database, pg_major: int) -> None:
    state = doctor(jobs).examination.fact(server_state.read)
    assert isinstance(state, ServerState)
    assert state.major == pg_major
    assert state.version.startswith(f"{pg_major}.{state.minor}")
    assert abs(state.now - time.time()) < 60
    if state.today > SUPPORT_ENDS[pg_major]:
        assert "gets no more fixes" in doctor(jobs).finding(server_version).summary
    else:
        assert f"maintained until {SUPPORT_ENDS[pg_major]}" in doctor(jobs).passed(server_version)


def test_a_release_is_maintained_to_its_last_day(jobs: Database) -> None:
    last = SUPPORT_ENDS[16]
    assert stated(doctor(jobs), version_number=160_015, now=seconds(last)).passed(server_version)
    later = seconds(last) + 86_400
    finding = stated(doctor(jobs), version_number=160_015, now=later).finding(server_version)
    assert finding.evidence["support_ended"] is True
    assert finding.evidence["bugs"] == []


def test_a_release_that_came_later_than_this_version_is_not_judged(jobs: Database) -> None:
    assert "newer" in stated(doctor(jobs), version_number=190_000).passed(server_version)


@pytest.mark.parametrize(
    ("before", "mended", "what"),
    [
        (180_001, 180_002, "LISTEN fails"),
        (170_007, 170_008, "lock an unrelated one"),
        (160_010, 160_011, "a claim by ctid"),
        (150_000, 150_001, "stop the whole server"),
        (140_003, 140_004, "CONCURRENTLY may lack rows"),
    ],
)
def test_known_defects_are_told_up_to_the_release_that_mended_them(
    jobs: Database, before: int, mended: int, what: str
) -> None:
    now = seconds(date(2026, 1, 1))
    finding = stated(doctor(jobs), version_number=before, now=now).finding(server_version)
    assert what in finding.summary
    assert re.search(rf"{before // 10_000}\.\d+ at least", finding.remedy)
    judged = stated(doctor(jobs), version_number=mended, now=now).verdict(server_version)
    assert what not in judged.text


def test_a_defect_of_partitions_does_not_concern_a_plain_table(jobs: Database) -> None:
    [defect] = [bug for bug in KNOWN_BUGS if bug.partitioned_only]
    one = stated(doctor(jobs), version_number=160_004, now=seconds(date(2026, 1, 1)))
    assert defect.what not in one.finding(server_version).summary
    of_partitions = Doctor(replace(one.examination, table=replace(one.examination.table, partitioned=True)))
    assert defect.what in of_partitions.finding(server_version).summary
