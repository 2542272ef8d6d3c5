"""When a held horizon is a finding, whom it names, and with what words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from pgq_ops.checks import horizon_held, visibility
from pgq_ops.checks.holder_words import holding
from pgq_ops.checks.look import DatabaseLook, Look
from pgq_ops.stats.horizon import Holder, Horizon

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding
    from pgq_ops.job_table.table import JobTable

TABLE = cast("JobTable", None)  # neither check looks at it
LIMIT = 60.0

SESSION = Holder(
    kind="backend",
    pid=4242,
    name="report-job",
    user="bi",
    state="idle in transaction",
    seconds=2_520.0,
    xid_age=5_000,
    remedy="pgq-ops transactions end 4242@1.000000",
    started="1.000000",
    backend_type="client backend",
)
UNSEEN = replace(
    SESSION, state="", seconds=None, started="", backend_type="", remedy="SELECT pg_terminate_backend(4242);"
)
SLOT = replace(SESSION, kind="slot", pid=None, name="replica", user="", state="inactive", started="", remedy="drop it")
USED_SLOT = replace(SLOT, pid=7, state="active", seconds=None)
STANDBY = replace(SESSION, kind="standby", pid=8, name="replica", user="repl", state="streaming", seconds=None)
PREPARED = replace(SESSION, kind="prepared", pid=None, name="gid", state="prepared", backend_type="")


def found(*holders: Holder, age_xids: int | None = None) -> list[Finding]:
    age = max((one.xid_age for one in holders), default=0) if age_xids is None else age_xids
    look = Look(TABLE, database=DatabaseLook(Horizon(age, holders), warn_after_seconds=LIMIT))
    return list(horizon_held.check(look))


def test_what_could_not_be_read_and_what_nobody_holds_is_no_finding() -> None:
    assert list(horizon_held.check(Look(TABLE))) == []
    assert found() == []


@pytest.mark.parametrize(
    ("seconds", "xid_age", "expected"),
    [(60.0, 5_000, 0), (60.1, 5_000, 1), (9_000.0, 999, 0), (60.1, 1_000, 1), (59.0, 99_999, 0)],
)
def test_a_session_is_guilty_after_warn_after_and_a_thousand_transactions(
    seconds: float, xid_age: int, expected: int
) -> None:
    assert len(found(replace(SESSION, seconds=seconds, xid_age=xid_age))) == expected


@pytest.mark.parametrize(
    ("holder", "xid_age", "expected"),
    [
        (UNSEEN, 99_999, 0),
        (UNSEEN, 100_000, 1),
        (STANDBY, 99_999, 0),
        (STANDBY, 100_000, 1),
        (USED_SLOT, 99_999, 0),
        (USED_SLOT, 100_000, 1),
        (replace(SLOT, seconds=None), 999, 0),
        (replace(SLOT, seconds=None), 1_000, 1),
        (replace(SLOT, seconds=59.0), 1_000, 0),
        (replace(SLOT, seconds=61.0), 1_000, 1),
    ],
)
def test_where_it_is_not_known_since_when_the_transactions_decide_but_an_unused_slot_never_ends_by_itself(
    holder: Holder, xid_age: int, expected: int
) -> None:
    assert len(found(replace(holder, xid_age=xid_age))) == expected


@pytest.mark.parametrize(("xid_age", "expected"), [(5_000, [4242]), (5_001, [7, 4242])])
def test_one_that_is_not_known_since_when_is_guilty_where_it_began_before_one_that_is(
    xid_age: int, expected: list[int]
) -> None:
    """As old as that one is the snapshot of each reader that began after it wrote."""
    unseen = replace(UNSEEN, pid=7, xid_age=xid_age)
    [finding] = found(*sorted([unseen, SESSION], key=lambda one: -one.xid_age))
    assert [one["pid"] for one in finding.evidence["holders"]] == expected
    assert finding.summary.startswith(f"VACUUM has to keep what died in the last {xid_age:,} transactions, because")
    assert f"session {expected[0]} " in finding.summary


@pytest.mark.parametrize(
    ("state", "xid_age", "expected"),
    [("active", 5_000, [4242]), ("active", 5_001, [7, 4242]), ("idle in transaction", 5_000, [4242, 7])],
)
def test_a_statement_whose_snapshot_is_no_older_than_a_writer_is_not_blamed_for_its_long_transaction(
    state: str, xid_age: int, expected: list[int]
) -> None:
    """Under READ COMMITTED its snapshot is new, and so it is without the writer; one that is kept while idle is old."""
    writer = replace(SESSION, wrote=True)
    reader = replace(SESSION, pid=7, state=state, seconds=7_200.0, xid_age=xid_age)
    [finding] = found(*sorted([writer, reader], key=lambda one: -one.xid_age))
    assert [one["pid"] for one in finding.evidence["holders"]] == expected


def test_who_writes_in_another_database_is_told_with_it_and_is_no_session_to_end_from_here() -> None:
    [finding] = found(replace(SESSION, wrote=True, database="shop"), replace(SESSION, pid=7, seconds=1.0))
    assert "session 4242 (report-job, user bi) of database shop has been idle in transaction for 42m" in finding.summary
    [told] = finding.evidence["holders"]
    assert (told["session"], told["database"]) == (None, "shop")


def test_the_oldest_is_named_with_how_many_more_and_all_remedies_come_in_order() -> None:
    second = replace(SESSION, pid=1, xid_age=2_000, remedy="pgq-ops transactions end 1@1.000000")
    short = replace(SESSION, pid=2, seconds=1.0)
    [finding] = found(replace(SESSION, xid_age=80_000), short, second)
    assert (finding.id, finding.severity) == ("horizon-held", "warning")
    assert finding.summary == (
        "VACUUM has to keep what died in the last 80,000 transactions, because session 4242 (report-job, user bi)"
        " has been idle in transaction for 42m; 1 other would keep it too"
    )
    assert finding.remedy.splitlines() == [
        "pgq-ops transactions end 4242@1.000000",
        "pgq-ops transactions end 1@1.000000",
    ]
    assert finding.evidence["age_xids"] == 80_000
    assert finding.evidence["holding"] == 2
    assert [(one["session"], one["xid_age"]) for one in finding.evidence["holders"]] == [
        ("4242@1.000000", 80_000),
        ("1@1.000000", 2_000),
    ]


@pytest.mark.parametrize(("age", "expected"), [(99_999, 0), (100_000, 1)])
def test_short_transactions_that_overlap_are_told_by_the_horizon_s_age(age: int, expected: int) -> None:
    oldest = replace(SESSION, seconds=50.0, xid_age=age, state="active")
    shorter = [replace(SESSION, pid=pid, seconds=20.0, xid_age=40_000) for pid in (1, 2)]
    findings = found(oldest, *shorter, replace(SESSION, pid=3, seconds=0.1, xid_age=10))
    assert len(findings) == expected
    for finding in findings:
        assert finding.summary == (
            "VACUUM has to keep what died in the last 100,000 transactions, though nobody has held it back for more"
            " than 1m: short transactions overlap"
            " (3 now; session 4242 (report-job, user bi) has had a transaction open for 50s)"
        )
        assert "pgq-ops transactions end" not in finding.remedy


@pytest.mark.parametrize(
    ("holder", "words"),
    [
        (replace(SESSION, state="active"), "session 4242 (report-job, user bi) has had a transaction open for 42m"),
        (UNSEEN, "session 4242 (report-job, user bi) has had a transaction open"),
        (replace(UNSEEN, name="", user=""), "session 4242 has had a transaction open"),
        (
            replace(SESSION, state="active", backend_type="logical replication worker", name=""),
            "logical replication worker 4242 (user bi) has had a transaction open for 42m",
        ),
        (PREPARED, 'prepared transaction "gid" (user bi) has been waiting for its COMMIT PREPARED for 42m'),
        (SLOT, 'replication slot "replica" keeps the snapshot of a standby that has not come back for 42m'),
        (USED_SLOT, 'replication slot "replica" keeps the snapshot of a standby that uses it'),
        (STANDBY, "a session on the standby behind walsender 8 (replica, user repl) reads"),
    ],
)
def test_each_kind_has_its_words(holder: Holder, words: str) -> None:
    assert holding(holder) == words


def test_a_role_that_sees_little_is_told_with_the_grant_quoted() -> None:
    limited = Horizon(0, visible=False, role='ops "100%"')
    [finding] = visibility.check(Look(TABLE, database=DatabaseLook(limited)))
    assert finding.remedy == 'GRANT pg_monitor TO "ops ""100%""";'
    assert list(visibility.check(Look(TABLE, database=DatabaseLook(replace(limited, visible=True))))) == []
    assert list(visibility.check(Look(TABLE))) == []
