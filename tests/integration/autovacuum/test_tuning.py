"""The tuner on real tables: what it changes, what it leaves, and what it says where it may not or cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.errors import NotInstalled, NotPermitted
from pgq_ops.schema.versions import install
from pgq_ops.stats import table_health
from pgq_ops.stats.churn import Churn
from pgq_ops.stats.observed import Observations, Observed
from pgq_ops.stats.vacuum_runs import VacuumRuns
from pgq_ops.tasks.autovacuum import apply_leaf, revert_leaves
from pgq_ops.tasks.autovacuum.planning import plan_leaves
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate
from pgq_ops.tasks.autovacuum.tuning import Tune
from pgq_ops.tasks.task import Outcome
from tests.support.binding import BoundTable, bind_toml
from tests.support.jobs import SMALL
from tests.support.storage import COLUMNS, PARTITIONED, PLAIN, options

if TYPE_CHECKING:
    from pgq_ops.tasks.autovacuum.tune_result import TuneResult
    from tests.support.database import Database
    from tests.support.roles import Roles

BY_DAY = f"""
    CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (run_at);
    CREATE TABLE jobs_past PARTITION OF jobs FOR VALUES FROM ('2020-01-01') TO ('2020-01-02');
    CREATE TABLE jobs_now PARTITION OF jobs FOR VALUES FROM ('2020-01-02') TO ('2999-01-01');
    CREATE TABLE jobs_other PARTITION OF jobs DEFAULT
"""
APPLY = Autovacuum(mode="apply")


def yes() -> bool:
    return True


@dataclass
class Ground:
    """A job table `jobs` and a tuner in mode "apply", as the agent runs it."""

    database: Database
    bound: BoundTable
    task: Tune

    def run(self) -> TuneResult:
        return self.task.run(self.bound.connection, self.bound.table, yes)

    def plan(self) -> TuneResult:
        return self.task.plan(self.bound.connection, self.bound.table)

    def revert(self) -> None:
        outcomes = revert_leaves.revert(self.bound.connection, self.bound.table, yes)
        assert {one.fate for one in outcomes} <= {SettingFate.CHANGED}


def ground(
    database: Database, ddl: str = PLAIN, *, role: str | None = None, schema: bool = True, **task: Any
) -> Ground:
    database.execute(ddl)
    if role is not None:
        database.execute(f'GRANT SELECT ON jobs TO "{role}"')
    if schema:
        install(database.connect())
        database.execute(f'GRANT USAGE ON SCHEMA pgq_ops TO "{role}"' if role else "SELECT")
        database.execute(f'GRANT ALL ON ALL TABLES IN SCHEMA pgq_ops TO "{role}"' if role else "SELECT")
    bound = bind_toml(database, SMALL, role=role)
    return Ground(database, bound, Tune(lambda _: APPLY, **task))


@pytest.mark.case("V1")
def test_only_what_is_planned_changes_revert_is_exact_and_what_is_off_is_told(database: Database) -> None:
    one = ground(database)
    database.execute(
        "ALTER TABLE jobs SET (fillfactor = 70, autovacuum_vacuum_cost_limit = 2000, toast.autovacuum_enabled = off)"
    )
    before = options(database)
    result = one.run()
    assert (result.outcome, result.message) == (Outcome.OK, "set 7 parameters of 1 table")
    own, toast = options(database)
    assert own is not None
    assert own[:2] == ["fillfactor=70", "autovacuum_vacuum_cost_limit=2000"]
    assert set(own[2:]) == {
        "autovacuum_vacuum_threshold=500",
        "autovacuum_vacuum_scale_factor=0",
        "autovacuum_vacuum_insert_threshold=1000",
        "autovacuum_vacuum_insert_scale_factor=0",
        "autovacuum_analyze_threshold=500",
        "autovacuum_analyze_scale_factor=0",
        "vacuum_truncate=off",
    }
    assert toast == ["autovacuum_enabled=off"]
    [leaf] = result.leaves
    assert "autovacuum is off for the TOAST table of public.jobs" in leaf.plan.advice[0].text
    again = one.run()
    assert (again.outcome, again.parameters, [one.fate for one in again.leaves]) == (
        Outcome.NOTHING,
        0,
        [SettingFate.SAME],
    )
    one.revert()
    assert options(database) == before


@pytest.mark.case("V3")
def test_a_new_partition_is_tuned_at_the_next_run_and_reverted_with_the_others(database: Database) -> None:
    one = ground(database, PARTITIONED)
    assert one.run().message == "set 14 parameters of 2 tables"
    database.execute("CREATE TABLE jobs_3 PARTITION OF jobs FOR VALUES FROM (200) TO (300) WITH (fillfactor = 90)")
    result = one.run()
    assert {str(leaf): leaf.fate for leaf in result.leaves} == {
        "public.jobs_1": SettingFate.SAME,
        "public.jobs_2": SettingFate.SAME,
        "public.jobs_3": SettingFate.CHANGED,
    }
    assert options(database, "jobs")[0] is None
    database.execute("ALTER TABLE jobs DETACH PARTITION jobs_1")
    one.revert()
    assert [options(database, f"jobs_{n}")[0] for n in (1, 2, 3)] == [None, None, ["fillfactor=90"]]


def test_a_closed_partition_is_to_be_frozen_and_no_other(database: Database) -> None:
    one = ground(database, BY_DAY)
    planned = {str(leaf): {w.parameter for w in leaf.plan.changes} for leaf in one.plan().leaves}
    freezing = {"autovacuum_freeze_min_age", "autovacuum_freeze_table_age"}
    assert freezing <= planned["public.jobs_past"]
    assert freezing.isdisjoint(planned["public.jobs_now"] | planned["public.jobs_other"])


def test_in_mode_plan_nothing_is_changed_and_the_run_says_what_would_be(database: Database) -> None:
    one = ground(database, schema=False)
    one.task.section = lambda _: None
    result = one.run()
    assert (result.outcome, result.dry_run) == (Outcome.NOTHING, True)
    assert result.message == 'would set 7 parameters of 1 table with mode = "apply"'
    assert options(database) == (None, None)


def test_applying_needs_the_schema_and_planning_does_not(database: Database) -> None:
    one = ground(database, schema=False)
    assert one.plan().parameters == 7
    with pytest.raises(NotInstalled, match="pgq-ops install"):
        one.run()
    assert options(database) == (None, None)


def test_planning_needs_select_only_in_a_session_that_only_reads(database: Database, make_role: Roles) -> None:
    one = ground(database, role=make_role("reader"), schema=False)
    one.bound.connection.execute("SET default_transaction_read_only = on")
    result = one.plan()
    assert result.message == "not permitted: public.jobs"
    [leaf] = result.leaves
    assert "its owner is" in leaf.reason
    assert leaf.statement.startswith('ALTER TABLE ONLY "public"."jobs" SET (autovacuum_vacuum_threshold = 500,')


def test_a_leaf_of_somebody_else_s_is_told_once_all_others_are_done(database: Database, make_role: Roles) -> None:
    role = make_role("tuner")
    one = ground(database, PARTITIONED, role=role)
    database.execute(f'ALTER TABLE jobs_2 OWNER TO "{role}"')
    with pytest.raises(NotPermitted) as raised:
        one.run()
    assert "public.jobs_1" in str(raised.value)
    assert raised.value.remedy
    assert options(database, "jobs_1") == (None, None)
    assert options(database, "jobs_2")[0] is not None
    assert {str(leaf): leaf.fate for leaf in one.task.done["jobs"].leaves} == {
        "public.jobs_1": SettingFate.NOT_PERMITTED,
        "public.jobs_2": SettingFate.CHANGED,
    }
    one.task.apply = True
    assert one.run().message == "not permitted: public.jobs_1"


def test_the_owner_s_role_is_enough(database: Database, make_role: Roles) -> None:
    owner = make_role("owner", "NOLOGIN")
    role = make_role("tuner", "LOGIN NOINHERIT", member_of=(owner,))
    one = ground(database, role=role, owner_role=lambda: owner)
    database.execute(f'ALTER TABLE jobs OWNER TO "{owner}"')
    database.execute(f'GRANT USAGE, CREATE ON SCHEMA public TO "{owner}"')
    assert one.plan().parameters == 7
    assert one.run().outcome is Outcome.OK


def test_a_locked_leaf_is_busy_and_the_others_are_tuned(database: Database) -> None:
    one = ground(database, PARTITIONED)
    other = database.connect(autocommit=False)
    other.execute("LOCK TABLE jobs_1 IN SHARE UPDATE EXCLUSIVE MODE")
    result = one.run()
    assert (result.outcome, result.message) == (Outcome.OK, "set 7 parameters of 1 table; busy: public.jobs_1")
    again = one.run()
    assert (again.outcome, again.message) == (Outcome.BUSY, "busy: public.jobs_1")
    assert again.again_seconds is not None
    assert 30 <= again.again_seconds <= 60
    other.rollback()
    last = one.run()
    assert (last.message, last.again_seconds) == ("set 7 parameters of 1 table", None)


def test_the_guard_is_asked_before_each_leaf_that_is_changed(database: Database) -> None:
    one = ground(database, PARTITIONED)
    asked: list[bool] = []

    def guard() -> bool:
        asked.append(len(asked) < 1)
        return asked[-1]

    result = one.task.run(one.bound.connection, one.bound.table, guard)
    assert (len(result.leaves), len(asked), result.again_seconds) == (1, 2, None)
    assert options(database, "jobs_2") == (None, None)
    asked.clear()
    assert [str(leaf) for leaf in one.task.run(one.bound.connection, one.bound.table, guard).leaves][
        -1
    ] == "public.jobs_2"
    assert asked == [True]


def observed(one: Ground, churn: Churn, **more: Any) -> Observations:
    health = table_health.read(one.bound.connection, one.bound.table)
    seen = Observed(health, {leaf.oid: churn for leaf in health.leaves}, **more)
    observations = Observations()
    observations.put("jobs", seen)
    return observations


def test_churn_that_was_observed_is_what_thresholds_come_from(database: Database) -> None:
    one = ground(database)
    one.task.observations = observed(one, Churn(600, 5, 10, 0))
    naptime = table_health.read(one.bound.connection, one.bound.table).server.naptime_seconds
    [leaf] = one.plan().leaves
    threshold = next(w for w in leaf.plan.wanted if w.parameter == "autovacuum_vacuum_threshold")
    assert threshold.reason.startswith(f"10 updates/s × {naptime:,.10g} s naptime")  # noqa: RUF001
    assert int(threshold.value) == min(5_000, max(500, int(10 * naptime)))


def test_a_partition_that_nobody_observed_yet_is_planned_too(database: Database) -> None:
    one = ground(database, PARTITIONED)
    one.task.observations = observed(one, Churn(600, 5, 1_000, 0))
    database.execute("CREATE TABLE jobs_3 PARTITION OF jobs FOR VALUES FROM (200) TO (300)")
    reasons = {str(leaf): leaf.plan.wanted[0].reason for leaf in one.plan().leaves}
    assert "1,000 updates/s" in reasons["public.jobs_1"]
    assert "not measured yet" in reasons["public.jobs_3"]


def test_an_agent_comes_back_once_the_churn_is_known(database: Database) -> None:
    one = ground(database, BY_DAY)
    one.task.observations = Observations()
    assert one.run().again_seconds == 80
    one.task.section = lambda _: Autovacuum(mode="apply", every=timedelta(seconds=10))
    assert one.run().again_seconds == 10
    one.task.observations = observed(one, Churn(600, 5, 10, 0))
    assert one.run().again_seconds is None


def test_a_configured_budget_holds_and_else_what_claims_cost_does(database: Database) -> None:
    one = ground(database)
    claims = tuple((dead, 5 + dead // 100) for dead in range(0, 20_000, 250))
    one.task.observations = observed(one, Churn(600, 5, 10_000, 0), claims=claims)
    derived = one.plan().budget
    assert derived is not None
    assert 3_500 <= derived.rows <= 5_000
    one.task.section = lambda _: replace_budget(1_234)
    configured = one.plan()
    assert configured.budget is not None
    assert (configured.budget.rows, configured.budget.reason) == (1_234, "as configured")
    assert configured.leaves[0].plan.wanted[0].value == "1200"


def replace_budget(rows: int) -> Autovacuum:
    return Autovacuum(mode="apply", dead_tuple_budget=rows)


@pytest.mark.parametrize("ddl", [PLAIN, BY_DAY], ids=["plain", "partitioned"])
def test_the_server_takes_whatever_can_be_planned(database: Database, ddl: str) -> None:
    one = ground(database, ddl)
    database.execute("ALTER TABLE jobs_past SET (autovacuum_freeze_max_age = 100000000)" if ddl is BY_DAY else "SELECT")
    health = table_health.read(one.bound.connection, one.bound.table)
    # Large tables with larger TOAST tables, whose vacuums are slow: all that a plan can have in it.
    grown = [replace(leaf, rows=1e7, table_bytes=9 * 2**30, toast_bytes=8 * 2**30) for leaf in health.leaves]
    churn = {leaf.oid: Churn(600, 150, 300, 10) for leaf in grown}
    runs = {leaf.oid: VacuumRuns(9, 1_000, 55.0, 60.0, skipped_indexes=True) for leaf in grown}
    seen = Observed(replace(health, leaves=tuple(grown)), churn, runs)
    before = {leaf.name: options(database, leaf.name) for leaf in grown}
    plans, _ = plan_leaves(one.bound.connection, one.bound.table, APPLY, seen, None)
    names = {wanted.parameter for plan in plans for wanted in plan.changes}
    assert {"autovacuum_vacuum_cost_limit", "vacuum_index_cleanup", "toast.autovacuum_vacuum_threshold"} <= names
    for plan in plans:
        outcome = apply_leaf.apply(one.bound.connection, one.bound.table, plan)
        assert (outcome.fate, outcome.reason) == (SettingFate.CHANGED, "")
    again, _ = plan_leaves(one.bound.connection, one.bound.table, APPLY, replace(seen, runs={}), None)
    assert [plan.changes for plan in again] == [()] * len(grown)
    one.revert()
    assert {leaf.name: options(database, leaf.name) for leaf in grown} == before
