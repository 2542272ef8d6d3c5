"""Settings that a role and a database have for others, and that would end, blind or mislead our sessions."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import LEADER_LIMITS, PROBE_LIMITS, Limits, Purpose, connect
from pgq_ops.errors import DatabaseUnreachable
from tests.support.agent import EXPIRED, wait_until
from tests.support.command import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.agent import Agent
    from tests.support.database import Database
    from tests.support.roles import Roles

    Start = Callable[..., Agent]

# With the first major version that has it.
SETTINGS = {
    "statement_timeout": (14, "20ms"),
    "lock_timeout": (14, "1ms"),
    "idle_session_timeout": (14, "500ms"),
    "idle_in_transaction_session_timeout": (14, "1ms"),
    "transaction_timeout": (17, "100ms"),
    "default_transaction_read_only": (14, "on"),
    "default_transaction_isolation": (14, "serializable"),
    "default_transaction_deferrable": (14, "on"),
    "search_path": (14, "decoy"),
    "TimeZone": (14, "Pacific/Kiritimati"),
    "DateStyle": (14, "SQL, DMY"),
    "IntervalStyle": (14, "sql_standard"),
    "row_security": (14, "on"),
    "bytea_output": (14, "escape"),
    "extra_float_digits": (14, "-15"),
    "client_encoding": (14, "LATIN1"),
    "client_min_messages": (14, "debug1"),
    "standard_conforming_strings": (14, "off"),
    "escape_string_warning": (14, "off"),
    "quote_all_identifiers": (14, "on"),
    "transform_null_equals": (14, "on"),
    "array_nulls": (14, "off"),
    "exit_on_error": (14, "on"),
    "enable_indexscan": (14, "off"),
    "plan_cache_mode": (14, "force_generic_plan"),
    "client_connection_check_interval": (14, "1ms"),
}
# These stay as they are: the user's own names and expressions may depend on the one, and on the others nothing of ours.
LEFT = {
    "search_path",
    "bytea_output",
    "client_min_messages",
    "escape_string_warning",
    "transform_null_equals",
    "enable_indexscan",
    "plan_cache_mode",
}
# A table of the same name, to which the search path leads.
DECOY = """
CREATE SCHEMA decoy;
CREATE TABLE decoy.jobs (LIKE jobs INCLUDING ALL);
GRANT USAGE ON SCHEMA decoy TO PUBLIC;
GRANT ALL ON decoy.jobs TO PUBLIC;
"""


@pytest.fixture(params=["role", pytest.param("database", marks=pytest.mark.networks)])
def hostile(jobs: Database, make_role: Roles, pg_major: int, request: pytest.FixtureRequest) -> str:
    """The DSN of a role that may reap, for which, or for everybody in the database, SETTINGS hold.

    They do not reach the test's own connection, which is open already.
    """
    role = make_role("hampered")
    jobs.execute(DECOY)
    jobs.execute(f'GRANT SELECT, UPDATE ON jobs TO "{role}"')
    whom = f'ROLE "{role}"' if request.param == "role" else f'DATABASE "{jobs.name}"'
    for name, (major, value) in SETTINGS.items():
        if pg_major >= major:
            assigned = value if name == "search_path" else f"'{value}'"
            jobs.execute(f"ALTER {whom} SET {name} = {assigned}")
    return jobs.dsn_as(role)


@pytest.mark.parametrize(("purpose", "limits"), [(Purpose.LEADER, LEADER_LIMITS), (Purpose.PROBES, PROBE_LIMITS)])
def test_what_our_sessions_rely_on_is_the_same_for_every_role(
    jobs: Database, hostile: str, pg_major: int, purpose: Purpose, limits: Limits
) -> None:
    names = [name for name, (major, _) in SETTINGS.items() if major <= pg_major and name not in LEFT]

    def shown(dsn: str) -> dict[str, str]:
        with connect(DatabaseConfig(dsn=SecretStr(dsn)), purpose, limits) as connection:
            rows = connection.execute("SELECT n, current_setting(n) FROM unnest(%s::text[]) AS n", [names]).fetchall()
        return dict(rows)

    theirs = shown(hostile)
    assert theirs == shown(jobs.dsn)
    assert not [name for name in names if theirs[name] == SETTINGS[name][1]]


def answer(agent: Agent, *command: str) -> Any:
    """What a command of the agent's configuration prints as JSON."""
    done = run(*command, "--config", str(agent.config))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_agent_and_commands_work_as_without_them(jobs: Database, hostile: str, start: Start) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    jobs.execute("INSERT INTO jobs (status, available_at) VALUES ('pending', now() - interval '1 hour')")
    agent = start(hostile, mode="observe")
    wait_until(lambda: agent.leads() and agent.value("pgqops_up") == 1, 20)
    assert agent.value("pgqops_jobs", 'state="running"') == 1
    assert agent.value("pgqops_oldest_ready_age_seconds") == pytest.approx(3600, abs=60)
    assert agent.value("pgqops_oldest_expired_lease_seconds") == pytest.approx(60, abs=30)

    [seen] = answer(agent, "inspect", "--json")["job_tables"]
    assert seen["table"] == "public.jobs"
    assert seen["leases"]["expired"] == 1
    assert answer(agent, "reap", "--dry-run", "--json")["job_tables"][0]["requeued"] == 1
    assert answer(agent, "reap", "--yes", "--json")["job_tables"][0]["requeued"] == 1
    assert jobs.value("SELECT available_at > now() AND available_at < now() + interval '1 hour' FROM jobs WHERE id = 1")

    jobs.execute(EXPIRED.format(name="jobs"))
    agent.config.write_text(agent.config.read_text().replace('mode = "observe"', 'mode = "manage"'))
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 3, what="it reaps")
    led_since = time.monotonic()
    wait_until(lambda: time.monotonic() - led_since > 1.5)  # idle for longer than the role's sessions may be
    assert agent.leads()
    assert len(agent.events("leader.gained")) == 2, "as an observer, and once as a manager"
    assert not agent.events("database.not_usable")
    assert not agent.events("task.failed")
    assert not agent.events("probe.failed")
    assert jobs.value("SELECT count(*) FROM decoy.jobs") == 0


@pytest.mark.parametrize("hostile", ["database"], indirect=True)
@pytest.mark.usefixtures("hostile")
def test_the_schema_is_installed_where_they_hold_for_everybody(jobs: Database, tmp_path: Path) -> None:
    installed = run("install", "--yes", cwd=tmp_path, variables={"PGQ_OPS_DSN": jobs.dsn})
    assert installed.returncode == 0, installed.stderr
    assert jobs.value("SELECT count(*) FROM pgq_ops.reap_log") == 0


def test_of_several_hosts_a_role_that_only_reads_finds_the_primary_when_asked_for_it(
    jobs: Database, make_role: Roles
) -> None:
    role = make_role("reader")
    jobs.execute(f'ALTER ROLE "{role}" SET default_transaction_read_only = on')
    server = conninfo_to_dict(jobs.dsn_as(role))
    twice = {name: f"{server[name]},{server[name]}" for name in ("host", "port")}
    dsn = make_conninfo(jobs.dsn_as(role), **twice)
    with pytest.raises(DatabaseUnreachable, match="read-only"):
        connect(DatabaseConfig(dsn=SecretStr(dsn)), Purpose.PROBES, PROBE_LIMITS)
    primary = make_conninfo(dsn, target_session_attrs="primary")
    with connect(DatabaseConfig(dsn=SecretStr(primary)), Purpose.PROBES, PROBE_LIMITS) as connection:
        assert connection.execute("SHOW default_transaction_read_only").fetchone() == ("off",)
