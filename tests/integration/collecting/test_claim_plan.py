"""A claim's plan that got worse, and the one it would have without its state's value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks import claim_plan
from pgq_ops.stats import claim_generic
from pgq_ops.stats.claim_best import better
from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan
from pgq_ops.stats.claim_statements import ClaimStatements
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.checks.finding import Finding
    from pgq_ops.checks.look import Look
    from tests.support.collecting import Collection
    from tests.support.database import Database

INDEX = "CREATE INDEX claim ON jobs (run_at, id) WHERE status = 'pending'"
READY = "INSERT INTO jobs (status, run_at) SELECT %s, now() - make_interval(secs => i) FROM generate_series(%s::int, %s::int) AS i"
WORKERS = "SELECT id FROM jobs WHERE status = $1 AND (run_at IS NULL OR run_at <= now()) ORDER BY run_at, id LIMIT 1"
CHANGED, GENERIC = "claim-plan-changed", "claim-plan-generic"


def _filled(database: Database) -> Collection:
    """Jobs that are done lie before those that wait, as in every queue that has run for a while."""
    create_field_table(database)
    database.execute(INDEX)
    database.execute(READY, ["pending", 1, 100])
    database.execute(READY, ["done", 101, 20_100])
    database.execute("VACUUM ANALYZE jobs")
    return collection_of(database).healthy()


def _best_plan(seen: Collection) -> str | None:
    best = seen.last.look.best_claim if seen.last is not None else None
    return None if best is None or best.plan is None else best.plan.node


def _changed(seen: Collection) -> Finding:
    """What the next look says of the plan, be it told with it or by `no-pending-index`."""
    last = seen.healthy().last
    assert last is not None
    [finding] = claim_plan.check(last.look)
    assert finding.id == CHANGED
    return finding


def test_an_index_that_was_dropped_is_named_with_what_is_read_instead(database: Database) -> None:
    seen = _filled(database)
    assert CHANGED not in seen.finding_ids()
    database.execute("CREATE INDEX by_time ON jobs (run_at)")
    database.execute("ANALYZE jobs")
    database.execute("DROP INDEX claim")
    finding = _changed(seen)
    assert finding.severity == "warning"
    told = seen.finding("no-pending-index")
    assert (told.severity, told.remedy) == ("warning", finding.remedy), "one of the two is enough"
    assert CHANGED not in seen.finding_ids()
    assert finding.evidence["best_plan"] == "Index Scan using claim"
    assert finding.evidence["best_rows_read"] == 1
    assert finding.evidence["plan"] == "Sort of Index Scan using by_time"
    assert finding.evidence["rows_read"] > 20_000
    for part in ("by Sort of Index Scan using by_time, a sort of all", "it read 1 by Index Scan using claim"):
        assert part in finding.summary
    database.execute(finding.remedy)
    assert CHANGED not in {found.id for found in seen.healthy().collect().findings}


def test_a_plan_that_got_worse_stays_found_while_the_queue_is_empty(database: Database) -> None:
    seen = _filled(database)
    database.execute("DROP INDEX claim")
    _changed(seen)
    database.execute("UPDATE jobs SET status = 'done' WHERE status = 'pending'")
    finding = _changed(seen)
    assert finding.evidence["rows_returned"] == 0
    assert "a scan of the whole table" in finding.summary


def test_an_empty_queue_and_one_that_begins_empty_change_no_plan(database: Database) -> None:
    create_field_table(database)
    database.execute(INDEX)
    seen = collection_of(database).healthy()
    assert _best_plan(seen) is None
    database.execute(READY, ["pending", 1, 3])
    seen.healthy()
    database.execute(READY, ["done", 101, 20_100])
    database.execute("VACUUM ANALYZE jobs")
    seen.healthy()
    assert CHANGED not in seen.finding_ids()
    assert _best_plan(seen) == "Index Scan using claim"
    database.execute("UPDATE jobs SET status = 'done' WHERE status = 'pending'")
    for _ in range(2):
        assert CHANGED not in {found.id for found in seen.healthy().collect().findings}


def _cost(buffers: int | None, **plan: object) -> ClaimCost:
    known = {
        "node": "x",
        "rows_read": 1,
        "rows_returned": 1,
        "scans": (("jobs", "claim"),),
        "indexes": ("claim",),
    } | plan
    return ClaimCost(buffers, 0.001, ClaimPlan(**known))  # type: ignore[arg-type]


BY_INDEX = _cost(4)
WHOLE = _cost(1, scans=(("jobs", ""),), indexes=(), scans_table=True)


def test_the_best_claim_found_a_job_and_one_by_index_is_better_than_a_small_table_read_whole() -> None:
    assert better(None, _cost(1, rows_returned=0)) is None
    assert better(None, ClaimCost(None, None, None, timed_out=True)) is None
    assert better(None, WHOLE) is WHOLE
    assert better(WHOLE, BY_INDEX) is BY_INDEX
    assert better(BY_INDEX, WHOLE) is BY_INDEX
    assert better(BY_INDEX, _cost(5)) is BY_INDEX
    renamed = _cost(4, node="renamed")
    assert better(BY_INDEX, renamed) is renamed


def _found(look: Look, now: ClaimCost, best: ClaimCost, **more: object) -> list[str]:
    return [finding.id for finding in claim_plan.check(replace(look, claim=now, best_claim=best, **more))]  # type: ignore[arg-type]


OTHER = (("jobs", "other"),)


def test_it_takes_a_hundred_times_the_rows_and_another_way_to_find_them(database: Database) -> None:
    create_field_table(database)
    look = collection_of(database).collect().look
    whole = {"scans_table": True, "scans": (("jobs", ""),)}
    for now, found in (
        (_cost(900, rows_read=100, scans=OTHER), True),
        (_cost(900, rows_read=99, scans=OTHER), False),
        (_cost(900, rows_read=1_000, rows_returned=11, scans=OTHER), False),
        (_cost(900, rows_read=5_000), False),
        (_cost(900, rows_read=5_000, sorts=True), True),
        (_cost(900, rows_read=5_000, **whole), True),
        (_cost(900, rows_read=5_000, scans=(("a_leaf_of_today", "its_own"),)), False),
        (ClaimCost(None, None, None, timed_out=True), False),
    ):
        assert _found(look, now, BY_INDEX) == ([CHANGED] if found else []), now
    # What was no better before is no change.
    assert _found(look, _cost(900, rows_read=900, scans=OTHER), _cost(90, rows_read=10)) == []


def test_a_claim_whose_state_is_a_parameter_comes_to_read_past_all_that_is_done(database: Database) -> None:
    seen = _filled(database)
    assert GENERIC not in seen.finding_ids()
    database.execute("CREATE INDEX by_time ON jobs (run_at)")
    database.execute("ANALYZE jobs")
    bound = bind_toml(database, FIELD, read_only=True)
    cost = claim_generic.read(bound.connection, bound.table)
    assert cost is not None
    assert cost.generic
    assert cost.planned == "Sort of Index Scan using by_time"
    assert cost.buffers is not None
    assert cost.buffers > 100

    # The server itself, with a worker's prepared statement: after five executions it plans without the value.
    worker = database.connect()
    worker.execute(f"PREPARE claim (text) AS {WORKERS}")
    plans = [str(worker.execute("EXPLAIN EXECUTE claim ('pending')").fetchall()) for _ in range(7)]
    assert "using claim" in plans[0]
    assert "using by_time" in plans[-1]

    seen.healthy()
    finding = seen.finding(GENERIC)
    assert finding.severity == "info"
    assert finding.evidence["generic_buffers"] == pytest.approx(cost.buffers, rel=0.2)
    assert finding.evidence["generic_plan"] == cost.planned
    assert "force_custom_plan" in finding.remedy
    assert seen.value("claim_buffers") == finding.evidence["buffers"]
    assert seen.last is not None
    proven = ClaimStatements(queries=("SELECT id FROM jobs WHERE queue = $2 AND status = $1 FOR UPDATE SKIP LOCKED",))
    [known] = claim_plan.check(replace(seen.last.look, claim_statements=proven))
    assert (known.id, known.severity) == (GENERIC, "warning")


def test_where_a_generic_plan_looks_dear_postgresql_keeps_planning_and_nothing_is_found(database: Database) -> None:
    _filled(database)
    bound = bind_toml(database, FIELD, read_only=True)
    assert claim_generic.read(bound.connection, bound.table) is None
    worker = database.connect()
    worker.execute(f"PREPARE claim (text) AS {WORKERS}")
    plans = [str(worker.execute("EXPLAIN EXECUTE claim ('pending')").fetchall()) for _ in range(7)]
    assert "using claim" in plans[-1]


def test_where_to_plan_costs_more_than_it_saves_postgresql_stops_planning(database: Database) -> None:
    create_field_table(database)
    database.execute(READY, ["pending", 1, 3])
    database.execute(READY, ["done", 4, 60])
    database.execute("ANALYZE jobs")
    bound = bind_toml(database, FIELD, read_only=True)
    assert claim_generic.read(bound.connection, bound.table) is not None
    worker = database.connect()
    worker.execute(f"PREPARE claim (text) AS {WORKERS}")
    plans = [str(worker.execute("EXPLAIN EXECUTE claim ('pending')").fetchall()) for _ in range(7)]
    assert "(status = 'pending'" in plans[0]
    assert "(status = $1)" in plans[-1]


def test_a_generic_plan_that_costs_little_more_is_nothing(database: Database) -> None:
    create_field_table(database)
    look = collection_of(database).collect().look
    for pages, generic, found in ((4, 99, False), (4, 100, True), (11, 109, False), (11, 110, True), (4, None, True)):
        unknown = ClaimCost(generic, None, None, generic=True, planned="Index Scan using by_time", timeout_seconds=0.1)
        cost = replace(_cost(pages), if_generic=unknown)
        assert _found(look, cost, cost) == ([GENERIC] if found else []), (pages, generic)
