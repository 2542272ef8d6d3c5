"""The points about the connection to the server, and the role of pgq-ops."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    clock_skew,
    missing_privileges,
    transaction_pooler,
)
from tests.support.doctor_points import Doctor, doctor, remedies
from tests.support.jobs import FIELD
from tests.support.pgbouncer import needs_pgbouncer, pooled

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

MANAGED = '[agent]\nmode = "manage"\n' + FIELD
WITHOUT_REAPER = MANAGED.partition("[job_tables.jobs.reaper]")[0]


def test_clocks_that_differ_are_told_with_how_sure_that_is(jobs: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    assert "ms apart" in doctor(jobs).passed(clock_skew)
    for offset, word in ((600.0, "10m ahead of"), (-90.0, "1m30s behind")):
        monkeypatch.setattr("pgq_ops.stats.clock_skew.time.time", lambda offset=offset: real() + offset)
        finding = doctor(jobs).finding(clock_skew)
        assert finding.severity is Severity.INFO
        assert word in finding.summary
        assert abs(finding.evidence["ahead_seconds"] - offset) <= finding.evidence["error_seconds"] + 0.01
    monkeypatch.setattr("pgq_ops.stats.clock_skew.time.time", lambda: real() + 1.9)
    assert doctor(jobs).passed(clock_skew)


@needs_pgbouncer
def test_a_transaction_pooler_is_found_unless_a_direct_way_is_configured(jobs: Database) -> None:
    direct = jobs.dsn
    assert "a server process of its own" in doctor(jobs).passed(transaction_pooler)
    with pooled(direct, "transaction", ignore_startup_parameters="extra_float_digits,options") as dsn:
        jobs.dsn = dsn
        one = doctor(jobs)
        assert one.finding(transaction_pooler).severity is Severity.WARNING
        config = one.examination.config
        database = config.database.model_copy(update={"direct_dsn": config.database.dsn})
        past = replace(one.examination, config=config.model_copy(update={"database": database}))
        assert "direct_dsn past it" in Doctor(past).passed(transaction_pooler)
    jobs.dsn = direct


def observer(database: Database, make_role: Roles, *groups: str) -> str:
    role = make_role("observer", member_of=groups)
    database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    return role


def test_a_role_that_does_not_see_other_sessions_is_told_with_the_grant(jobs: Database, make_role: Roles) -> None:
    role = observer(jobs, make_role)
    finding = doctor(jobs, role=role).finding(missing_privileges)
    assert finding.severity is Severity.WARNING
    assert finding.evidence == {
        "role": role,
        "observe": True,
        "reap": False,
        "purge_dead_letters": False,
        "vacuum": False,
        "act_as_owner": False,
    }
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert "suffice to observe" in doctor(jobs, role=role).passed(missing_privileges)


def test_a_role_that_is_to_reap_and_may_not_is_found_only_where_it_is_to(jobs: Database, make_role: Roles) -> None:
    role = observer(jobs, make_role, "pg_monitor")
    assert doctor(jobs, role=role).passed(missing_privileges)
    assert doctor(jobs, WITHOUT_REAPER, role=role).passed(missing_privileges)
    finding = doctor(jobs, MANAGED, role=role).finding(missing_privileges)
    assert finding.remedy == f"pgq-ops grants {role} --tier reap --sql"
    jobs.execute(f'GRANT UPDATE ON jobs TO "{role}"')
    assert "observe, reap" in doctor(jobs, MANAGED, role=role).passed(missing_privileges)


@pytest.mark.parametrize(
    ("right", "tiers"),
    [("DELETE", "observe, purge dead letters"), ("MAINTAIN", "observe, vacuum")],
)
def test_rights_are_told_by_tier(jobs: Database, make_role: Roles, pg_major: int, right: str, tiers: str) -> None:
    role = observer(jobs, make_role, "pg_monitor")
    if right == "MAINTAIN" and pg_major < 17:  # there is no such right: only the owner may
        tiers = "observe"
    else:
        jobs.execute(f'GRANT {right} ON jobs TO "{role}"')
    assert doctor(jobs, role=role).passed(missing_privileges).endswith(f"suffice to {tiers}")


def test_the_table_s_owner_may_all_of_it_and_a_superuser_is_told_as_one(jobs: Database, make_role: Roles) -> None:
    role = make_role("owner", member_of=("pg_monitor",))
    jobs.execute(f'ALTER TABLE jobs OWNER TO "{role}"')
    assert "act as owner" in doctor(jobs, role=role).passed(missing_privileges)
    assert "superuser" in doctor(jobs).passed(missing_privileges)
