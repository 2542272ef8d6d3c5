"""What pgq-ops set is put back exactly, and nothing else is touched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import NotInstalled
from pgq_ops.tasks.autovacuum.setting_outcome import SettingChange, SettingFate
from tests.support.storage import PARTITIONED, PLAIN, WANTED, Storage, made, options, relation_of

if TYPE_CHECKING:
    from tests.support.database import Database

THRESHOLD = {"autovacuum_vacuum_threshold": "500"}
BY_THE_DBA = """
    ALTER TABLE {} SET (autovacuum_vacuum_threshold = '0x10', fillfactor = 70, vacuum_truncate = on,
                        autovacuum_vacuum_cost_limit = 2000, toast.autovacuum_vacuum_threshold = 7,
                        toast.autovacuum_enabled = off)
"""


@pytest.mark.case("V1")
def test_what_was_set_is_set_again_what_was_not_is_reset_and_the_order_is_the_same(database: Database) -> None:
    storage = made(database)
    database.execute(BY_THE_DBA.format("jobs"))
    before = options(database)
    storage.apply()
    assert options(database) != before
    [outcome] = storage.revert()
    assert options(database) == before
    assert outcome.fate is SettingFate.CHANGED
    assert set(outcome.changes) == {
        SettingChange("autovacuum_vacuum_threshold", "500", "0x10"),
        SettingChange("autovacuum_vacuum_scale_factor", "0", None),
        SettingChange("vacuum_truncate", "off", "on"),
        SettingChange("toast.autovacuum_vacuum_threshold", "1000", "7"),
    }
    assert storage.kept() == []


def test_a_table_without_any_parameters_has_none_again(database: Database) -> None:
    storage = made(database)
    storage.apply()
    storage.apply(wanted={"autovacuum_vacuum_threshold": "600"})
    storage.revert()
    assert options(database) == (None, None)


def test_reverting_again_does_nothing(database: Database) -> None:
    storage = made(database)
    storage.apply()
    storage.revert()
    assert storage.planned() == storage.revert() == ()


def test_one_parameter_alone_can_be_put_back_and_the_others_later(database: Database) -> None:
    storage = made(database)
    database.execute(BY_THE_DBA.format("jobs"))
    before = options(database)
    storage.apply()
    toast = "toast.autovacuum_vacuum_threshold"
    [outcome] = storage.revert([toast])
    assert outcome.changes == (SettingChange(toast, "1000", "7"),)
    assert options(database)[1] == before[1]
    assert [parameter for _, parameter, *_ in storage.kept()] == sorted(set(WANTED) - {toast})
    storage.revert(["vacuum_truncate"])
    storage.revert()
    assert options(database) == before


def test_one_leaf_alone_can_be_put_back(database: Database) -> None:
    storage = made(database, PARTITIONED)
    storage.apply("jobs_1")
    storage.apply("jobs_2")
    storage.revert(leaves=[relation_of(database, "jobs_2").oid])
    assert options(database, "jobs_1")[0]
    assert options(database, "jobs_2") == (None, None)


def test_what_somebody_else_set_since_stays_and_is_told(database: Database) -> None:
    storage = made(database)
    database.execute("ALTER TABLE jobs SET (vacuum_truncate = on)")
    storage.apply()
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 90, vacuum_truncate = 1)")
    database.execute("ALTER TABLE jobs RESET (autovacuum_vacuum_scale_factor)")
    [planned], [outcome] = storage.planned(), storage.revert()
    assert (
        planned.left
        == outcome.left
        == (
            SettingChange("autovacuum_vacuum_threshold", "500", "90"),
            SettingChange("vacuum_truncate", "off", "1"),
        )
    )
    assert options(database) == (["autovacuum_vacuum_threshold=90", "vacuum_truncate=1"], None)
    endings = database.rows('SELECT parameter, ending FROM pgq_ops.setting ORDER BY parameter COLLATE "C"')
    assert endings == [
        ("autovacuum_vacuum_scale_factor", "reverted"),
        ("autovacuum_vacuum_threshold", "overridden"),
        ("toast.autovacuum_vacuum_threshold", "reverted"),
        ("vacuum_truncate", "overridden"),
    ]
    assert storage.revert() == ()


def test_what_somebody_put_back_by_hand_needs_no_change(database: Database) -> None:
    storage = made(database)
    storage.apply(wanted=THRESHOLD)
    database.execute("ALTER TABLE jobs RESET (autovacuum_vacuum_threshold)")
    [outcome] = storage.revert()
    assert (outcome.fate, outcome.changes, outcome.left) == (SettingFate.SAME, (), ())
    assert storage.kept() == []


def test_partitions_that_came_went_moved_and_were_renamed_are_all_as_before(database: Database) -> None:
    storage = made(database, PARTITIONED)
    database.execute("ALTER TABLE jobs_1 SET (fillfactor = 70, autovacuum_vacuum_threshold = 100)")
    before = options(database, "jobs_1")
    storage.apply("jobs_1")
    storage.apply("jobs_2")
    database.execute("CREATE TABLE jobs_3 PARTITION OF jobs FOR VALUES FROM (200) TO (300) WITH (vacuum_truncate = on)")
    new = options(database, "jobs_3")
    for leaf in ("jobs_1", "jobs_2", "jobs_3"):
        storage.apply(leaf)
    assert options(database, "jobs_3")[0] != new[0]
    database.execute(
        "ALTER TABLE jobs DETACH PARTITION jobs_1; CREATE SCHEMA archive; ALTER TABLE jobs_1 SET SCHEMA archive;"
        " ALTER TABLE archive.jobs_1 RENAME TO old; DROP TABLE jobs_2;"
        " CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (100)"
    )
    database.execute("ALTER TABLE jobs_1 SET (autovacuum_vacuum_threshold = 500)")  # as ours, and the DBA's
    outcomes = storage.revert()
    assert [(str(outcome.relation), outcome.fate) for outcome in outcomes] == [
        ("archive.old", SettingFate.CHANGED),
        ("public.jobs_3", SettingFate.CHANGED),
    ]
    assert options(database, "archive.old") == before
    assert options(database, "jobs_3") == new
    assert options(database, "jobs_1") == (["autovacuum_vacuum_threshold=500"], None)
    assert database.value("SELECT count(*) FROM pgq_ops.setting WHERE ended_at IS NULL") == 0


def test_a_job_table_that_another_took_the_name_of_is_put_back_too(database: Database) -> None:
    storage = made(database)
    storage.apply()
    database.execute(f"ALTER TABLE jobs RENAME TO jobs_old; {PLAIN.replace('PRIMARY KEY (id)', 'UNIQUE (id)')}")
    Storage.of(database).revert()
    assert options(database, "jobs_old") == options(database, "jobs") == (None, None)


def test_another_job_tables_settings_are_not_touched(database: Database) -> None:
    storage = made(database)
    database.execute("CREATE SCHEMA other")
    database.execute(PLAIN.replace("jobs", "other.jobs"))
    other = replace(storage, table=replace(storage.table, relation=relation_of(database, "other.jobs")))
    storage.apply()
    other.apply("other.jobs")
    other.revert()
    assert options(database, "other.jobs") == (None, None)
    assert options(database)[0]


def test_a_parameter_whose_place_takes_a_stronger_lock_is_not_moved(database: Database) -> None:
    storage = made(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_threshold = 100, user_catalog_table = off)")
    storage.apply(wanted=THRESHOLD)
    worker = database.connect(autocommit=False)
    worker.execute("INSERT INTO jobs (id) VALUES (1)")
    [outcome] = storage.revert()
    assert outcome.fate is SettingFate.CHANGED
    assert options(database)[0] == ["user_catalog_table=off", "autovacuum_vacuum_threshold=100"]


def test_a_busy_leaf_is_left_for_later_and_the_others_are_put_back(database: Database) -> None:
    storage = made(database, PARTITIONED)
    storage.apply("jobs_1")
    storage.apply("jobs_2")
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs_1 IN SHARE UPDATE EXCLUSIVE MODE")
    assert [outcome.fate for outcome in storage.revert()] == [SettingFate.BUSY, SettingFate.CHANGED]
    assert options(database, "jobs_2") == (None, None)
    holder.rollback()
    assert [str(outcome.relation) for outcome in storage.revert()] == ["public.jobs_1"]
    assert options(database, "jobs_1") == (None, None)


def test_no_leaf_is_begun_once_the_guard_refuses(database: Database) -> None:
    storage = made(database, PARTITIONED)
    storage.apply("jobs_1")
    storage.apply("jobs_2")
    answers = iter([True, False])
    assert len(storage.revert(guard=lambda: next(answers))) == 1
    assert options(database, "jobs_1") == (None, None)
    assert options(database, "jobs_2")[0]


def test_the_plan_is_what_is_done_and_its_statement_does_the_same(database: Database) -> None:
    storage = made(database)
    database.execute(BY_THE_DBA.format("jobs"))
    before = options(database)
    storage.apply()
    reading = Storage.of(database, read_only=True)
    [planned] = reading.planned()
    assert options(database) != before
    with database.connect() as pasting, pasting.transaction(force_rollback=True):
        pasting.execute(planned.statement.encode())
        query = "SELECT c.reloptions, t.reloptions FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid"
        assert pasting.execute(f"{query} WHERE c.relname = 'jobs'".encode()).fetchall() == [before]
    [done] = storage.revert()
    assert (planned.fate, planned.changes) == (done.fate, done.changes)
    assert options(database) == before


def test_without_the_schema_it_says_where_the_old_values_are_kept(database: Database) -> None:
    database.execute(PLAIN)
    storage = Storage.of(database)
    for act in (storage.planned, storage.revert):
        with pytest.raises(NotInstalled, match=r"autovacuum revert needs version 4 .* which is not installed"):
            act()
