"""What an age of a dead letter counts from: its death, or where that is not known its creation, which is said."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.dead_acting_lines import lines_of_retry, question_of_retry
from pgq_ops.cli.dead_lines import lines
from pgq_ops.cli.dead_record_lines import lines as record_lines
from pgq_ops.cli.dead_records import export_tables, find
from pgq_ops.cli.dead_report import list_tables
from pgq_ops.errors import ConfigError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.tasks.dead_purge import DeadPurge
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml, loaded_of
from tests.support.jobs import FIELD, create_field_table, statuses
from tests.support.retrying import purge, retry

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database

ANY = DeadFilter()
HOUR = timedelta(hours=1)
OLD = DeadFilter(older_than=HOUR)
UNFINISHED = FIELD.replace('finished_at = "finished_at"\n', "")
# Of 1 and 2 it is known when they died, on both sides of an hour ago; 3 to 5 may have died just now.
ROWS = """
INSERT INTO jobs (id, status, created_at, finished_at) VALUES
    (1, 'dead', now() - interval '9600 h', now() - interval '61 min'),
    (2, 'dead', now() - interval '9600 h', now() - interval '59 min'),
    (3, 'dead', now() - interval '9600 h', NULL),
    (4, 'dead', now() - interval '9600 h', 'infinity'),
    (5, 'dead', now() - interval '9600 h', '-infinity'),
    (6, 'dead', now() - interval '59 min', NULL)
"""


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute(ROWS)
    return database


def left(database: Database) -> list[int]:
    return [job for (job,) in database.rows("SELECT id FROM jobs ORDER BY 1")]


@pytest.mark.parametrize("wanted", [OLD, DeadFilter(newer_than=HOUR)], ids=["older", "newer"])
def test_a_purge_by_age_is_refused_where_it_is_not_mapped_when_a_job_died(jobs: Database, wanted: DeadFilter) -> None:
    bound = bind_toml(jobs, UNFINISHED)
    option = "--older-than" if wanted == OLD else "--newer-than"
    told = rf"columns\.finished_at: is not mapped, .*{option} would be a guess \(map it, or say --all instead"
    with pytest.raises(ConfigError, match=told):
        DeadPurge(wanted=wanted).plan(bound.connection, bound.table)
    with pytest.raises(ConfigError, match=told):
        DeadPurge(wanted=wanted).run(bound.connection, bound.table, lambda: True)
    assert left(jobs) == [1, 2, 3, 4, 5, 6]
    assert purge(jobs, UNFINISHED).counts.jobs == 6


def test_a_purge_by_age_leaves_what_may_have_died_just_now(jobs: Database) -> None:
    plan = DeadPurge(wanted=OLD).plan(*_bound(jobs))
    result = purge(jobs, wanted=OLD)
    assert (plan.counts.jobs, result.counts.jobs, result.counts.ids) == (1, 1, ("1",))
    assert (plan.as_json()["age_since"], result.as_json()["age_since"]) == ("finished_at", "finished_at")
    assert left(jobs) == [2, 3, 4, 5, 6]
    assert purge(jobs, wanted=DeadFilter(newer_than=HOUR)).counts.ids == ("2",)
    everything = purge(jobs)
    assert (everything.counts.jobs, everything.as_json()["age_since"]) == (4, None)


def test_a_retry_by_age_goes_by_the_creation_where_nothing_else_is_mapped_and_says_so(jobs: Database) -> None:
    bound = bind_toml(jobs, UNFINISHED)
    plan = DeadRetry(wanted=OLD).plan(bound.connection, bound.table)
    assert (plan.counts.jobs, plan.as_json()["age_since"]) == (5, "created_at")
    said = "5 dead jobs (by when they were created)"
    assert f"jobs: {said} would be retried" in next(lines_of_retry("jobs", plan))
    assert question_of_retry([("jobs", plan)]).startswith("Retry 5 dead jobs of jobs (by when they were created), 50")
    result = retry(jobs, UNFINISHED, wanted=OLD)
    assert (result.counts.ids, result.as_json()["age_since"]) == (("1", "2", "3", "4", "5"), "created_at")
    assert f"jobs: {said} were retried" in next(lines_of_retry("jobs", result))
    assert statuses(jobs) == {"pending": 5, "dead": 1}


def test_a_retry_by_the_death_or_without_an_age_says_nothing_of_creations(jobs: Database) -> None:
    by_death = DeadRetry(wanted=OLD).plan(*_bound(jobs))
    ageless = DeadRetry().plan(*_bound(jobs, UNFINISHED))
    assert (by_death.as_json()["age_since"], ageless.as_json()["age_since"]) == ("finished_at", None)
    for plan in (by_death, ageless):
        assert "created" not in "\n".join([*lines_of_retry("jobs", plan), question_of_retry([("jobs", plan)])])


def test_a_list_says_which_ages_are_those_of_creations(jobs: Database) -> None:
    report = list_tables(loaded_of(FIELD, jobs.dsn), (), ANY, 9)
    [table] = report.as_json()["job_tables"]
    since = {letter["id"]: letter["age_since"] for letter in table["dead_letters"]}
    assert since == {"1": "finished_at", "2": "finished_at"} | dict.fromkeys(("3", "4", "5", "6"), "created_at")
    assert table["age_since"] == "finished_at"
    shown = {line.split()[0]: line for line in map(str, lines(report, None)) if line}
    assert shown["job"].split()[1] == "died"
    assert "created" not in shown["1"] + shown["jobs"]
    assert "  created 400d" in shown["3"]

    report = list_tables(loaded_of(UNFINISHED, jobs.dsn), (), ANY, 9)
    [table] = report.as_json()["job_tables"]
    assert (table["age_since"], {letter["age_since"] for letter in table["dead_letters"]}) == (
        "created_at",
        {"created_at"},
    )
    shown = {line.split()[0]: line for line in map(str, lines(report, None)) if line}
    assert "6 dead letters; the oldest created 400d" in shown["jobs"]
    assert "ago, the newest created 59m" in shown["jobs"]
    assert shown["job"].split()[1] == "created"
    assert "created" not in shown["3"]


def test_a_record_says_what_its_age_counts_from(jobs: Database) -> None:
    jobs.execute("UPDATE jobs SET created_at = NULL WHERE id = 4")
    written: list[str] = []
    export_tables(loaded_of(FIELD, jobs.dsn), (), ANY, written.append, payload=False, whole_row=False, limit=None)
    since = [(record["id"], record["age_since"]) for record in map(json.loads, written)]
    assert since[:4] == [("1", "finished_at"), ("2", "finished_at"), ("3", "created_at"), ("4", None)]
    shown = find(loaded_of(FIELD, jobs.dsn), (), DeadFilter(ids=("3",)), payload=False)
    text = [str(line) for line in record_lines(shown.records)]
    [created] = [line for line in text if line.startswith("created_at")]
    [finished] = [line for line in text if line.startswith("finished_at")]
    assert ("  (400d" in created, finished.split()) == (True, ["finished_at", "-"])


def _bound(database: Database, toml: str = FIELD) -> tuple[Connection, JobTable]:
    bound = bind_toml(database, toml)
    return bound.connection, bound.table
