"""Locks, missing privileges, a pooler in between: told once, and the rest goes on."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.schema import versions
from tests.support.agent import EXPIRED, JOBS, wait_until
from tests.support.pgbouncer import needs_pgbouncer, pooled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database
    from tests.support.roles import Roles

    Start = Callable[..., Agent]

SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pgq-ops/%%'"
)


def findings(agent: Agent, what: str) -> set[str]:
    return {event["finding"] for event in agent.events(f"finding.{what}")}


def busy_runs(agent: Agent, table: str) -> float:
    return agent.value("pgqops_task_runs_total", f'job_table="{table}"', 'outcome="busy"') or 0


@pytest.mark.case("M1")
def test_a_locked_table_is_busy_and_shown_as_not_up_while_scrapes_are_answered_at_once(
    jobs: Database, start: Start
) -> None:
    jobs.execute(JOBS.format(name="more"))
    agent = start(jobs.dsn, "jobs", "more", every="500ms")
    wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 1 and agent.value("pgqops_up", '"more"') == 1)
    with jobs.connect(autocommit=False) as other:
        other.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        jobs.execute(EXPIRED.format(name="more"))
        wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 0, what="it is shown")
        wait_until(lambda: busy_runs(agent, "jobs") >= 2, what="busy is counted")
        slowest = 0.0
        for _ in range(20):
            began = time.monotonic()
            assert agent.get("/metrics")[0] == 200
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 1
        assert not [key for key in agent.series("pgqops_jobs") if '"jobs"' in key], "absent, not the last value"
        assert agent.value("pgqops_up", '"more"') == 1
        wait_until(lambda: jobs.value("SELECT count(*) FROM more WHERE status = 'pending'") == 1)
        assert jobs.value(SESSIONS, {}) == 2
        assert agent.value("pgqops_task_runs_total", 'job_table="jobs"', 'outcome="failed"') == 0
        other.rollback()
    wait_until(lambda: agent.value("pgqops_up", '"jobs"') == 1, 3, "normal again in the next cycle")
    assert agent.leads("jobs"), "a lock is no reason to give up leadership"
    assert not agent.events("task.failed")
    errors = {event["error"] for event in agent.events("probe.failed")}
    assert "locked by another session just now" in errors
    assert not [error for error in errors if "\n" in error or "LINE" in error or "NotAvailable" in error]


def test_a_role_that_may_only_read_is_told_the_grant_once_and_still_collects(
    jobs: Database, start: Start, make_role: Roles
) -> None:
    role = make_role("reader")
    jobs.execute(f'GRANT SELECT ON jobs TO "{role}"')
    jobs.execute(EXPIRED.format(name="jobs"))
    agent = start(jobs.dsn_as(role), every="300ms")
    wait_until(lambda: (agent.value("pgqops_task_runs_total", 'outcome="failed"') or 0) >= 3)
    [told] = agent.events("task.failed")
    assert "GRANT UPDATE" in told["error"]
    wait_until(lambda: agent.value("pgqops_up") == 1)
    jobs.execute(f'GRANT UPDATE ON jobs TO "{role}"')
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    assert agent.told("task.recovered")


UNREAD = (
    'REVOKE SELECT ON jobs FROM "{role}"',
    "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE",
    "ALTER TABLE jobs RENAME TO elsewhere",
)


@pytest.mark.parametrize("statement", UNREAD)
def test_a_finding_is_not_closed_while_nobody_can_look_and_is_once_it_is_seen_to_be_over(
    jobs: Database, start: Start, make_role: Roles, statement: str
) -> None:
    role = make_role("watcher")
    jobs.execute(f'GRANT SELECT ON jobs TO "{role}"')
    jobs.execute("INSERT INTO jobs (status) VALUES ('odd')")
    jobs.execute(EXPIRED.format(name="jobs").replace("1 minute", "3 days"))
    jobs.execute("ANALYZE jobs")
    agent = start(jobs.dsn_as(role), mode="observe")
    wait_until(lambda: {"unknown-states", "stale-leases"} <= findings(agent, "opened"))
    levels = {event["severity"]: event["level"] for event in agent.events("finding.opened")}
    assert (levels["critical"], levels["warning"]) == ("error", "warning")
    with jobs.connect(autocommit=False) as other:
        other.execute(statement.format(role=role))
        if "LOCK" not in statement:
            other.commit()
        wait_until(lambda: agent.value("pgqops_up") == 0)
        time.sleep(1.5)  # two more rounds
        assert not findings(agent, "closed")
        if "RENAME" in statement:
            other.execute("ALTER TABLE elsewhere RENAME TO jobs")
        if "REVOKE" in statement:
            wait_until(lambda: agent.events("job_table.not_bound"))
            assert "GRANT SELECT" in agent.events("job_table.not_bound")[0]["error"]
            other.execute(f'GRANT SELECT ON jobs TO "{role}"')
        other.execute("DELETE FROM jobs WHERE status = 'odd'")
        other.commit()
    agent.signal(signal.SIGHUP)
    wait_until(lambda: findings(agent, "closed") == {"unknown-states"}, 20)
    assert len([one for one in agent.events("finding.opened") if one["finding"] == "stale-leases"]) == 1
    assert not [event for event in agent.events() if "LINE" in str(event.get("error"))]


REFUSES = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION E'not this one\\nnor others'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse();
"""


def test_a_refused_job_is_in_the_message_of_the_last_run_for_as_long_as_it_is_refused(
    jobs: Database, start: Start
) -> None:
    versions.install(jobs.connect())
    jobs.execute(REFUSES)
    jobs.execute(EXPIRED.format(name="jobs"))
    start(jobs.dsn, every="200ms")
    message = "SELECT message FROM pgq_ops.task WHERE task = 'reaper'"
    wait_until(lambda: any(told for (told,) in jobs.rows(message)), what="a run that met the job is recorded")
    told = jobs.value(message)
    assert told.startswith("1 job refused: ")
    assert "not this one" in told
    assert "\n" not in told
    time.sleep(1)  # some more passes, which leave it alone
    assert jobs.value(message) == told


REMOTE = """
CREATE FUNCTION remote() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF new.id = 2 THEN RAISE EXCEPTION 'no remote' USING ERRCODE = '08006'; END IF; RETURN new; END $$;
CREATE TRIGGER remote BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION remote();
"""
LEADERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pgq-ops/leader'"


def test_a_trigger_that_cannot_reach_its_own_server_costs_its_job_and_no_leadership(
    jobs: Database, start: Start
) -> None:
    jobs.execute(REMOTE)
    agent = start(jobs.dsn, every="300ms")
    wait_until(agent.leads)
    leader = jobs.rows(LEADERS)
    two = f"{EXPIRED.format(name='jobs')}; {EXPIRED.format(name='jobs')}"
    pending = "SELECT count(*) FROM jobs WHERE status = 'pending'"
    jobs.execute(two)
    wait_until(lambda: jobs.value(pending) == 1)
    jobs.execute(two)
    wait_until(lambda: jobs.value(pending) == 3, what="all but one come back")
    assert agent.leads()
    assert jobs.rows(LEADERS) == leader
    assert not agent.events("task.failed")
    assert [event["job"] for event in agent.events("reaper.conflict")] == ["2"]


def test_a_failed_run_is_recorded_in_one_line(jobs: Database, start: Start, make_role: Roles) -> None:
    role = make_role("reader")
    versions.install(jobs.connect())
    jobs.execute(
        f'GRANT SELECT ON jobs TO "{role}"; GRANT USAGE ON SCHEMA pgq_ops TO "{role}";'
        f' GRANT ALL ON ALL TABLES IN SCHEMA pgq_ops TO "{role}"'
    )
    agent = start(jobs.dsn_as(role), every="300ms")
    message = "SELECT message FROM pgq_ops.task WHERE outcome = 'failed'"
    wait_until(lambda: jobs.rows(message))
    assert " / GRANT UPDATE" in jobs.value(message)
    assert "\n" not in jobs.value(message)
    assert " / GRANT UPDATE" in agent.told("task.failed")["error"]


@needs_pgbouncer
@pytest.mark.case("A2")
def test_behind_a_transaction_pooler_nothing_is_led_until_direct_dsn_leads_past_it(
    jobs: Database, start: Start
) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    with pooled(jobs.dsn, "transaction") as dsn:
        agent = start(dsn)
        refused = agent.told("leader.refused")
        assert "database.direct_dsn" in refused["error"]
        time.sleep(4.5)  # two more ticks
        assert len(agent.events("leader.refused")) == 1
        assert agent.value("pgqops_leader") == 0
        assert agent.value("pgqops_up") == 0
        assert not agent.series("pgqops_jobs")
        assert jobs.value("SELECT count(*) FROM jobs WHERE status = 'running'") == 1
        text = agent.config.read_text()
        direct = f'direct_dsn = "{jobs.dsn}"\n[agent]\n'
        agent.config.write_text(text.replace("[agent]\n", direct))
        wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
        assert agent.leads()
