"""What is exported between two looks."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from pgq_ops.exporter import health
from pgq_ops.exporter.pace import Pace
from pgq_ops.exporter.store import FAMILIES, Store, exposition
from pgq_ops.metrics import Family
from pgq_ops.probes.jobs import JOBS, OLDEST_READY


def test_every_family_says_what_it_is_even_without_a_sample() -> None:
    text = exposition(Store())
    for family in FAMILIES:
        assert f"# HELP {family.full_name} {family.help_text}" in text
        assert f"# TYPE {family.full_name} {family.type}" in text
    assert "pgqops_build_info{version=" in text


def test_no_two_families_share_a_name() -> None:
    assert len({family.full_name for family in FAMILIES}) == len(FAMILIES)


def test_the_job_tables_samples_of_a_family_stand_under_one_head() -> None:
    store = Store()
    for table in ("b", "a"):
        store.put(table, "jobs", [JOBS.sample(3, "app", table, "default", "ready")])
    lines = exposition(store).splitlines()
    assert lines.count("# TYPE pgqops_jobs gauge") == 1
    assert 'pgqops_jobs{database="app",job_table="a",queue="default",state="ready"} 3.0' in lines
    assert 'pgqops_jobs{database="app",job_table="b",queue="default",state="ready"} 3.0' in lines


def test_a_look_replaces_the_last_one_and_a_failed_one_removes_it() -> None:
    store = Store()
    store.put("a", "jobs", [JOBS.sample(3, "app", "a", "x", "ready"), JOBS.sample(1, "app", "a", "y", "ready")])
    store.put("a", "other", [OLDEST_READY.sample(1, "app", "a", "x")])
    store.put("a", "jobs", [JOBS.sample(4, "app", "a", "x", "ready")])
    assert [(sample.labels[2], sample.value) for sample in store.samples()[1:]] == [("x", 4.0), ("x", 1.0)]
    store.remove("a", "jobs")
    assert [sample.family for sample in store.samples()[1:]] == [OLDEST_READY]


def test_a_job_table_that_is_given_up_leaves_nothing_behind() -> None:
    store = Store()
    store.put("a", "jobs", [JOBS.sample(3, "app", "a", "x", "ready")])
    store.put("b", "jobs", [JOBS.sample(3, "app", "b", "x", "ready")])
    store.forget("a")
    assert [sample.labels[1] for sample in store.samples()[1:]] == ["b"]


def test_a_registry_takes_the_store_and_notices_a_name_that_is_taken() -> None:
    registry = CollectorRegistry()
    registry.register(Store())
    assert b"pgqops_up" in generate_latest(registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(Store((health.UP,)))


def test_a_probe_waits_a_hundred_times_as_long_as_it_took() -> None:
    now = 1_000.0
    pace = Pace(lambda: now)
    assert pace.is_due("jobs")
    pace.looked("jobs", 0.5)
    now = 1_000 + 49.4
    assert not pace.is_due("jobs")
    assert pace.is_due("leases")
    now = 1_000 + 49.5
    assert pace.is_due("jobs")


def test_a_probe_that_was_kept_from_looking_may_look_at_once() -> None:
    pace = Pace(lambda: 1_000.0)
    pace.looked("jobs", 0.5)
    pace.blocked("jobs")
    assert pace.is_due("jobs")


@pytest.mark.parametrize("name", ["pgqops_jobs", "Jobs", "jobs-exact", "jobs_", "_jobs", "1jobs", ""])
def test_a_family_has_a_plain_name_without_the_prefix(name: str) -> None:
    with pytest.raises(ValueError, match="snake_case"):
        Family(name, "Help.")


def test_only_counters_end_in_total() -> None:
    with pytest.raises(ValueError, match="_total"):
        Family("jobs_total", "Help.")
    with pytest.raises(ValueError, match="_total"):
        Family("jobs", "Help.", type="counter")


def test_a_sample_has_as_many_labels_as_its_family() -> None:
    with pytest.raises(ValueError, match="database, job_table, queue, state"):
        JOBS.sample(1, "app", "a")
