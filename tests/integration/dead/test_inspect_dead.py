"""What `inspect` says of dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.inspection.inspector import Inspector
from tests.support.dead_letters import MOVED
from tests.support.inspection import as_json, as_text, loaded, looked
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database

DEAD = """
INSERT INTO jobs (status, finished_at, last_error)
SELECT 'dead', now() - n * interval '10 min', CASE WHEN n % 3 = 0 THEN 'boom' ELSE 'Timeout after ' || n || ' s' END
FROM generate_series(1, 30) AS n
"""


def test_their_age_growth_and_errors_are_on_the_screen_and_in_the_document(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    assert "dead letter" not in as_text(looked(tmp_path, FIELD, database.dsn))
    database.execute(DEAD)
    seen = looked(tmp_path, FIELD, database.dsn)
    [table] = as_json(seen)
    found = table["dead_letters"]
    assert (found["jobs"], found["exact"], found["last_hour"], found["last_day"]) == (30, True, 5, 30)
    assert 18_000 <= found["oldest_seconds"] < 18_060
    assert 600 <= found["newest_seconds"] < 660
    assert found["top_errors"] == [{"error": "Timeout after <n> s", "jobs": 20}, {"error": "boom", "jobs": 10}]
    lines = as_text(seen, None).splitlines()
    [at] = [number for number, line in enumerate(lines) if line.startswith("30 dead letters; the oldest 5h")]
    assert lines[at].endswith("5 in the last hour, 30 in the last 24 h")
    assert lines[at + 2].split(maxsplit=1) == ["20", "Timeout after <n> s"]
    assert max(map(len, as_text(seen, 80).splitlines())) <= 120


def test_those_in_the_dead_letter_table_are_among_them(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN kind text")
    database.execute(DEAD)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute("INSERT INTO dead_jobs SELECT * FROM jobs")
    [table] = as_json(looked(tmp_path, MOVED, database.dsn))
    assert (table["dead_letters"]["jobs"], table["dead_letters"]["last_hour"]) == (60, 10)
    assert table["not_read"] == {}


def test_where_no_index_leads_to_them_a_live_screen_does_not_look_for_them(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 210000)")
    database.execute(DEAD)
    database.execute("VACUUM ANALYZE jobs")
    with Inspector(loaded(tmp_path, FIELD, database.dsn), (), repeatedly=True) as inspector:
        assert as_json(inspector.look())[0]["not_read"]["dead_letters"] == "no index leads to the dead jobs"
    database.execute("CREATE INDEX jobs_dead ON jobs (finished_at) WHERE status = 'dead'")
    with Inspector(loaded(tmp_path, FIELD, database.dsn), (), repeatedly=True) as inspector:
        assert as_json(inspector.look())[0]["dead_letters"]["last_hour"] == 5


def test_a_dead_letter_table_that_is_locked_is_said_to_be(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    with database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE dead_jobs")
        [table] = as_json(looked(tmp_path, FIELD + 'dead_letter_table = "dead_jobs"\n', database.dsn))
    assert table["dead_letters"] is None
    assert "locked" in table["not_read"]["dead_letters"]
