"""Who came after the dead rows is not accused of them: before somebody is ended in vain, VACUUM is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.findings.test_chain_degrees import churn, held, jobs, vacuum
from tests.support.collecting import collection_of

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

__all__ = ["jobs"]


def burn(jobs: Database, transactions: int) -> None:
    """So many transactions that leave no dead row."""
    for _ in range(transactions):
        jobs.execute("SELECT txid_current()")


def end(jobs: Database, pid: int) -> None:
    assert jobs.value("SELECT pg_terminate_backend(%s, 5000)", [pid])


@pytest.mark.usefixtures("jobs")
def test_after_the_guilty_one_is_ended_nobody_else_is_accused_of_what_the_vacuum_left(jobs: Database) -> None:
    collection = collection_of(jobs)
    collection.collector.warn_after_seconds = 0.0
    collection.collect()
    report = held(jobs)
    churn(jobs)
    burn(jobs, 50)
    innocent = held(jobs)
    burn(jobs, 50)
    collection.collect()
    vacuum(jobs, "VACUUM jobs")
    collection.collect()
    chain = collection.finding("claims-costly")
    assert chain.evidence["holder"]["pid"] == report.info.backend_pid
    end(jobs, report.info.backend_pid)
    collection.collect()
    chain = collection.finding("claims-costly")
    assert chain.evidence["holder"] is None
    assert "dead rows in the way that the last vacuum could not remove: session" in chain.summary
    assert f"session {report.info.backend_pid} (report-job, user " in chain.summary
    assert "kept them then, and has let go, so that VACUUM can remove them now" in chain.summary
    assert str(innocent.info.backend_pid) not in chain.remedy
    [command] = chain.remedy.splitlines()
    vacuum(jobs, command)
    collection.collect()
    assert "claims-costly" not in collection.finding_ids(), "as the finding said, nobody else kept them"


@pytest.mark.usefixtures("jobs")
def test_who_looks_but_once_names_whoever_may_keep_them_and_has_vacuum_run_first(
    jobs: Database, make_role: Roles
) -> None:
    churn(jobs)
    innocent = held(jobs, user=make_role("bi"))
    burn(jobs, 50)
    collection = collection_of(jobs)
    collection.collector.warn_after_seconds = 0.0
    collection.collect()
    chain = collection.finding("claims-costly")
    assert "dead rows are in the way, and what died since " in chain.summary
    assert chain.evidence["holder"]["pid"] == innocent.info.backend_pid
    place, command, condition, ending = chain.remedy.splitlines()
    assert (place, condition) == (
        "-- in psql:",
        "# only where that does not remove them, and before it is run again, in a shell:",
    )
    assert ending.startswith("pgq-ops transactions end --yes ")
    vacuum(jobs, command)
    collection.collect()
    assert "claims-costly" not in collection.finding_ids()
