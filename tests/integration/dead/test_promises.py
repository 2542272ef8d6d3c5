"""What a plan, a question and a report promise is what happens: attempts left, refusals, the spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.dead_acting_lines import lines_of_purge, lines_of_retry, question_of_retry
from pgq_ops.errors import UsageError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.tasks.dead_purge import DeadPurge
from pgq_ops.tasks.dead_rate import LONGEST_SPREAD
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, statuses
from tests.support.retrying import DEAD, MOVED, purge, retry

if TYPE_CHECKING:
    from pgq_ops.tasks.dead_retry_result import RetryResult
    from tests.support.database import Database

ITS_LIKE = "jobs_parent_fkey deletes rows of jobs"


def prepare(database: Database, number: int = 10) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": number})


def plan(database: Database, toml: str = FIELD, **options: object) -> RetryResult:
    bound = bind_toml(database, toml, read_only=True)
    return DeadRetry(**options).plan(bound.connection, bound.table)  # type: ignore[arg-type]


@pytest.mark.parametrize("cascade", [False, True])
def test_a_plan_is_refused_as_the_purge_is_where_other_jobs_would_go_too_and_says_the_way_out(
    database: Database,
    cascade: bool,  # noqa: FBT001
) -> None:
    prepare(database)
    database.execute("ALTER TABLE jobs ADD parent bigint REFERENCES jobs ON DELETE CASCADE")
    bound = bind_toml(database, FIELD)
    refusals = []
    for act in ("plan", "run"):
        guard = [lambda: True] if act == "run" else []
        with pytest.raises(UsageError) as refused:
            getattr(DeadPurge(cascade=cascade), act)(bound.connection, bound.table, *guard)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]
    assert ITS_LIKE in refusals[0]
    assert "which --cascade does not allow" in refusals[0]
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_parent_fkey")
    database.execute("ALTER TABLE jobs ADD FOREIGN KEY (parent) REFERENCES jobs ON DELETE SET NULL")
    assert "ON DELETE SET NULL" in refusals[0]
    assert purge(database, cascade=True).counts.jobs == 10


def test_a_plan_of_a_retry_is_refused_too_where_other_dead_letters_would_go(database: Database) -> None:
    prepare(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs, PRIMARY KEY (id))")
    database.execute("ALTER TABLE dead_jobs ADD parent bigint REFERENCES dead_jobs ON DELETE CASCADE")
    with pytest.raises(UsageError, match="dead_jobs_parent_fkey deletes rows of dead_jobs"):
        plan(database, MOVED, cascade=True)


def test_a_plan_says_that_other_tables_need_the_option(database: Database) -> None:
    prepare(database)
    database.execute("CREATE TABLE notes (job bigint REFERENCES jobs ON DELETE CASCADE)")
    bound = bind_toml(database, FIELD, read_only=True)
    told = list(lines_of_purge("jobs", DeadPurge().plan(bound.connection, bound.table)))
    assert told[-2:] == [
        "  foreign keys change other tables too, so it needs --cascade:",
        "    notes_job_fkey deletes rows of notes",
    ]


@pytest.mark.parametrize(
    ("caps", "extra", "left", "told"),
    [
        ([None], 9, (5, 5), "5 attempts left (9 is more than the cap of attempts)"),
        ([None], 5, (5, 5), "5 attempts left"),
        ([None], 1, (1, 1), "1 attempt left"),
        ([None, 2, 30], 9, (2, 9), "2 to 9 attempts left (9 is more than the cap of attempts)"),
        ([0], 3, (1, 1), "1 attempt left (3 is more than the cap of attempts)"),
        ([30], None, (None, None), "fresh attempts"),
    ],
)
@pytest.mark.parametrize("toml", [FIELD, MOVED], ids=["in place", "moved back"])
def test_what_is_told_of_the_attempts_left_is_what_the_caps_allow(  # noqa: PLR0913, PLR0917  # one case, in its parts
    database: Database,
    caps: list[int | None],
    extra: int | None,
    left: tuple[int | None, int | None],
    told: str,
    toml: str,
) -> None:
    prepare(database, len(caps))
    for job, cap in enumerate(caps, 1):
        database.execute("UPDATE jobs SET max_attempts = %s WHERE id = %s", [cap, job])
    if toml == MOVED:
        database.execute("CREATE TABLE dead_jobs AS SELECT * FROM jobs; DELETE FROM jobs")
    planned = plan(database, toml, extra_attempts=extra)
    done = retry(database, toml, extra_attempts=extra)
    for result in (planned, done):
        document = result.as_json()
        assert (document["least_attempts_left"], document["most_attempts_left"]) == left
        assert f" with {told}, " in next(lines_of_retry("jobs", result))
    assert (f" with {told}, " in question_of_retry([("jobs", planned)])) is ("more than the cap" in told)
    stored = database.value("SELECT array_agg(greatest(1, coalesce(max_attempts, 5) - attempts)) FROM jobs")
    if extra is not None:
        assert (min(stored), max(stored)) == left


def test_of_a_limited_plan_the_attempts_are_those_of_the_jobs_that_would_come_back(database: Database) -> None:
    prepare(database, 5)
    database.execute("UPDATE jobs SET max_attempts = id")
    # The first by its key is now the last in the table.
    database.execute("UPDATE jobs SET queue = queue WHERE id = 1")
    assert plan(database, extra_attempts=4, limit=3).attempts_left == (1, 3)
    assert retry(database, extra_attempts=4, limit=3).attempts_left == (1, 3)


def test_a_rate_that_would_hide_jobs_for_more_than_a_month_is_refused(database: Database) -> None:
    prepare(database, 10)
    slowest = 10 / LONGEST_SPREAD.total_seconds()
    for rate in (slowest * 0.99, 1e-300):
        with pytest.raises(UsageError, match=r"10 jobs at --rate .* more than 30d: give --rate 0\.0001 or more"):
            plan(database, rate=rate)
        with pytest.raises(UsageError, match="10 jobs at --rate"):
            retry(database, rate=rate)
    assert statuses(database) == {"dead": 10}
    assert retry(database, rate=slowest * 0.99, limit=9).counts.jobs == 9
    assert plan(database, rate=slowest).counts.jobs == 1
    assert retry(database, rate=slowest).counts.jobs == 1
    latest = database.value("SELECT max(run_at) - now() FROM jobs")
    assert latest <= LONGEST_SPREAD


def test_a_table_that_is_locked_is_told_as_locked_and_its_jobs_are_not_told_to_be_missing(database: Database) -> None:
    prepare(database, 3)
    bound = bind_toml(database, FIELD)
    wanted = DeadFilter(ids=("2", "99"))
    for mode, missing in (("SHARE", ("99",)), ("ACCESS EXCLUSIVE", ())):
        with database.connect(autocommit=False) as other:
            other.execute(f"LOCK TABLE jobs IN {mode} MODE")
            for task in (DeadRetry(wanted=wanted), DeadPurge(wanted=wanted)):
                counts = task.run(bound.connection, bound.table, lambda: True).counts
                assert (counts.jobs, counts.busy, counts.not_found) == (0, ("public.jobs",), missing), mode
                assert counts.outcome == "busy"
            counts = DeadRetry(wanted=wanted).plan(bound.connection, bound.table).counts
            if mode == "SHARE":
                assert (counts.jobs, counts.busy, counts.not_found) == (1, (), ("99",))
            else:
                assert (counts.jobs, counts.busy, counts.not_found) == (0, ("public.jobs",), ())


def test_a_reason_names_the_constraint_once(database: Database) -> None:
    prepare(database, 1)
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs ((true)) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status) VALUES ('pending')")
    [conflict] = retry(database).counts.conflicts
    assert conflict.reason.count("one_pending") == 1


def test_all_ids_of_a_run_are_told_and_a_plan_says_that_it_tells_some(database: Database) -> None:
    prepare(database, 30)
    planned, done = plan(database), retry(database)
    assert (len(planned.as_json()["jobs"]), planned.as_json()["jobs_complete"]) == (10, False)
    assert done.as_json()["jobs"] == [str(job) for job in range(1, 31)]
    assert done.as_json()["jobs_complete"] is True
    for result in (planned, done):
        assert "  jobs 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ..." in list(lines_of_retry("jobs", result))
