"""A plan for a leaf is carried out as a whole, changes nothing else, and waits for nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops import metrics
from pgq_ops.errors import NotInstalled
from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan, Wanted
from pgq_ops.tasks.autovacuum.settable import SETTABLE
from pgq_ops.tasks.autovacuum.setting_outcome import SettingChange, SettingFate
from tests.support.storage import PARTITIONED, PLAIN, Storage, made, options

if TYPE_CHECKING:
    from tests.support.database import Database

THRESHOLD = {"autovacuum_vacuum_threshold": "500"}


def counted(storage: Storage, parameter: str) -> float:
    labels = {"database": storage.database.name, "job_table": "jobs", "parameter": parameter}
    return metrics.REGISTRY.get_sample_value("pgqops_storage_changes_total", labels) or 0.0


@pytest.mark.case("V1")
def test_only_what_the_plan_names_changes_and_the_rest_stays_as_the_dba_set_it(database: Database) -> None:
    storage = made(database)
    database.execute(
        "ALTER TABLE jobs SET (fillfactor = 70, autovacuum_vacuum_cost_limit = 2000, toast.autovacuum_enabled = off)"
    )
    outcome = storage.apply()
    assert outcome.fate is SettingFate.CHANGED
    assert options(database) == (
        [
            "fillfactor=70",
            "autovacuum_vacuum_cost_limit=2000",
            "autovacuum_vacuum_threshold=500",
            "autovacuum_vacuum_scale_factor=0",
            "vacuum_truncate=off",
        ],
        ["autovacuum_enabled=off", "autovacuum_vacuum_threshold=1000"],
    )
    assert outcome.changes[0] == SettingChange("autovacuum_vacuum_threshold", None, "500")
    assert outcome.as_json()["changes"][3] == {
        "parameter": "toast.autovacuum_vacuum_threshold",
        "before": None,
        "after": "1000",
    }


def test_what_is_as_planned_already_is_not_touched_again(database: Database) -> None:
    storage = made(database)
    plan = storage.plan()
    storage.carry_out(plan)
    before = database.rows("SELECT xmin FROM pg_class WHERE relname = 'jobs'")
    kept = storage.kept()
    for again in (storage.plan(), plan):
        assert storage.carry_out(again).fate is SettingFate.SAME
    assert database.rows("SELECT xmin FROM pg_class WHERE relname = 'jobs'") == before
    assert storage.kept() == kept


def test_what_the_plan_leaves_as_it_is_is_left(database: Database) -> None:
    storage = made(database, f"{PLAIN} WITH (autovacuum_vacuum_threshold = 100)")
    plan = storage.plan(wanted=THRESHOLD | {"vacuum_truncate": "off"})
    stricter = replace(plan.wanted[0], keeps="the DBA's own is stricter")
    storage.carry_out(replace(plan, wanted=(stricter, plan.wanted[1])))
    assert options(database)[0] == ["autovacuum_vacuum_threshold=100", "vacuum_truncate=off"]


def test_only_the_leaf_is_altered_and_neither_its_parent_nor_its_siblings(database: Database) -> None:
    storage = made(database, PARTITIONED)
    storage.apply("jobs_1")
    assert options(database, "jobs_1")[0]
    assert options(database, "jobs_2") == options(database, "jobs") == (None, None)


def test_a_value_that_changed_since_the_plan_is_not_overwritten(database: Database) -> None:
    storage = made(database)
    plan = storage.plan()
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.01)")
    outcome = storage.carry_out(plan)
    assert outcome.fate is SettingFate.STALE
    assert outcome.reason == "autovacuum_vacuum_scale_factor is 0.01 by now, and was not set: plan anew"
    assert options(database) == (["autovacuum_vacuum_scale_factor=0.01"], None)
    assert storage.kept() == []


def test_parameters_of_a_toast_table_are_left_out_where_there_is_none(database: Database) -> None:
    storage = made(database, PARTITIONED)
    database.execute("CREATE TABLE narrow (id int)")
    assert storage.apply("narrow").fate is SettingFate.CHANGED
    assert storage.apply("narrow").fate is SettingFate.SAME
    assert {parameter for _, parameter, *_ in storage.kept()} == {
        "autovacuum_vacuum_threshold",
        "autovacuum_vacuum_scale_factor",
        "vacuum_truncate",
    }


def test_relations_that_autovacuum_never_comes_to_are_passed_over(database: Database) -> None:
    storage = made(database, PARTITIONED)
    database.execute(
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE far (id int) SERVER s"
    )
    elsewhere = database.connect()
    elsewhere.execute("CREATE TEMPORARY TABLE mine (id int)")
    schema = elsewhere.execute("SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()").fetchall()[0][0]
    reasons = {
        name: (outcome.fate, outcome.reason)
        for name in ("jobs", "far", f"{schema}.mine")
        for outcome in [storage.apply(name, THRESHOLD)]
    }
    assert list(reasons.values()) == [
        (SettingFate.SKIPPED, "it is partitioned: its leaves have parameters"),
        (SettingFate.SKIPPED, "it is a foreign table, whose server vacuums it"),
        (SettingFate.SKIPPED, "it is a temporary table, to which autovacuum never comes"),
    ]
    assert storage.kept() == []


def test_a_leaf_that_is_gone_or_whose_name_is_another_tables_is_no_error(database: Database) -> None:
    storage = made(database, PARTITIONED)
    plan = storage.plan("jobs_1", THRESHOLD)
    database.execute("ALTER TABLE jobs_1 RENAME TO renamed; CREATE TABLE jobs_1 (id int)")
    assert storage.carry_out(plan).fate is SettingFate.CHANGED
    assert options(database, "jobs_1") == (None, None)
    assert options(database, "renamed")[0] == ["autovacuum_vacuum_threshold=500"]
    database.execute("DROP TABLE renamed")
    assert storage.carry_out(plan).fate is SettingFate.GONE


@pytest.mark.parametrize("name", ['Ops-Q"%s', "desc", "{x}"])
def test_any_name_of_a_table_will_do(database: Database, name: str) -> None:
    storage = made(database, PARTITIONED)
    quoted = '"' + name.replace('"', '""') + '"'
    database.execute(f"CREATE SCHEMA {quoted}; CREATE TABLE {quoted}.{quoted} (id int)".replace("%", "%%"), {})
    assert storage.apply(f"{quoted}.{quoted}", THRESHOLD).fate is SettingFate.CHANGED
    assert options(database, f"{quoted}.{quoted}")[0] == ["autovacuum_vacuum_threshold=500"]
    assert storage.revert()[0].fate is SettingFate.CHANGED
    assert options(database, f"{quoted}.{quoted}") == (None, None)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("autovacuum_enabled", "off"),
        ("fillfactor", "70"),
        ("user_catalog_table", "on"),
        ("toast.autovacuum_analyze_threshold", "50"),
        ("vacuum_truncate", "off, fillfactor = 10"),
        ("autovacuum_vacuum_threshold", ""),
        ("autovacuum_vacuum_threshold", "50\n"),
    ],
)
def test_parameters_and_values_that_are_none_of_ours_are_refused(
    database: Database, parameter: str, value: str
) -> None:
    storage = made(database)
    plan = storage.plan(wanted={})
    with pytest.raises(ValueError, match="is no "):
        storage.carry_out(LeafPlan(plan.storage, (Wanted(parameter, value, ""),)))
    assert options(database) == (None, None)


def test_every_parameter_of_ours_is_one_of_postgresqls_or_newer_than_it(database: Database, pg_major: int) -> None:
    storage = made(database, f"{PLAIN[:-1]}, payload text)")
    refused = set()
    for parameter in sorted(SETTABLE):
        switch = {"vacuum_index_cleanup": "auto", "vacuum_truncate": "off"}.get(parameter.removeprefix("toast."))
        value = switch or ("0.5" if "factor" in parameter or "delay" in parameter else "200000")
        if "limit" in parameter:
            value = "200"
        elif parameter.endswith("max_age"):
            value = "200000000"
        outcome = storage.apply(wanted={parameter: value})
        if outcome.fate is not SettingFate.CHANGED:
            assert 'unrecognized parameter "autovacuum_vacuum_max_threshold"' in outcome.reason
            assert outcome.statement.startswith('ALTER TABLE ONLY "public"."jobs" SET (')
            refused.add(parameter)
    newer = {"autovacuum_vacuum_max_threshold", "toast.autovacuum_vacuum_max_threshold"}
    assert refused == (newer if pg_major < 18 else set())
    kept = {parameter: value for _, parameter, _, value in storage.kept()}
    own, toasted = options(database)
    assert kept == dict(one.split("=") for one in own or ()) | {
        f"toast.{name}": value for name, value in (one.split("=") for one in toasted or ())
    }


def test_changes_are_counted_by_parameter_from_zero_on(database: Database) -> None:
    storage = made(database)
    database.execute("ALTER TABLE jobs SET (vacuum_truncate = off)")
    storage.apply()
    assert counted(storage, "vacuum_truncate") == 0.0
    assert counted(storage, "autovacuum_vacuum_threshold") == 1.0
    storage.apply(wanted={"autovacuum_vacuum_threshold": "600"})
    storage.revert()
    assert counted(storage, "autovacuum_vacuum_threshold") == 3.0
    assert counted(storage, "toast.autovacuum_vacuum_threshold") == 2.0


def test_without_the_schema_it_says_what_is_missing_and_changes_nothing(database: Database) -> None:
    database.execute(PLAIN)
    storage = Storage.of(database)
    with pytest.raises(NotInstalled, match="autovacuum apply needs version 4 of the schema pgq_ops"):
        storage.apply()
    assert options(database) == (None, None)
