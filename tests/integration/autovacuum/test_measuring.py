"""Churn that a person waits for: what two looks at the table tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.stats import table_health
from pgq_ops.tasks.autovacuum.measuring import churn_between, measure
from tests.support.binding import bind_toml
from tests.support.jobs import SMALL
from tests.support.storage import PARTITIONED
from tests.support.table_health import told, write

if TYPE_CHECKING:
    from tests.support.database import Database


def test_two_looks_tell_how_many_rows_came_changed_and_went(database: Database) -> None:
    database.execute(PARTITIONED)
    bound = bind_toml(database, SMALL)
    before = table_health.read(bound.connection, bound.table)
    write(database, "INSERT INTO jobs (id) SELECT * FROM generate_series(1, 50)")
    write(database, "UPDATE jobs SET attempts = 1 WHERE id <= 30")
    write(database, "DELETE FROM jobs WHERE id <= 20")
    told(database, 100)
    after = table_health.read(bound.connection, bound.table)
    churns = churn_between(before, after)
    by_name = {leaf.name: churns[leaf.oid] for leaf in after.leaves}
    one, seconds = by_name["jobs_1"], after.at - before.at
    assert one.seconds == seconds > 0
    assert [rate * seconds for rate in (one.inserted, one.updated, one.deleted)] == pytest.approx([50, 30, 20])
    assert one.dying * seconds == pytest.approx(50)
    assert by_name["jobs_2"].dying == 0


def test_a_partition_that_came_between_and_counters_that_began_anew_tell_nothing(database: Database) -> None:
    database.execute(PARTITIONED)
    bound = bind_toml(database, SMALL)
    looked = table_health.read(bound.connection, bound.table)
    first, second = looked.leaves
    later = replace(looked, at=looked.at + 5)
    assert churn_between(replace(looked, leaves=(first,)), later).keys() == {first.oid}
    assert churn_between(replace(looked, leaves=(replace(first, updated=9), second)), later).keys() == {second.oid}
    assert churn_between(looked, looked) == {}
    standby = replace(later, server=replace(later.server, standby=True))
    assert churn_between(looked, standby) == {}


def test_without_any_time_to_wait_there_is_one_look_and_no_churn(database: Database) -> None:
    database.execute(PARTITIONED)
    bound = bind_toml(database, SMALL)
    seen = measure(bound.connection, [bound.table], 0).of("jobs")
    assert seen is not None
    assert (len(seen.health.leaves), seen.churn) == (2, {})
    seen = measure(bound.connection, [bound.table], 0.05).of("jobs")
    assert seen is not None
    assert [churn.dying for churn in seen.churn.values()] == [0, 0]
