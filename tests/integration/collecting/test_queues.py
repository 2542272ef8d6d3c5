"""Queue names as they come: many, long, odd, none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pgq_ops.exporter.store import exposition
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

HOSTILE = [
    'quote"d',
    "back\\slash",
    "line\nbreak",
    "carriage\rreturn",
    "{brace}",
    "100 %",
    "é",
    "",
    " ",
    "x" * 4_096,
    None,
]


@pytest.mark.case("M5")
def test_fifty_thousand_queues_become_the_largest_fifty_and_one_for_all_others(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, run_at) SELECT 'q' || i, 'pending', now() - make_interval(secs => i)"
        " FROM generate_series(1, 50000) AS i"
    )
    database.execute(
        "INSERT INTO jobs (queue, status) SELECT 'big' || i, 'pending' FROM generate_series(1, 49) AS i, generate_series(1, 3)"
    )
    seen = collection_of(database).healthy()
    labels = {queue for queue, _ in seen.values("jobs")}
    assert len(labels) == 51
    assert {f"big{number}" for number in range(1, 50)} < labels
    assert seen.value("jobs", "ready", queue="(other)") == 50_000 - 1
    assert seen.value("oldest_ready_age_seconds", "(other)") == pytest.approx(50_000, abs=60)
    families = len(seen.collector.store.samples())
    assert families < 51 * 25

    # Other queues are the largest now. The series stay those that they were.
    database.execute(
        "DELETE FROM jobs; INSERT INTO jobs (queue, status) SELECT 'new', 'pending' FROM generate_series(1, 9)"
    )
    seen.healthy()
    assert {queue for queue, _ in seen.values("jobs")} == labels
    assert seen.value("jobs", "ready", queue="(other)") == 9


@pytest.mark.case("M5")
def test_odd_names_leave_the_exposition_valid(database: Database) -> None:
    create_field_table(database)
    for name in HOSTILE:
        database.execute("INSERT INTO jobs (queue, status) VALUES (%s, 'pending')", [name])
    seen = collection_of(database).healthy()
    text = exposition(seen.collector.store)
    parsed = {family.name: family for family in text_string_to_metric_families(text)}
    queues = {sample.labels["queue"] for sample in parsed["pgqops_jobs"].samples if sample.labels["state"] == "ready"}
    assert len(queues) == len(HOSTILE)
    assert {'quote"d', "back\\slash", "{brace}", "100 %", "é", "(empty)", " ", "(null)"} < queues
    assert max(map(len, queues)) <= 200
    assert "\r" not in text
    assert seen.value("jobs", "ready", queue="(null)") == 1


def test_a_queue_of_the_config_has_its_own_label_however_many_others_there_are(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status) SELECT 'q' || i, 'pending' FROM generate_series(1, 200) AS i")
    toml = FIELD + '[job_tables.jobs.queues.video]\nslo.oldest_ready = "2h"\n'
    seen = collection_of(database, toml).healthy()
    assert seen.value("jobs", "ready", queue="video") == 0
    assert seen.value("slo_oldest_ready_seconds", "video") == 7_200
    assert len({queue for queue, _ in seen.values("jobs")}) == 51


def test_a_queue_that_is_called_as_the_labels_are_is_told_apart_from_them(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status) VALUES ('(null)', 'pending'), (NULL, 'pending'), (NULL, 'pending')"
    )
    seen = collection_of(database).healthy()
    assert seen.value("jobs", "ready", queue="(null)") == 2
    others = [
        queue for (queue,), value in seen.values("jobs", state="ready").items() if queue != "(null)" and value == 1
    ]
    assert len(others) == 1
    assert others[0].startswith("(null)#")
