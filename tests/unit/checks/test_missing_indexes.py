"""How bad a missing index is: by what claims cost now, whatever the size of the table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from psycopg.sql import SQL

from pgq_ops.checks import missing_indexes
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.look import Look
from pgq_ops.checks.one_chain import told_once
from pgq_ops.job_table.table import StateRule
from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan
from pgq_ops.stats.index_support import IndexSupport, Question, Serving
from pgq_ops.stats.leases import Looks
from pgq_ops.stats.table_health import TableHealth
from tests.unit.checks.test_claims_costly import HEALTHY, LEAF, TABLE, TIMED_OUT

SORT = ClaimPlan("Sort of Seq Scan", (), rows_read=112_184, rows_returned=1, sorts=True, scans_table=True)
INDEX = Serving((), (), whole=True, look=SQL(""))
PENDING = replace(TABLE, states={"pending": StateRule(where="status = 'pending'")})


def found(claim: ClaimCost | None, *serving: Question, small: bool = True) -> Finding | None:
    support = IndexSupport(dict.fromkeys(serving, INDEX), small, Looks(SQL(""), SQL("")), ())
    health = TableHealth((replace(LEAF, dead_rows=0),))
    look = Look(PENDING, support=support, claim=claim, best_claim=HEALTHY, health=health)
    return next(iter(missing_indexes.check(look)), None)


@pytest.mark.parametrize(
    ("claim", "small", "severity"),
    [
        (ClaimCost(1_386, 0.03, SORT), True, Severity.CRITICAL),
        (ClaimCost(1_000, 0.03, SORT), False, Severity.CRITICAL),
        (ClaimCost(999, 0.03, SORT), True, Severity.WARNING),
        (ClaimCost(100, 0.03, SORT), True, Severity.WARNING),
        (ClaimCost(99, 0.03, SORT), True, Severity.INFO),
        (ClaimCost(99, 0.03, SORT), False, Severity.WARNING),
        (TIMED_OUT, True, Severity.CRITICAL),
        (None, True, Severity.INFO),
        (None, False, Severity.WARNING),
    ],
)
def test_it_is_as_bad_as_claims_are_slow(claim: ClaimCost | None, small: bool, severity: Severity) -> None:  # noqa: FBT001
    finding = found(claim, small=small)
    assert finding is not None
    assert finding.severity is severity


def test_the_cost_is_told() -> None:
    finding = found(ClaimCost(1_386, 0.03, SORT))
    assert finding is not None
    assert finding.summary == (
        "public.jobs: no index leads to the pending jobs, so each claim reads the whole table:"
        " claims read 1,386 buffers (3 when healthy)"
    )
    assert (finding.evidence["buffers"], finding.evidence["healthy_buffers"]) == (1_386, 3)


@pytest.mark.parametrize(
    ("buffers", "sorts", "serving", "expected"),
    [
        (100, True, Question.PENDING, True),
        (99, True, Question.PENDING, False),
        (100, False, Question.PENDING, False),
        (100, True, Question.PENDING_IN_ORDER, False),
    ],
)
def test_an_index_in_another_order_is_none_where_claims_are_costly_by_their_sort(
    buffers: int,
    sorts: bool,  # noqa: FBT001
    serving: Question,
    expected: bool,  # noqa: FBT001
) -> None:
    finding = found(ClaimCost(buffers, 0.03, replace(SORT, sorts=sorts, scans_table=False)), serving)
    assert (finding is not None) is expected
    if finding is not None:
        assert "in the order of claims, so each one sorts all that are due" in finding.summary


def test_that_the_plan_has_changed_is_not_told_beside_it_where_the_same_index_mends_both() -> None:
    missing = Finding("no-pending-index", Severity.CRITICAL, "", {}, "CREATE INDEX a;")
    changed = Finding("claim-plan-changed", Severity.WARNING, "", {}, "CREATE INDEX a;")
    assert told_once([changed, missing]) == [missing]
    assert told_once([changed, replace(missing, severity=Severity.INFO)]) == [changed]
    other = replace(changed, remedy="ANALYZE jobs;")
    assert told_once([other, missing]) == [other, missing]
    assert told_once([changed]) == [changed]
