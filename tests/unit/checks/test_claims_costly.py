"""The chain: when claims are costly, whom it blames, and which other findings it takes the place of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks import claims_costly
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.checks.one_chain import LINKS, NAMING_THE_HOLDER
from pgq_ops.checks.registry import IDS, findings_of
from pgq_ops.job_table.columns import Clock
from pgq_ops.job_table.table import JobTable, Relation
from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan
from pgq_ops.stats.horizon import Holder, Horizon
from pgq_ops.stats.table_health import LeafHealth, TableHealth
from pgq_ops.stats.transactions import Transaction, Transactions
from pgq_ops.stats.vacuum_watch import VacuumOutcome

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding

TABLE = JobTable(
    "jobs",
    Relation(1, "public", "jobs"),
    partitioned=False,
    key=(),
    fields={},
    states={},
    policies=(),
    clock=Clock("UTC"),
)
AT = 1_796_032_560.0  # 2026-11-30 09:56 UTC
PLAN = ClaimPlan("Index Scan using jobs_pending", ("jobs_pending",), rows_read=1, rows_returned=1)
HEALTHY = ClaimCost(3, 0.0001, PLAN)
COSTLY = ClaimCost(10_199, 0.02, PLAN)
TIMED_OUT = ClaimCost(None, None, None, timed_out=True, timeout_seconds=0.1, planned="Index Scan using jobs_pending")
LEAF = LeafHealth(
    oid=1,
    name="jobs",
    schema="public",
    live_rows=100_000,
    dead_rows=80_000,
    vacuum_threshold=20_050.0,
    autovacuum_enabled=True,
    last_vacuum=None,
    last_autovacuum=AT - 90,
    vacuum_running=False,
    table_bytes=0,
    index_bytes=0,
    xid_age=0,
)
HOLDER = Holder(
    kind="backend",
    pid=4242,
    name="report-job",
    user="bi",
    state="idle in transaction",
    seconds=2_520.0,
    xid_age=90_000,
    remedy="pgq-ops transactions end 4242@1796030040.000000",
    started="1796030040.000000",
    backend_type="client backend",
)
OTHER = replace(HOLDER, pid=5, name="other", started="1796030050.000000", remedy="pgq-ops transactions end 5@1")
SESSION = Transaction(
    pid=4242,
    started="1796030040.000000",
    application_name="report-job",
    user="bi",
    client="",
    state="idle in transaction",
    seconds=2_520.0,
    idle_seconds=2_519.0,
    xid_age=90_000,
    superuser=False,
)


def look(
    *holders: Holder,
    claim: ClaimCost | None = COSTLY,
    best: ClaimCost | None = HEALTHY,
    leaves: tuple[LeafHealth, ...] = (LEAF,),
    sessions: tuple[Transaction, ...] = (),
    age_xids: int | None = None,
) -> Look:
    age = max((one.xid_age for one in holders), default=0) if age_xids is None else age_xids
    database = DatabaseLook(Horizon(age, holders), Transactions(sessions), warn_after_seconds=60.0)
    return Look(TABLE, claim=claim, best_claim=best, health=TableHealth(leaves, at=AT), database=database)


def found(*holders: Holder, **parts: object) -> Finding | None:
    return next(iter(claims_costly.check(look(*holders, **parts))), None)  # type: ignore[arg-type]


def test_the_chain_is_one_sentence_with_its_numbers_and_the_commands_that_end_it() -> None:
    chain = found(HOLDER)
    assert chain is not None
    assert chain.severity == "critical"
    assert chain.summary == (
        "claims of public.jobs read 10,199 buffers (3 when healthy): 80,000 dead rows cannot be removed since 09:14"
        " UTC, because session 4242 (report-job, user bi) has been idle in transaction for 42m"
    )
    assert chain.evidence["holder"]["session"] == "4242@1796030040.000000"
    assert (chain.evidence["buffers"], chain.evidence["healthy_buffers"]) == (10_199, 3)
    assert chain.evidence["dead_rows"] == {"public.jobs": 80_000}
    assert chain.remedy.splitlines() == [
        "# in a shell:",
        "pgq-ops transactions end 4242@1796030040.000000",
        "-- then, in psql:",
        'VACUUM (INDEX_CLEANUP on, TRUNCATE off) "public"."jobs";',
    ]


@pytest.mark.parametrize(
    ("buffers", "healthy", "severity"),
    [
        (99, 3, None),
        (100, 3, "warning"),
        (999, 3, "warning"),
        (1_000, 3, "critical"),
        (499, 50, None),
        (500, 50, "warning"),
        (1_499, 150, None),
        (1_500, 150, "critical"),
    ],
)
def test_a_claim_is_costly_or_slow_by_its_pages_and_by_ten_times_what_is_healthy(
    buffers: int, healthy: int, severity: str | None
) -> None:
    leaf = replace(LEAF, live_rows=10**9)
    leaves = tuple(replace(leaf, name=f"jobs_{number}") for number in range(100))  # a hundred trees: no lower bound
    chain = found(HOLDER, claim=replace(COSTLY, buffers=buffers), best=replace(HEALTHY, buffers=healthy), leaves=leaves)
    assert (chain.severity if chain else None) == severity


@pytest.mark.parametrize(("live", "healthy"), [(1, 2), (200, 2), (40_000, 3), (40_001, 4), (10_000_000, 5), (None, 2)])
def test_without_a_best_claim_healthy_is_what_the_tree_asks_for(live: int | None, healthy: int) -> None:
    chain = found(HOLDER, best=None, leaves=(replace(LEAF, live_rows=live),))
    assert chain is not None
    assert chain.evidence["healthy_buffers"] == healthy


def test_an_agent_that_began_in_the_middle_of_it_does_not_take_its_best_claim_for_healthy() -> None:
    chain = found(HOLDER, best=replace(COSTLY, buffers=9_000))
    assert chain is not None
    assert chain.evidence["healthy_buffers"] == 4


@pytest.mark.parametrize(
    ("dead", "expected"), [(999, False), (1_000, True), (5_097, True)], ids=["unfelt", "felt", "enough for 10,199"]
)
def test_dead_rows_explain_a_cost_from_a_thousand_on(dead: int, expected: bool) -> None:  # noqa: FBT001
    claim = replace(COSTLY, buffers=500 if dead < 5_000 else 10_196)
    chain = found(replace(HOLDER, xid_age=6_000), claim=claim, leaves=(replace(LEAF, dead_rows=dead),))
    assert (chain is not None) is expected


def test_more_pages_than_two_a_dead_row_have_another_reason() -> None:
    assert found(HOLDER, leaves=(replace(LEAF, dead_rows=5_097),)) is None


@pytest.mark.parametrize(
    "claim",
    [
        replace(COSTLY, plan=replace(PLAN, sorts=True)),
        replace(COSTLY, plan=replace(PLAN, scans_table=True, indexes=())),
        replace(COSTLY, plan=replace(PLAN, rows_read=9_000)),
        replace(TIMED_OUT, planned="Seq Scan"),
        replace(TIMED_OUT, planned="Sort of Index Scan using other"),
        replace(TIMED_OUT, planned=""),
        None,
    ],
    ids=["sorts", "scans", "live rows in the way", "timed out scanning", "timed out sorting", "unknown", "not read"],
)
def test_claims_that_cost_much_by_their_plan_are_no_chain(claim: ClaimCost | None) -> None:
    assert found(HOLDER, claim=claim) is None


def test_a_claim_that_times_out_by_its_index_over_dead_rows_is_the_chain() -> None:
    chain = found(HOLDER, claim=TIMED_OUT)
    assert chain is not None
    assert chain.severity == "critical"
    assert chain.summary.startswith("claims of public.jobs take longer than 0.1s (3 buffers when healthy): 80,000 dead")
    assert chain.evidence["buffers"] is None
    assert found(HOLDER, claim=TIMED_OUT, leaves=(replace(LEAF, dead_rows=9_999),)) is None


@pytest.mark.parametrize(
    ("holder", "blamed"),
    [
        (replace(HOLDER, seconds=59.9), False),
        (replace(HOLDER, seconds=60.0), True),
        (replace(HOLDER, xid_age=79), False),
        (replace(HOLDER, xid_age=80), True),
        (replace(HOLDER, seconds=None, xid_age=99_999), False),
        (replace(HOLDER, seconds=None, xid_age=100_000), True),
        (replace(HOLDER, kind="slot", pid=None, state="inactive", seconds=None), True),
    ],
)
def test_a_holder_is_blamed_for_going_on_too_long_and_for_what_died_since_it_began(
    holder: Holder,
    blamed: bool,  # noqa: FBT001
) -> None:
    chain = found(holder, age_xids=0)
    assert chain is not None
    assert (chain.evidence["holder"] is not None) is blamed
    assert ("cannot be removed" in chain.summary) is blamed


@pytest.mark.parametrize(
    ("vacuumed", "left", "blamed"), [(29.0, 40_000, True), (29.0, 39_999, False), (31.0, 80_000, False)]
)
def test_a_vacuum_that_came_since_and_left_them_proves_it_at_once(
    vacuumed: float,
    left: int,
    blamed: bool,  # noqa: FBT001
) -> None:
    leaf = replace(LEAF, last_autovacuum=AT - vacuumed, outcome=VacuumOutcome(0, left))
    chain = found(replace(HOLDER, seconds=30.0, xid_age=5), leaves=(leaf,))
    assert chain is not None
    assert (chain.evidence["holder"] is not None) is blamed


@pytest.mark.parametrize(
    ("under", "left", "now", "blamed"),
    [
        (HOLDER, 80_000, (OTHER,), None),
        (HOLDER, 80_000, (), None),
        (None, 80_000, (), None),
        (HOLDER, 80_000, (HOLDER, OTHER), 4242),
        (HOLDER, 39_999, (OTHER,), 5),
        (replace(HOLDER, xid_age=79), 80_000, (OTHER,), 5),
        (None, 80_000, (OTHER,), 5),
    ],
    ids=["gone", "all gone", "all gone, unknown who", "still there", "most died later", "came too late", "unknown who"],
)
def test_what_an_older_holder_kept_from_the_last_vacuum_nobody_else_is_blamed_for(
    under: Holder | None, left: int, now: tuple[Holder, ...], blamed: int | None
) -> None:
    leaf = replace(LEAF, outcome=VacuumOutcome(0, left, under))
    chain = found(*now, leaves=(leaf,))
    assert chain is not None
    assert (chain.evidence["holder"] or {}).get("pid") == blamed
    if blamed is None:
        assert "80,000 dead rows in the way that the last vacuum could not remove: " in chain.summary
        assert chain.remedy == 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) "public"."jobs";'


@pytest.mark.parametrize(("xid_age", "sure"), [(79_999, False), (80_000, True)])
def test_where_fewer_transactions_came_than_rows_died_vacuum_is_tried_before_anybody_is_ended(
    xid_age: int,
    sure: bool,  # noqa: FBT001
) -> None:
    chain = found(replace(HOLDER, xid_age=xid_age))
    assert chain is not None
    assert ("80,000 dead rows cannot be removed since 09:14 UTC, because session 4242" in chain.summary) is sure
    assert ("what died since 09:14 UTC cannot be removed, because session 4242" in chain.summary) is not sure
    assert (chain.remedy.index("VACUUM") < chain.remedy.index("pgq-ops")) is not sure


def test_short_transactions_that_overlap_are_blamed_together() -> None:
    chain = found(replace(HOLDER, seconds=20.0, xid_age=100_000))
    assert chain is not None
    assert "because short transactions overlap" in chain.summary
    assert chain.evidence["holder"] is None


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        (LEAF, "autovacuum does not keep up with public.jobs: the last vacuum was 1m30s ago"),
        (replace(LEAF, last_autovacuum=AT - 59), "autovacuum is due at public.jobs: it looks there every 1m"),
        (replace(LEAF, last_autovacuum=None), "autovacuum is due at public.jobs: it looks there every 1m"),
        (replace(LEAF, last_autovacuum=None, over_seconds=119.0), "autovacuum is due at public.jobs"),
        (
            replace(LEAF, last_autovacuum=None, over_seconds=120.0),
            "autovacuum does not keep up with public.jobs: no vacuum was ever seen there",
        ),
        (replace(LEAF, over_seconds=0.0), "autovacuum is due at public.jobs"),
        (replace(LEAF, vacuum_running=True), "a vacuum is at work"),
        (replace(LEAF, autovacuum_enabled=False), "autovacuum is off for public.jobs"),
        (replace(LEAF, vacuum_threshold=2e6), "autovacuum comes to public.jobs only at 2,000,000"),
    ],
)
def test_without_a_holder_it_says_why_nobody_removed_them(leaf: LeafHealth, why: str) -> None:
    chain = found(leaves=(leaf,))
    assert chain is not None
    assert f"there are 80,000 dead rows in the way, and {why}" in chain.summary
    assert chain.remedy.splitlines()[0] == 'VACUUM (INDEX_CLEANUP on, TRUNCATE off) "public"."jobs";'
    assert ("SET (autovacuum_vacuum_scale_factor" in chain.remedy) is (leaf.vacuum_threshold > 1e6)


@pytest.mark.parametrize(("dead", "expected"), [(4_999, False), (5_000, True)])
def test_without_a_holder_a_few_dead_rows_are_soon_passed_over(dead: int, expected: bool) -> None:  # noqa: FBT001
    chain = found(claim=replace(COSTLY, buffers=800), leaves=(replace(LEAF, dead_rows=dead),))
    assert (chain is not None) is expected


def test_lost_statistics_hide_the_number_and_not_the_holder() -> None:
    lost = replace(LEAF, live_rows=None, dead_rows=None, lost=True)
    chain = found(HOLDER, leaves=(lost,))
    assert chain is not None
    assert "dead rows (how many is not known) cannot be removed since 09:14 UTC" in chain.summary
    assert chain.evidence["dead_rows"] == {"public.jobs": None}
    assert found(leaves=(lost,)) is None


def test_of_many_leaves_those_with_the_dead_rows_are_named() -> None:
    leaves = [replace(LEAF, name=f"jobs_{number}", dead_rows=dead) for number, dead in enumerate((50, 80_000, 9_000))]
    chain = found(HOLDER, leaves=tuple(leaves))
    assert chain is not None
    assert chain.evidence["dead_rows"] == {"public.jobs_1": 80_000, "public.jobs_2": 9_000}
    assert "89,050 dead rows" in chain.summary
    assert chain.remedy.count("VACUUM") == 2


BURIED = replace(LEAF, over_seconds=9_999.0)


@pytest.mark.parametrize("claim", [COSTLY, TIMED_OUT])
def test_the_chain_is_one_finding_and_not_four(claim: ClaimCost) -> None:
    healthy = look(HOLDER, claim=HEALTHY, leaves=(BURIED,), sessions=(SESSION,))
    assert {one.id for one in findings_of(healthy)} == {"dead-rows", "horizon-held"}
    chain = look(HOLDER, claim=claim, leaves=(BURIED,), sessions=(SESSION,))
    assert [one.id for one in findings_of(chain)] == ["claims-costly"]
    at_work = replace(SESSION, state="active", idle_seconds=None)
    chain = look(replace(HOLDER, state="active"), claim=claim, leaves=(BURIED,), sessions=(at_work,))
    assert [one.id for one in findings_of(chain)] == ["claims-costly"]


def test_what_names_somebody_else_too_stays() -> None:
    others = look(HOLDER, OTHER, leaves=(BURIED,), sessions=(SESSION,))
    assert {one.id for one in findings_of(others)} == {"claims-costly", "horizon-held"}
    other_session = replace(SESSION, pid=5, started="1796030050.000000")
    others = look(HOLDER, leaves=(BURIED,), sessions=(SESSION, other_session))
    assert {one.id for one in findings_of(others)} == {"claims-costly", "idle-in-transaction"}


def test_the_same_pid_in_another_transaction_is_somebody_else() -> None:
    later = replace(SESSION, started="1796031000.000000")
    seen = findings_of(look(HOLDER, leaves=(BURIED,), sessions=(later,)))
    assert {one.id for one in seen} == {"claims-costly", "idle-in-transaction"}


def test_without_a_holder_to_blame_who_is_found_holding_is_still_told() -> None:
    innocent = replace(HOLDER, xid_age=79)
    seen = findings_of(look(innocent, leaves=(BURIED,), sessions=(SESSION,)))
    assert {one.id for one in seen} == {"claims-costly", "idle-in-transaction"}


def test_the_rule_names_findings_that_there_are() -> None:
    assert LINKS | NAMING_THE_HOLDER < IDS
