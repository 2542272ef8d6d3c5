"""The agent's task: who is ended by the terms of `[transactions]`, and who is not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.config.transactions import EndOnly, Transactions
from pgq_ops.errors import ActionFailed, NotPermitted
from pgq_ops.stats import transactions
from pgq_ops.tasks.end_session import SESSIONS_ENDED, Fate
from pgq_ops.tasks.end_transactions import EndTransactions
from pgq_ops.tasks.task import Outcome
from tests.support.agent import JOBS, Agent, wait_until
from tests.support.binding import BoundTable, bind_toml
from tests.support.jobs import FIELD, create_field_table
from tests.support.sessions import is_there, opened, pid, transaction_of

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.tasks.end_result import EndResult
    from tests.support.database import Database
    from tests.support.roles import Roles

REPORTS = EndOnly(application_name="report-*")


@pytest.fixture
def bi(database: Database, make_role: Roles) -> str:
    """The role of the reports, beside a job table."""
    create_field_table(database)
    role = make_role("bi")
    database.execute(f'GRANT ALL ON jobs TO "{role}"')
    return role


def terms(*rules: EndOnly, end_after: float = 0.001, every: float = 0.001, **others: Any) -> Transactions:
    durations = {"end_after": timedelta(seconds=end_after), "every": timedelta(seconds=every)}
    return Transactions.model_construct(**{"action": "terminate", "end_only": rules, **durations, **others})


def ended(bound: BoundTable, terms: Transactions, batches: int = 99) -> EndResult:
    left = iter([True] * batches)
    return EndTransactions(terms).run(bound.connection, bound.table, lambda: next(left, False))


def names(result: EndResult) -> list[str]:
    return [one.application_name for one in result.sessions]


def test_only_those_that_the_file_names_are_ended(database: Database, bi: str) -> None:
    report, web = (opened(database, name, "SELECT FROM jobs", user=bi) for name in ("report-1", "web"))
    bound = bind_toml(database, FIELD)
    nobody = ended(bound, terms())
    assert (nobody.sessions, nobody.outcome, nobody.message) == ((), Outcome.NOTHING, "")
    assert SESSIONS_ENDED.labels(database.name)._value.get() == 0, "it begins at 0"
    result = ended(bound, terms(REPORTS))
    assert (names(result), result.outcome) == (["report-1"], Outcome.OK)
    assert result.message.startswith(f"ended session {result.sessions[0].session} (report-1, user {bi}), idle in ")
    assert not is_there(database, pid(report))
    assert is_there(database, pid(web))
    assert SESSIONS_ENDED.labels(database.name)._value.get() == 1
    assert ended(bound, terms(REPORTS)).sessions == ()


def test_a_transaction_is_ended_once_it_is_older_than_end_after_and_not_before(database: Database, bi: str) -> None:
    older = opened(database, "report-old", "SELECT FROM jobs", user=bi)
    wait_until(lambda: transaction_of(database, older).seconds > 0.3)
    younger = opened(database, "report-new", "SELECT FROM jobs", user=bi)
    limit = transaction_of(database, older).seconds - 0.1
    assert transaction_of(database, younger).seconds < limit
    result = ended(bind_toml(database, FIELD), terms(REPORTS, end_after=limit))
    assert names(result) == ["report-old"]
    assert is_there(database, pid(younger))


def test_one_that_is_at_work_or_has_just_been_is_not_ended_however_old_it_is(database: Database, bi: str) -> None:
    working, busy = (opened(database, name, "SELECT FROM jobs", user=bi) for name in ("report-1", "report-2"))
    working.pgconn.send_query(b"SELECT pg_sleep(60)")
    wait_until(lambda: transaction_of(database, busy).seconds > 0.5)
    busy.execute("SELECT 1")
    # Each transaction is old enough; the one has never been idle for a round, the other is not idle.
    result = ended(bind_toml(database, FIELD), terms(REPORTS, end_after=0.5, every=30))
    assert result.sessions == ()
    wait_until(lambda: (transaction_of(database, busy).idle_seconds or 0) > 0.1)
    assert names(ended(bind_toml(database, FIELD), terms(REPORTS, end_after=0.5, every=0.1))) == ["report-2"]
    assert is_there(database, pid(working))
    working.cancel()


@pytest.mark.usefixtures("bi")
def test_superusers_and_sessions_of_ours_are_not_ended_even_if_named(database: Database) -> None:
    opened(database, "report-1", "SELECT FROM jobs")
    opened(database, "pgq-ops/probes", "SELECT FROM jobs")
    assert ended(bind_toml(database, FIELD), terms(EndOnly(application_name="*"))).sessions == ()


def test_the_plan_says_who_and_ends_nobody(database: Database, bi: str) -> None:
    session = opened(database, "report-1", "SELECT FROM jobs", user=bi)
    bound = bind_toml(database, FIELD, read_only=True)
    plan = EndTransactions(terms(REPORTS)).plan(bound.connection, bound.table)
    assert [(one.application_name, one.fate) for one in plan.sessions] == [("report-1", Fate.ENDED)]
    assert plan.as_json()["dry_run"] is True
    assert is_there(database, pid(session))


def test_a_guard_that_says_no_ends_the_round(database: Database, bi: str) -> None:
    for n in range(3):
        opened(database, f"report-{n}", "SELECT FROM jobs", user=bi)
    bound = bind_toml(database, FIELD)
    assert len(ended(bound, terms(REPORTS), batches=2).sessions) == 2
    assert len(transactions.read(bound.connection).sessions) == 1


@pytest.mark.parametrize(("members", "grant"), [((), "pg_monitor"), (("pg_monitor",), "pg_signal_backend")])
def test_what_the_role_lacks_is_raised_with_the_grant(
    database: Database, bi: str, make_role: Roles, members: tuple[str, ...], grant: str
) -> None:
    role = make_role("agent", member_of=members)
    database.execute(f'GRANT ALL ON jobs TO "{role}"')
    session = opened(database, "report-1", "SELECT FROM jobs", user=bi)
    with pytest.raises(NotPermitted, match=f'GRANT {grant} TO "{role}";'):
        ended(bind_toml(database, FIELD, role=role), terms(REPORTS))
    assert is_there(database, pid(session))


def test_one_that_would_not_end_is_raised(database: Database, bi: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(database, "report-1", "SELECT FROM jobs", user=bi)
    # It is told to end by a function that does nothing.
    monkeypatch.setattr("pgq_ops.tasks.end_session.WAIT_MS", 0)
    bound = bind_toml(database, FIELD)
    database.execute("ALTER FUNCTION pg_catalog.pg_terminate_backend(int, bigint) RENAME TO really_terminate")
    nothing = "CREATE FUNCTION pg_catalog.pg_terminate_backend(int, bigint) RETURNS bool LANGUAGE sql AS 'SELECT false'"
    database.execute(nothing)
    with pytest.raises(ActionFailed, match="it was told to end and had not"):
        ended(bound, terms(REPORTS))
    assert is_there(database, pid(session))
    assert SESSIONS_ENDED.labels(database.name)._value.get() == 0


SECTION = '[transactions]\nevery = "200ms"\nwarn_after = "100ms"\naction = "terminate"\nend_after = "1s"\nend_only = [{ application_name = "report-*" }]\n'


@pytest.mark.parametrize("mode", ["manage", "observe"])
def test_an_agent_ends_sessions_where_it_manages_and_only_reports_where_it_observes(
    database: Database, make_role: Roles, tmp_path: Path, mode: str
) -> None:
    role = make_role("bi")
    database.execute(JOBS.format(name="jobs") + JOBS.format(name="more"))
    session = opened(database, "report-1", "SELECT 1", user=role)
    opened(database, "web", "SELECT 1", user=role)
    one = transaction_of(database, session)
    with Agent(tmp_path, database.dsn, "jobs", "more", mode=mode, agent=SECTION) as agent:
        found = ('finding="idle-in-transaction"', 'job_table="jobs"')
        wait_until(lambda: agent.value("pgqops_findings", *found) == 1)
        if mode == "observe":
            wait_until(lambda: transaction_of(database, session).seconds > 3)
            wait_until(lambda: (agent.value("pgqops_longest_transaction_seconds") or 0) > 3)
            assert is_there(database, one.pid)
            assert agent.value("pgqops_task_interval_seconds", 'task="transactions"') is None
            assert agent.events("transactions.session_ended") == []
            return
        event = agent.told("transactions.session_ended")
        assert (event["session"], event["application_name"], event["user"]) == (one.session, "report-1", role)
        assert event["why"] == 'idle in a transaction older than end_after (1s), by { application_name = "report-*" }'
        assert event["seconds"] >= 1
        wait_until(lambda: agent.value("pgqops_sessions_ended_total") == 1)
        assert not is_there(database, one.pid)
        wait_until(lambda: agent.value("pgqops_idle_in_transaction_sessions") == 1, what="the other one is left alone")
        runs = agent.series("pgqops_task_interval_seconds")
        assert [labels for labels in runs if 'task="transactions"' in labels and 'job_table="jobs"' in labels]
        assert not [labels for labels in runs if 'task="transactions"' in labels and 'job_table="more"' in labels]
