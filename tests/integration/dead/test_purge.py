"""Purging dead letters: exported, then deleted, exactly those that were exported."""

from __future__ import annotations

import json
import stat
from datetime import timedelta
from io import FileIO
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.errors import ActionFailed, ConfigError, NotPermitted, UsageError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.tasks import dead_export_file
from pgq_ops.tasks.dead_purge import DeadPurge
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, statuses
from tests.support.retrying import DEAD, MOVED, count_batches, purge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles


def prepare(database: Database, number: int = 100) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": number})
    database.execute("INSERT INTO jobs (status) VALUES ('pending'), ('running'), ('done')")


RESTORE = "INSERT INTO jobs OVERRIDING SYSTEM VALUE SELECT (json_populate_record(NULL::jobs, %s::json -> 'row')).*"


def exported(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["row"] for line in file.read_text().splitlines()]


def test_what_is_deleted_is_in_the_file_whole_and_nothing_else(database: Database, tmp_path: Path) -> None:
    prepare(database, 1_234)
    database.execute("SET TimeZone = 'UTC'")
    database.execute("ALTER TABLE jobs ALTER id SET GENERATED ALWAYS")
    rows = database.rows("SELECT to_jsonb(j.*) FROM jobs AS j WHERE status = 'dead' ORDER BY id")
    file = tmp_path / "dead.jsonl"
    result = purge(database, file=file)
    assert (result.counts.jobs, result.exported, result.export, result.counts.refused) == (1_234, 1_234, str(file), 0)
    assert exported(file) == [row for (row,) in rows]
    assert statuses(database) == {"pending": 1, "running": 1, "done": 1}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = purge(database, file=tmp_path / "again.jsonl")
    assert (again.counts.jobs, again.export, again.outcome) == (0, None, "nothing")
    assert not (tmp_path / "again.jsonl").exists()
    for line in file.read_text().splitlines():
        database.execute(RESTORE, [line])
    assert database.rows("SELECT to_jsonb(j.*) FROM jobs AS j WHERE status = 'dead' ORDER BY id") == rows


def test_an_exported_row_can_be_put_back_as_it_was(database: Database, tmp_path: Path) -> None:
    database.execute(
        """
        CREATE TYPE state AS ENUM ('pending', 'running', 'done', 'dead');
        CREATE TABLE jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), j text, status state NOT NULL, n numeric, f float8,
                           d json, b jsonb, r bytea, t timestamptz, a text[], "odd ""%% name" text);
        INSERT INTO jobs (j, status, n, f, d, b, r, t, a, "odd ""%% name") VALUES
          ('line' || E'\\n' || 'break "', 'dead', 1e30 + 0.1, 0.1::float8 + 0.2, E'{"a":\\n1, "a": "\\\\u00e9"}', '{"x": [1e400]}',
           '\\x00ff', 'infinity', ARRAY['a', NULL, '{'], '%s'),
          (NULL, 'dead', 'NaN', 'Infinity', NULL, NULL, NULL, '2026-01-02 03:04:05.678901+00', '{}', '')
    """.replace("%%", "%")
    )
    toml = """
        [job_tables.jobs]
        table = "jobs"
        columns = { id = "id", state = "status" }
        states = { pending = ["pending"], running = ["running"], done = ["done"], dead = ["dead"] }
    """
    # A line break between the tokens of a JSON column becomes a space: the file has a row a line.
    whole = "SELECT ROW(id, j, status, n, f, b, r, t, a, \"odd \"\"% name\")::text, replace(d::text, E'\\n', ' ') FROM jobs AS j ORDER BY id"
    before = database.rows(whole)
    file = tmp_path / "dead.jsonl"
    assert purge(database, toml, file=file).exported == 2
    assert database.rows(whole) == []
    for line in file.read_text().splitlines():
        database.execute(RESTORE, [line])
    assert database.rows(whole) == before


def test_only_what_the_filter_means_goes(database: Database, tmp_path: Path) -> None:
    prepare(database)
    wanted = DeadFilter(older_than=timedelta(seconds=50), queue="mail")
    database.execute("UPDATE jobs SET queue = 'x''; DELETE FROM jobs; --' WHERE id = 100")
    result = purge(database, file=tmp_path / "a", wanted=wanted, limit=20)
    assert result.counts.jobs == 20
    assert min(row["id"] for row in exported(tmp_path / "a")) >= 49
    hostile = DeadFilter(queue="x'; DELETE FROM jobs; --")
    assert purge(database, file=tmp_path / "b", wanted=hostile).counts.ids == ("100",)
    assert database.value("SELECT count(*) FROM jobs") == 100 - 21 + 3


def test_rows_that_a_foreign_key_holds_are_told_and_neither_exported_nor_deleted(
    database: Database, tmp_path: Path
) -> None:
    prepare(database, 20)
    database.execute("CREATE TABLE notes (job bigint REFERENCES jobs); INSERT INTO notes VALUES (3), (11), (20)")
    result = purge(database, file=tmp_path / "a")
    assert (result.counts.jobs, result.exported, result.counts.refused) == (17, 17, 3)
    assert [conflict.id for conflict in result.counts.conflicts] == ["3", "11", "20"]
    assert all(
        "23503" in conflict.reason and "notes_job_fkey" in conflict.reason for conflict in result.counts.conflicts
    )
    assert {row["id"] for row in exported(tmp_path / "a")} == set(range(1, 21)) - {3, 11, 20}
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 3


def test_a_deferred_foreign_key_fails_before_anything_is_exported(database: Database, tmp_path: Path) -> None:
    prepare(database, 5)
    database.execute("CREATE TABLE notes (job bigint REFERENCES jobs DEFERRABLE INITIALLY DEFERRED)")
    database.execute("INSERT INTO notes VALUES (3)")
    result = purge(database, file=tmp_path / "a")
    assert (result.counts.jobs, result.counts.refused) == (4, 1)
    assert [row["id"] for row in exported(tmp_path / "a")] == [1, 2, 4, 5]


def test_foreign_keys_that_would_change_other_tables_are_named_and_refused_unless_allowed(
    database: Database, tmp_path: Path
) -> None:
    prepare(database, 5)
    database.execute("""
        CREATE TABLE events (id int PRIMARY KEY, job bigint REFERENCES jobs ON DELETE CASCADE);
        CREATE TABLE details (event int REFERENCES events ON DELETE CASCADE);
        CREATE TABLE links (job bigint REFERENCES jobs ON DELETE SET NULL);
        CREATE TABLE harmless (job bigint REFERENCES jobs ON UPDATE CASCADE);
        INSERT INTO events VALUES (1, 1); INSERT INTO details VALUES (1); INSERT INTO links VALUES (2)
    """)
    named = (
        "details_event_fkey deletes rows of details",
        "events_job_fkey deletes rows of events",
        "links_job_fkey sets columns to NULL in links",
    )
    bound = bind_toml(database, FIELD, read_only=True)
    plan = DeadPurge(export={"jobs": tmp_path / "a"}).plan(bound.connection, bound.table)
    assert tuple(map(str, plan.cascades)) == named
    with pytest.raises(UsageError, match="--cascade") as refused:
        purge(database, file=tmp_path / "a")
    assert all(name in str(refused.value) for name in named)
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 5
    assert purge(database, file=tmp_path / "a", cascade=True).counts.jobs == 5
    assert database.value("SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM details)") == 0


def test_a_dead_letter_that_would_take_other_jobs_with_it_is_never_purged(database: Database, tmp_path: Path) -> None:
    prepare(database, 5)
    database.execute("ALTER TABLE jobs ADD parent bigint REFERENCES jobs ON DELETE CASCADE")
    database.execute("INSERT INTO jobs (status, parent) SELECT 'pending', min(id) FROM jobs WHERE status = 'dead'")
    before = statuses(database)
    with pytest.raises(UsageError, match="jobs_parent_fkey deletes rows of jobs"):
        purge(database, file=tmp_path / "a", cascade=True)
    assert statuses(database) == before


def test_a_disk_that_is_full_ends_the_purge_with_exactly_what_was_exported_deleted(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(database, 1_500)
    file = tmp_path / "dead.jsonl"

    class FullDisk(FileIO):
        """Has room for one batch and a half."""

        size = 0

        def write(self, data: Any) -> int:
            self.size = self.size or len(data) * 3 // 2
            if (room := self.size - self.tell()) <= 0:
                raise OSError(28, "No space left on device")
            return super().write(data[:room])

    monkeypatch.setattr(dead_export_file, "FileIO", FullDisk)
    bound = bind_toml(database, FIELD)
    task = DeadPurge(export={"jobs": file})
    with pytest.raises(ActionFailed, match="No space left"):
        task.run(bound.connection, bound.table, lambda: True)
    gone = task.done["jobs"].counts.jobs
    assert gone == 500
    assert task.done["jobs"].exported == gone
    assert [row["id"] for row in exported(file)] == list(range(1, gone + 1))
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 1_500 - gone
    assert database.value("SELECT min(id) FROM jobs WHERE status = 'dead'") == gone + 1


def test_a_batch_that_is_rolled_back_is_cut_from_the_file_again(database: Database, tmp_path: Path) -> None:
    prepare(database, 10)
    # A batch with row 4 and another one fails, and only at the commit: what SET CONSTRAINTS ALL IMMEDIATE calls puts
    # off another check.
    database.execute("""
        CREATE TABLE noted (id bigint);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO noted VALUES (old.id); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER note AFTER DELETE ON jobs DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note();
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN
            IF new.id = 4 AND (SELECT count(*) FROM noted WHERE xmin = pg_current_xact_id()::xid) > 1
            THEN RAISE EXCEPTION 'at the end'; END IF; RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON noted DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse();
    """)
    result = purge(database, file=tmp_path / "a")
    assert result.counts.jobs == result.exported == 10
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 0
    assert sorted(row["id"] for row in exported(tmp_path / "a")) == list(range(1, 11))


def test_a_connection_that_is_lost_ends_the_purge_with_exactly_what_was_exported_deleted(
    database: Database, tmp_path: Path
) -> None:
    prepare(database, 1_500)
    bound = bind_toml(database, FIELD)
    task = DeadPurge(export={"jobs": tmp_path / "a"})
    calls = iter(range(10))

    def guard() -> bool:
        if next(calls) == 3:
            database.execute("SELECT pg_terminate_backend(%s, 5000)", [bound.connection.info.backend_pid])
        return True

    with pytest.raises(psycopg.OperationalError):
        task.run(bound.connection, bound.table, guard)
    assert (task.done["jobs"].counts.jobs, task.done["jobs"].exported) == (1_000, 1_000)
    assert [row["id"] for row in exported(tmp_path / "a")] == list(range(1, 1_001))
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 500


def test_a_trigger_that_keeps_a_row_keeps_it_out_of_the_file(database: Database, tmp_path: Path) -> None:
    prepare(database, 10)
    database.execute("""
        CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF old.id = 4 THEN RETURN NULL; END IF; RETURN old; END $$;
        CREATE TRIGGER keep BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION keep();
    """)
    result = purge(database, file=tmp_path / "a")
    assert (result.counts.jobs, [(one.id, one.reason) for one in result.counts.conflicts]) == (
        9,
        [("4", "a trigger of the table discarded the change without an error")],
    )
    assert 4 not in {row["id"] for row in exported(tmp_path / "a")}


def test_locked_rows_are_passed_over_also_those_that_only_a_child_row_holds(database: Database, tmp_path: Path) -> None:
    prepare(database, 10)
    count_batches(database, "DELETE")
    database.execute("CREATE TABLE notes (job bigint REFERENCES jobs)")
    with database.connect(autocommit=False) as other, database.connect(autocommit=False) as child:
        other.execute("UPDATE jobs SET last_error = 'x' WHERE id = 2")
        child.execute("INSERT INTO notes VALUES (9)")
        result = purge(database, file=tmp_path / "a")
        assert (result.counts.jobs, sorted(result.counts.locked_ids)) == (8, ["2", "9"])
        # In one piece: nothing waited for them, or the batch would have been halved.
        assert database.rows("SELECT number FROM batches") == [(8,)]
        other.rollback()
        child.rollback()
    assert purge(database, file=tmp_path / "b").counts.jobs == 2


def test_a_file_that_is_there_is_never_written_over(database: Database, tmp_path: Path) -> None:
    prepare(database, 3)
    file = tmp_path / "dead.jsonl"
    file.write_text("precious")
    with pytest.raises(UsageError, match="is there already"):
        purge(database, file=file)
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is there already"):
        purge(database, file=dangling)
    with pytest.raises(UsageError, match="no folder"):
        purge(database, file=tmp_path / "no" / "folder")
    assert file.read_text() == "precious"
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 3


def test_a_role_that_may_not_read_the_payload_is_told_so_and_may_purge_without_an_export(
    database: Database, tmp_path: Path, make_role: Roles
) -> None:
    prepare(database, 3)
    database.execute("ALTER TABLE jobs ADD COLUMN payload text DEFAULT 'secret'")
    role = make_role("purger")
    columns = (
        "id, queue, status, attempts, max_attempts, lease_until, locked_by, run_at, created_at, last_error, finished_at"
    )
    database.execute(f"GRANT SELECT ({columns}, tableoid, ctid) ON jobs TO {role}")
    with pytest.raises(NotPermitted, match="GRANT DELETE ON"):
        purge(database, role=role)
    database.execute(f"GRANT DELETE ON jobs TO {role}")
    with pytest.raises(NotPermitted, match=r'GRANT UPDATE \("status"\) ON'):
        purge(database, role=role)
    database.execute(f"GRANT UPDATE (status) ON jobs TO {role}")
    with pytest.raises(NotPermitted, match=r"may not read dedup_key, payload(.|\n)*GRANT SELECT(.|\n)*--no-export"):
        purge(database, file=tmp_path / "a", role=role)
    assert not (tmp_path / "a").exists()
    assert database.value("SELECT count(*) FROM jobs WHERE status = 'dead'") == 3
    result = purge(database, role=role)
    assert (result.counts.jobs, result.export, result.exported) == (3, None, 0)


def test_both_places_are_purged_into_one_file(database: Database, tmp_path: Path) -> None:
    prepare(database, 4)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(
        "INSERT INTO dead_jobs SELECT * FROM jobs WHERE status = 'dead'; UPDATE dead_jobs SET id = id + 50"
    )
    result = purge(database, MOVED, file=tmp_path / "a")
    assert (result.counts.jobs, result.counts.moved) == (8, 4)
    tables = [json.loads(line)["table"] for line in (tmp_path / "a").read_text().splitlines()]
    assert sorted(tables) == ["public.dead_jobs"] * 4 + ["public.jobs"] * 4
    assert database.value("SELECT count(*) FROM dead_jobs") == 0


def test_a_filter_on_what_is_not_mapped_is_refused(database: Database) -> None:
    prepare(database, 1)
    with pytest.raises(ConfigError, match=r"columns.kind: is not mapped, and --kind needs it"):
        purge(database, wanted=DeadFilter(kind="x"))
