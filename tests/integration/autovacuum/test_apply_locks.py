"""Whoever has a leaf locked is never waited for, and told of."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks.autovacuum import leaf_lock
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate
from tests.support.sessions import pid, waiting
from tests.support.storage import PLAIN, Storage, made, options

if TYPE_CHECKING:
    from tests.support.database import Database

THRESHOLD = {"autovacuum_vacuum_threshold": "500"}


def toast_of(database: Database, table: str = "jobs") -> str:
    name = database.value("SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = %s::regclass", [table])
    assert name != "-"
    return str(name)


def test_a_leaf_that_somebody_has_locked_is_busy_at_once_and_nobody_waits_for_it(database: Database) -> None:
    storage = made(database)
    holder = database.connect(autocommit=False)
    for mode in ("SHARE UPDATE EXCLUSIVE", "SHARE", "ACCESS EXCLUSIVE"):
        holder.execute(f"LOCK TABLE jobs IN {mode} MODE".encode())
        plan, seconds = storage.plan(wanted=THRESHOLD), []
        for _ in range(3):
            began = time.monotonic()
            outcome = storage.carry_out(plan)
            seconds.append(time.monotonic() - began)
            assert outcome.fate is SettingFate.BUSY
            assert outcome.reason == f"session {holder.info.backend_pid} has it locked, or waits to"
        assert min(seconds) < 0.09, mode  # a lock that is waited for takes 100 ms
        holder.rollback()
    assert storage.kept() == []
    assert storage.apply(wanted=THRESHOLD).fate is SettingFate.CHANGED


def test_workers_that_read_and_write_are_not_in_the_way(database: Database) -> None:
    storage = made(database)
    worker = database.connect(autocommit=False)
    worker.execute("INSERT INTO jobs (id) VALUES (1)")
    worker.execute("SELECT id FROM jobs FOR UPDATE SKIP LOCKED")
    assert storage.apply(wanted=THRESHOLD).fate is SettingFate.CHANGED


def test_a_prepared_transaction_that_has_it_locked_is_named(database: Database) -> None:
    if not int(database.value("SHOW max_prepared_transactions")):
        pytest.skip("this server has max_prepared_transactions = 0")
    storage = made(database)
    database.execute("BEGIN; LOCK TABLE jobs IN SHARE MODE; PREPARE TRANSACTION 'held'")
    outcome = storage.apply(wanted=THRESHOLD)
    assert (outcome.fate, outcome.reason) == (SettingFate.BUSY, "a prepared transaction has it locked")
    database.execute("ROLLBACK PREPARED 'held'")


def test_somebody_who_came_between_the_look_and_the_lock_is_not_waited_for_either(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = made(database)
    monkeypatch.setattr(leaf_lock, "in_the_way", lambda *_: "")
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN SHARE UPDATE EXCLUSIVE MODE")
    plan, seconds = storage.plan(wanted=THRESHOLD), []
    for _ in range(3):
        began = time.monotonic()
        outcome = storage.carry_out(plan)
        seconds.append(time.monotonic() - began)
        assert (outcome.fate, outcome.reason) == (SettingFate.BUSY, "locked by another session just now")
    assert min(seconds) < 0.09  # a lock that is waited for takes 100 ms
    assert storage.kept() == []


def test_who_has_the_toast_table_locked_is_in_the_way_too(database: Database) -> None:
    storage = made(database)
    holder = database.connect(autocommit=False)
    holder.execute(f"REINDEX TABLE {toast_of(database)}".encode())
    outcome = storage.apply(wanted=THRESHOLD)
    assert outcome.reason == f"session {holder.info.backend_pid} has it locked, or waits to"


def test_the_toast_table_is_waited_for_less_long_than_a_deadlock_is_looked_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = made(database)
    monkeypatch.setattr(leaf_lock, "in_the_way", lambda *_: "")
    holder = database.connect(autocommit=False)
    holder.execute(f"REINDEX TABLE {toast_of(database)}".encode())
    for deadlock_ms, least, most in ((1_000, 0.1, 1.0), (120, 0.06, 0.12)):
        patient = Storage.of(database)
        patient.connection.execute("SET lock_timeout = 0")
        patient.connection.execute(f"SET deadlock_timeout = {deadlock_ms}".encode())
        seconds = []
        for _ in range(3):
            began = time.monotonic()
            assert patient.apply(wanted=THRESHOLD).fate is SettingFate.BUSY
            seconds.append(time.monotonic() - began)
        assert least <= min(seconds) < most
    assert storage.kept() == []
    assert options(database) == (None, None)


def test_an_alter_that_waits_in_the_queue_is_not_joined(database: Database) -> None:
    storage = made(database)
    reader = database.connect(autocommit=False)
    reader.execute("SELECT count(*) FROM jobs")
    waiter = waiting(database, "migration", "ALTER TABLE jobs ADD COLUMN more text")
    outcome = storage.apply(wanted=THRESHOLD)
    reader.rollback()
    assert outcome.fate is SettingFate.BUSY
    assert outcome.reason == f"session {pid(waiter)} has it locked, or waits to"


def test_two_that_apply_at_once_end_with_one_change_and_the_old_value(database: Database) -> None:
    made(database, f"{PLAIN} WITH (autovacuum_vacuum_threshold = 100)")
    storages = [Storage.of(database) for _ in range(4)]
    plan = storages[0].plan(wanted=THRESHOLD)
    with ThreadPoolExecutor(len(storages)) as pool:
        fates = [outcome.fate for outcome in pool.map(lambda one: one.carry_out(plan), storages)]
    assert fates.count(SettingFate.CHANGED) == 1
    assert set(fates) <= {SettingFate.CHANGED, SettingFate.BUSY, SettingFate.SAME}
    assert storages[0].kept() == [("jobs", "autovacuum_vacuum_threshold", "100", "500")]
