"""`dead list`: the jobs that died last, how many there are, how old, of what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.cli.dead_lines import lines
from pgq_ops.cli.dead_report import Listed, list_tables
from pgq_ops.cli.dead_tables import each_table
from pgq_ops.db.connection import Limits
from pgq_ops.errors import ConfigError, DatabaseFailed, NotPermitted
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.stats import bounded, dead_letters, dead_summary, plans
from tests.support.binding import bind_toml, loaded_of
from tests.support.dead_letters import KINDS, MOVED, places
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    import pytest

    from pgq_ops.cli.dead_report import Report
    from tests.support.database import Database
    from tests.support.roles import Roles

ANY = DeadFilter()
DIED = """
INSERT INTO {table} (id, queue, kind, status, attempts, locked_by, finished_at, created_at, last_error) VALUES
    (1, 'mail', 'send', 'dead', 5, 'w1', now() - interval '59 min', NULL, E'\\n  Timeout after 31 s\\nsecond line'),
    (2, 'mail', 'send', 'dead', 5, 'w2', now() - interval '61 min', NULL, 'Timeout after 30 s'),
    (3, 'film', 'scan', 'dead', 4, 'w3', now() - interval '23 h 59 min', NULL, 'no such file'),
    (4, NULL, NULL, 'dead', NULL, NULL, now() - interval '24 h 1 min', NULL, NULL),
    (5, NULL, NULL, 'dead', 0, NULL, NULL, now() - interval '3 days', ''),
    (6, NULL, NULL, 'dead', 0, NULL, 'infinity', NULL, NULL)
"""


def create(database: Database, *, moved: bool = False) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN kind text, ADD COLUMN payload text DEFAULT 'secret'")
    if moved:
        database.execute("CREATE TABLE dead_jobs (LIKE jobs)")


def listed(database: Database, toml: str = KINDS, wanted: DeadFilter = ANY, *, limit: int = 50) -> Listed:
    [(_, found)] = list_tables(loaded_of(toml, database.dsn), (), wanted, limit).tables
    assert isinstance(found, Listed)
    return found


def text(report: Report, width: int | None = 100) -> str:
    return "\n".join(line.plain for line in lines(report, width))


def test_the_last_ones_come_first_and_those_of_unknown_age_last(database: Database) -> None:
    create(database)
    database.execute(DIED.format(table="jobs"))
    found = listed(database)
    assert [letter.id for letter in found.letters] == ["1", "2", "3", "4", "5", "6"]
    first = found.letters[0]
    assert (first.queue, first.kind, first.attempts, first.owner) == ("mail", "send", 5, "w1")
    assert first.error == "Timeout after 31 s"
    assert first.age_seconds is not None
    assert 59 * 60 <= first.age_seconds < 60 * 60
    assert found.letters[-1].age_seconds is None
    assert [letter.id for letter in listed(database, limit=2).letters] == ["1", "2"]


def test_the_numbers_are_those_of_the_table(database: Database) -> None:
    create(database)
    database.execute(DIED.format(table="jobs"))
    summary = listed(database, limit=1).overview.summary
    assert (summary.jobs, summary.exact) == (6, True)
    assert summary.oldest_seconds is not None
    assert summary.newest_seconds is not None
    assert 3 * 86400 <= summary.oldest_seconds < 3 * 86400 + 60
    assert 59 * 60 <= summary.newest_seconds < 60 * 60
    assert (summary.last_hour, summary.last_day, summary.growth_exact) == (1, 3, True)
    filtered = listed(database, wanted=DeadFilter(queue="mail")).overview
    assert (filtered.summary.jobs, filtered.summary.last_day) == (2, 2)
    assert [(group.error, group.jobs) for group in filtered.errors.groups] == [("Timeout after <n> s", 2)]


def test_the_dead_state_and_the_dead_letter_table_are_read_together(database: Database) -> None:
    create(database, moved=True)
    database.execute(DIED.format(table="jobs"))
    database.execute("INSERT INTO dead_jobs SELECT * FROM jobs")
    database.execute("UPDATE dead_jobs SET id = id + 10, finished_at = finished_at - interval '30 s', status = 'odd'")
    found = listed(database, MOVED, limit=4)
    assert [(letter.id, letter.table) for letter in found.letters] == [
        ("1", "public.jobs"),
        ("11", "public.dead_jobs"),
        ("2", "public.jobs"),
        ("12", "public.dead_jobs"),
    ]
    assert (found.overview.summary.jobs, found.overview.summary.last_day) == (12, 6)
    assert found.overview.errors.looked_at == 12
    shown = text(list_tables(loaded_of(MOVED, database.dsn), (), ANY, 4))
    assert "public.dead_jobs  Timeout" in shown
    assert "and 8 more" in shown


def test_beyond_the_cap_numbers_are_bounds_and_growth_is_found_by_itself(database: Database) -> None:
    create(database)
    database.execute(
        "INSERT INTO jobs (status, finished_at) SELECT 'dead', now() - interval '2 days' FROM generate_series(1, 20)"
    )
    database.execute("INSERT INTO jobs (status, finished_at) SELECT 'dead', now() FROM generate_series(1, 3)")
    connection, (place,) = places(database, KINDS)
    for most, expected in ((23, (23, True)), (22, (22, False)), (10, (10, False))):
        seen = dead_summary.read(connection, place, ANY, most=most, through_indexes=False)
        assert (seen.jobs, seen.exact) == expected
        assert (seen.last_hour, seen.last_day, seen.growth_exact) == (3, 3, True)
        assert seen.newest_seconds is not None
        assert seen.newest_seconds < 60
    seen = dead_summary.read(connection, place, ANY, most=2, through_indexes=False)
    assert (seen.last_hour, seen.growth_exact) == (3, False)


def test_without_times_no_age_and_no_growth_is_claimed(database: Database) -> None:
    create(database)
    database.execute("INSERT INTO jobs (status) VALUES ('dead')")
    bare = "\n".join(line for line in KINDS.splitlines() if not line.startswith(("created_at", "finished_at")))
    summary = listed(database, bare).overview.summary
    assert (summary.jobs, summary.oldest_seconds, summary.newest_seconds) == (1, None, None)
    assert (summary.last_hour, summary.last_day) == (None, None)
    assert text(list_tables(loaded_of(bare, database.dsn), (), ANY, 5)).startswith("jobs  public.jobs  1 dead letter\n")


def test_hostile_texts_are_neutralised_and_ids_are_whole_on_a_narrow_terminal(database: Database) -> None:
    create(database)
    database.execute("ALTER TABLE jobs ALTER id DROP IDENTITY")
    database.execute("ALTER TABLE jobs ALTER id TYPE text")
    job = "job-" + "0123456789" * 12
    database.execute(
        "INSERT INTO jobs (id, queue, status, locked_by, last_error) VALUES (%s, %s, 'dead', %s, %s)",
        [job, "q\x1b[2J", "w\u202e1", "\x1b]0;title\x07 boom " + "x" * 200],
    )
    shown = text(list_tables(loaded_of(FIELD, database.dsn), (), ANY, 5), 80)
    assert job in shown
    assert all(line.isprintable() for line in shown.splitlines())
    assert "\\x1b]0;title" in shown
    assert "x" * 100 not in shown
    assert "x" * 200 in text(list_tables(loaded_of(FIELD, database.dsn), (), ANY, 5), None)


def test_select_on_the_mapped_columns_is_enough_and_what_is_missing_is_said_with_the_grant(
    database: Database, make_role: Roles
) -> None:
    create(database, moved=True)
    database.execute(DIED.format(table="dead_jobs"))
    reader = make_role("reader")
    mapped = "id, queue, kind, status, attempts, max_attempts, lease_until, locked_by, run_at, created_at, last_error"
    database.execute(f'GRANT SELECT ({mapped}, finished_at, tableoid, ctid) ON jobs TO "{reader}"')
    report = list_tables(loaded_of(MOVED, database.dsn_as(reader)), (), ANY, 5)
    failure = report.failure()
    assert isinstance(failure, NotPermitted)
    [remedy] = [line.strip() for line in str(failure).splitlines() if "GRANT" in line]
    assert "payload" not in remedy
    database.execute(remedy)
    again = list_tables(loaded_of(MOVED, database.dsn_as(reader)), (), ANY, 5)
    assert again.failure() is None
    assert len(again.as_json()["job_tables"][0]["dead_letters"]) == 5
    assert "secret" not in str(again.as_json())


def test_a_look_that_takes_too_long_is_told_with_the_index_that_would_help(database: Database) -> None:
    create(database)
    database.execute(DIED.format(table="jobs"))
    bound = bind_toml(database, KINDS, limits=Limits(statement_ms=200))

    def slow(_: object) -> None:
        bound.connection.execute("SELECT pg_sleep(20)")

    loaded = loaded_of(KINDS, database.dsn)
    [error] = each_table(bound.connection, loaded, (), slow).values()
    assert isinstance(error, DatabaseFailed)
    [index] = [line.strip() for line in str(error).splitlines() if "CREATE INDEX" in line]
    database.execute(index)
    definition = database.value("SELECT indexdef FROM pg_indexes WHERE indexname = 'jobs_pgq_ops_dead'")
    assert "(finished_at) WHERE (status = 'dead'::text)" in definition
    [error] = each_table(bound.connection, loaded, (), slow).values()
    assert "an index leads to them" in str(error)
    assert "CREATE" not in str(error)


def test_through_an_index_nothing_of_a_long_history_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(database)
    database.execute("CREATE INDEX jobs_dead ON jobs (finished_at) WHERE status = 'dead'")
    database.execute("INSERT INTO jobs (id, status) SELECT n, 'done' FROM generate_series(1001, 21000) AS n")
    database.execute(DIED.format(table="jobs"))
    database.execute("VACUUM ANALYZE jobs")
    connection, (place,) = places(database, KINDS)
    used: list[str] = []

    def planned(*asked: Any, through_indexes: bool) -> tuple[list[Any], float]:
        session, table, statement, parameters = asked
        with bounded.transaction(session, table, through_indexes=through_indexes):
            nodes = [plans.explain(session, statement, parameters)]
        for node in nodes:
            nodes += node.get("Plans", ())
        used.extend(str(node.get("Index Name", node["Node Type"])) for node in nodes)
        return [], 0.0

    monkeypatch.setattr(bounded, "read", planned)
    dead_letters.read(connection, place, ANY, limit=10, through_indexes=True)
    assert {"jobs_dead", "Tid Scan"} <= set(used)
    assert "Seq Scan" not in used


def test_one_table_that_cannot_be_read_keeps_no_other_back(database: Database) -> None:
    create(database)
    database.execute(DIED.format(table="jobs"))
    second = FIELD.replace("[job_tables.jobs", "[job_tables.gone").replace('table = "jobs"', 'table = "gone"')
    report = list_tables(loaded_of(second + KINDS, database.dsn), (), ANY, 1)
    assert isinstance(report.failure(), ConfigError)
    gone, jobs = report.as_json()["job_tables"]
    assert "there is no table" in gone["error"]
    assert (jobs["jobs"], jobs["error"]) == (6, None)


def test_an_error_in_json_or_an_array_is_told_by_its_first_message(database: Database) -> None:
    create(database)
    heads = {
        "jsonb": ("""'[{"error": "boom\\nat line 2"}, {"error": "later"}]'""", "boom"),
        "json": ("""'{"message": "boom", "n": 1}'""", "boom"),
        "jsonb ": ("""'"boom"'""", "boom"),
        "jsonb  ": ("""'{"code": 7}'""", '{"code": 7}'),
        "text[]": ("ARRAY['boom', 'later']", "boom"),
        "jsonb[]": ("""ARRAY['{"error": "boom"}'::jsonb]""", "boom"),
        "varchar(100)": ("E'boom\\nmore'", "boom"),
    }
    for kind, (stored, head) in heads.items():
        database.execute("TRUNCATE jobs")
        database.execute(f"ALTER TABLE jobs ALTER last_error TYPE {kind} USING NULL")
        database.execute(f"INSERT INTO jobs (status, last_error) VALUES ('dead', {stored})")
        assert [letter.error for letter in listed(database).letters] == [head], kind
