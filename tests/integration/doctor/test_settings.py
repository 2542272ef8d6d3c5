"""The points about what the workers' sessions begin with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    idle_transaction_timeout,
    read_only_workers,
    synchronous_commit_off,
    tcp_keepalives,
)
from pgq_ops.schema import grants
from pgq_ops.schema.tier import Tier
from pgq_ops.schema.versions import install
from pgq_ops.stats import worker_roles
from pgq_ops.stats.worker_roles import RoleSetting
from tests.support.agent import wait_until
from tests.support.doctor_points import Doctor, doctor, remedies

if TYPE_CHECKING:
    from pgq_ops.checks.production.registry import Point
    from tests.support.database import Database
    from tests.support.roles import Roles

EVERYWHERE = [idle_transaction_timeout, tcp_keepalives, read_only_workers, synchronous_commit_off]


@pytest.fixture
def worker(jobs: Database, make_role: Roles) -> str:
    """A role that works the table; nobody else is judged but the superuser whose session the test is."""
    role = make_role("worker")
    jobs.execute(f'GRANT SELECT, UPDATE ON jobs TO "{role}"')
    return role


def set_for_all(database: Database, setting: str) -> None:
    database.execute(f'ALTER DATABASE "{database.name}" SET {setting}')


def listening(database: Database, addresses: str = "*") -> Doctor:
    """An examination of a server with such listen_addresses; the tests' own has no others than this machine's."""
    one = doctor(database)
    setting = {"listen_addresses": RoleSetting(addresses, "", "server")}
    roles = one.examination.fact(worker_roles.read)
    found = tuple(replace(role, settings={**role.settings, **setting}) for role in roles)
    one.examination._facts[worker_roles.read] = found
    return one


def test_an_open_transaction_without_an_end_is_found_and_the_remedy_ends_it(jobs: Database, worker: str) -> None:
    finding = doctor(jobs).finding(idle_transaction_timeout)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["roles"][worker] == "0 (server)"
    assert "stays open for ever" in finding.summary
    for statement in remedies(finding):
        if worker in statement:
            jobs.execute(statement)
    set_for_all(jobs, "idle_in_transaction_session_timeout = '1h'")
    text = doctor(jobs).passed(idle_transaction_timeout)
    assert worker in text
    assert "after 1h at most" in text


def test_an_idle_timeout_beyond_an_hour_is_none(jobs: Database, worker: str) -> None:
    set_for_all(jobs, "idle_in_transaction_session_timeout = '3601s'")
    finding = doctor(jobs).finding(idle_transaction_timeout)
    assert "for up to 1h" in finding.summary
    assert finding.evidence["roles"][worker] == "3601s (database)"


def test_a_bound_on_whole_transactions_bounds_idle_ones_too(jobs: Database, worker: str, pg_major: int) -> None:
    if pg_major < 17:
        assert "transaction_timeout" not in doctor(jobs).examination.fact(worker_roles.read)[0].settings
        return
    set_for_all(jobs, "transaction_timeout = '5min'")
    assert worker in doctor(jobs).passed(idle_transaction_timeout)


@pytest.mark.usefixtures("worker")
def test_settings_are_taken_from_the_role_in_the_database_then_the_role_then_the_database(
    jobs: Database, make_role: Roles
) -> None:
    roles = {name: make_role(name) for name in ("inside", "anywhere", "plain")}
    for role in roles.values():
        jobs.execute(f'GRANT UPDATE ON jobs TO "{role}"')
    name = "idle_in_transaction_session_timeout"
    set_for_all(jobs, f"{name} = '10s'")
    for role in (roles["inside"], roles["anywhere"]):
        jobs.execute(f"ALTER ROLE \"{role}\" SET {name} = '20s'")
    jobs.execute(f'ALTER ROLE "{roles["inside"]}" IN DATABASE "{jobs.name}" SET {name} = 30000')
    found = {role.name: role.settings[name] for role in doctor(jobs).examination.fact(worker_roles.read)}
    seen = {name: (found[role].seconds, found[role].source) for name, role in roles.items()}
    assert seen == {"inside": (30, "role in database"), "anywhere": (20, "role"), "plain": (10, "database")}
    for role in roles.values():  # what the server itself gives them
        session = jobs.connect(user=role)
        assert session.execute("SHOW idle_in_transaction_session_timeout").fetchall() == [
            ({30.0: "30s", 20.0: "20s", 10.0: "10s"}[found[role].seconds or 0],)
        ]
        session.close()


def test_only_roles_that_can_update_the_table_and_log_in_are_judged(
    jobs: Database, worker: str, make_role: Roles
) -> None:
    reader, group = make_role("reader"), make_role("group", "NOLOGIN")
    member = make_role("member", member_of=(group,))
    jobs.execute(f'GRANT SELECT ON jobs TO "{reader}"')
    jobs.execute(f'GRANT UPDATE (status) ON jobs TO "{group}"')
    roles = {role.name for role in doctor(jobs).examination.fact(worker_roles.read)}
    assert {worker, member} <= roles
    assert roles & {reader, group} == set()


def test_the_role_of_pgq_ops_is_no_worker_unless_others_use_it_or_it_owns_the_table(
    jobs: Database, worker: str
) -> None:
    def judged() -> set[str]:
        return {role.name for role in doctor(jobs).examination.fact(worker_roles.read)}

    agent = jobs.connect(user=worker, application_name="pgq-ops/leader")
    assert worker not in judged()
    other = jobs.connect(user=worker, application_name="worker-7")
    assert worker in judged()
    other.close()
    wait_until(lambda: worker not in judged(), 10)
    jobs.execute(f'ALTER TABLE jobs OWNER TO "{worker}"')
    assert worker in judged()
    agent.close()


@pytest.mark.parametrize("installed", [False, True])
def test_a_role_with_the_grants_of_pgq_ops_is_no_worker_also_while_no_agent_is_connected(
    jobs: Database,
    worker: str,
    make_role: Roles,
    installed: bool,  # noqa: FBT001
) -> None:
    def judged() -> set[str]:
        return {role.name for role in doctor(jobs).examination.fact(worker_roles.read)}

    admin, role = jobs.connect(), make_role("ops")
    if installed:
        install(admin)
    tiers = {Tier.REAP, Tier.DEAD} if installed else {Tier.REAP}
    grants.apply(admin, grants.plan(admin, role, [doctor(jobs).examination.table], tiers))
    assert worker in judged()
    assert role not in judged()
    other = jobs.connect(user=role, application_name="worker-7")
    assert role in judged()
    other.close()
    wait_until(lambda: role not in judged(), 10)
    jobs.execute(f'ALTER TABLE jobs OWNER TO "{role}"')
    assert role in judged()


def test_a_worker_that_may_write_a_claim_and_no_more_is_one(jobs: Database, make_role: Roles) -> None:
    role = make_role("least")
    columns = "status, run_at, locked_by, lease_until, attempts, finished_at"
    jobs.execute(f'GRANT SELECT, UPDATE ({columns}) ON jobs TO "{role}"')
    assert role in {one.name for one in doctor(jobs).examination.fact(worker_roles.read)}


def test_a_server_value_that_hides_behind_the_own_role_s_is_unknown_and_not_passed(
    jobs: Database, make_role: Roles, worker: str
) -> None:
    observer = make_role("observer", member_of=("pg_monitor",))
    jobs.execute(f'GRANT SELECT ON jobs TO "{observer}"')
    jobs.execute(f"ALTER ROLE \"{observer}\" SET idle_in_transaction_session_timeout = '1s'")
    jobs._connection().close()  # the superuser's own session: only the worker is left to judge
    text = doctor(jobs, role=observer).unknown(idle_transaction_timeout)
    assert worker in text


@pytest.mark.parametrize("point", EVERYWHERE[:2])
def test_nobody_to_judge_is_unknown(jobs: Database, make_role: Roles, point: object) -> None:
    observer = make_role("observer", member_of=("pg_monitor",))
    jobs.execute(f'GRANT SELECT ON jobs TO "{observer}"')
    jobs._connection().close()
    assert "no role is known" in doctor(jobs, role=observer).unknown(point)  # type: ignore[arg-type]


def test_keepalives_of_two_hours_are_found_and_the_remedy_cures_them(jobs: Database, worker: str) -> None:
    finding = listening(jobs).finding(tcp_keepalives)
    assert finding.evidence["roles"] == {
        worker: dict.fromkeys(("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"), "0 (server)")
    }
    assert "2h11m" in finding.summary
    for statement in remedies(finding):
        jobs.execute(statement)
    text = listening(jobs).passed(tcp_keepalives)
    assert f"{worker}: noticed within 1m30s" in text


@pytest.mark.parametrize(("idle", "passes"), [(270, True), (271, False)])
def test_keepalives_may_take_as_long_as_a_lease(jobs: Database, worker: str, idle: int, *, passes: bool) -> None:
    for setting in (f"tcp_keepalives_idle = {idle}", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3"):
        jobs.execute(f'ALTER ROLE "{worker}" IN DATABASE "{jobs.name}" SET {setting}')
    one = listening(jobs)
    assert one.passed(tcp_keepalives) if passes else one.finding(tcp_keepalives)


def test_keepalives_do_not_matter_where_idle_transactions_end_anyway(jobs: Database, worker: str) -> None:
    set_for_all(jobs, "idle_in_transaction_session_timeout = '30s'")
    assert f"{worker}: an idle transaction is ended after 30s" in listening(jobs).passed(tcp_keepalives)


@pytest.mark.parametrize("addresses", ["", "localhost", "127.0.0.1, ::1"])
@pytest.mark.usefixtures("worker")
def test_keepalives_do_not_matter_where_nobody_can_come_from_another_machine(jobs: Database, addresses: str) -> None:
    assert "this machine alone" in listening(jobs, addresses).passed(tcp_keepalives)
    assert listening(jobs, f"{addresses},10.0.0.1").finding(tcp_keepalives)


def test_it_does_not_matter_who_is_connected_just_then(jobs: Database, worker: str) -> None:
    before = listening(jobs).finding(tcp_keepalives)
    sessions = [jobs.connect(user=worker, application_name="worker-7"), jobs.connect()]
    assert listening(jobs).finding(tcp_keepalives) == before
    for session in sessions:
        session.close()


@pytest.mark.parametrize("point", [idle_transaction_timeout, read_only_workers, synchronous_commit_off])
@pytest.mark.usefixtures("worker")
def test_what_passes_by_the_settings_alone_says_that_no_more_was_seen(jobs: Database, point: Point) -> None:
    set_for_all(jobs, "idle_in_transaction_session_timeout = '1min'")
    assert doctor(jobs).passed(point).endswith("; what a session sets for itself is not seen")


def test_workers_that_may_not_write_are_found(jobs: Database, worker: str) -> None:
    assert worker in doctor(jobs).passed(read_only_workers)
    jobs.execute(f'ALTER ROLE "{worker}" SET default_transaction_read_only = on')
    finding = doctor(jobs).finding(read_only_workers)
    assert finding.evidence["roles"] == {worker: "on (role)"}
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert worker in doctor(jobs).passed(read_only_workers)


def test_commits_that_are_reported_before_they_are_safe_are_found(jobs: Database, worker: str) -> None:
    assert "synchronous_commit is on" in doctor(jobs).passed(synchronous_commit_off)
    jobs.execute(f'ALTER ROLE "{worker}" SET synchronous_commit = off')
    assert doctor(jobs).finding(synchronous_commit_off).evidence["roles"] == {worker: "off (role)"}
