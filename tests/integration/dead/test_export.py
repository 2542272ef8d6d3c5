"""`dead export`: every dead letter once, whole, and no snapshot held for it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.cli.dead_file import destination
from pgq_ops.cli.dead_records import export_tables
from pgq_ops.errors import NotPermitted, UsageError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.stats import dead_records
from tests.support.binding import loaded_of
from tests.support.dead_letters import MOVED, places
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.cli.dead_records import Exported
    from tests.support.database import Database
    from tests.support.roles import Roles

ANY = DeadFilter()


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_records, "_KEYS_AT_ONCE", 10)
    monkeypatch.setattr(dead_records, "_ROWS_AT_ONCE", 3)


def exported(
    dsn: str, toml: str, *, wanted: DeadFilter = ANY, whole_row: bool = False, limit: int | None = None
) -> tuple[list[dict[str, Any]], tuple[Exported, ...]]:
    written: list[str] = []
    tables = export_tables(
        loaded_of(toml, dsn), (), wanted, written.append, payload=False, whole_row=whole_row, limit=limit
    )
    assert not any("\n" in record or "\r" in record for record in written)
    return [json.loads(record) for record in written], tables


def test_every_dead_letter_is_exported_once_in_the_order_of_the_key_and_no_other(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status) SELECT CASE n % 2 WHEN 0 THEN 'dead' ELSE 'done' END FROM generate_series(1, 70) n"
    )
    records, [table] = exported(database.dsn, FIELD)
    assert [record["id"] for record in records] == [str(number) for number in range(2, 71, 2)]
    assert (table.name, table.jobs, table.error) == ("jobs", 35, None)
    assert [len(exported(database.dsn, FIELD, limit=limit)[0]) for limit in (1, 10, 11, 35, 99)] == [1, 10, 11, 35, 35]


@pytest.mark.parametrize(
    "shape",
    [
        "ALTER TABLE jobs DROP CONSTRAINT jobs_pkey",
        "ALTER TABLE jobs DROP CONSTRAINT jobs_pkey; ALTER TABLE jobs ADD PRIMARY KEY (created_at, id)",
        "ALTER TABLE jobs DROP CONSTRAINT jobs_pkey; ALTER TABLE jobs ADD PRIMARY KEY (status, id)",
        """ALTER TABLE jobs RENAME TO old; CREATE TABLE jobs (LIKE old, PRIMARY KEY (id, created_at)) PARTITION BY RANGE (created_at);
           CREATE TABLE part1 PARTITION OF jobs FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
           CREATE TABLE part2 PARTITION OF jobs FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
           ALTER TABLE jobs ALTER created_at SET DEFAULT now()""",
    ],
    ids=["no key", "a time in the key", "a text in the key", "partitioned"],
)
def test_it_is_so_whatever_addresses_a_row(database: Database, shape: str) -> None:
    create_field_table(database)
    database.execute(shape)
    database.execute("""
        INSERT INTO jobs (id, status, created_at)
        SELECT n, 'dead', CASE WHEN n < 3 THEN 'infinity' WHEN n < 6 THEN '-infinity' ELSE '2026-01-01'::timestamptz + n * interval '1.000001 s' END
        FROM generate_series(1, 35) AS n
    """)
    records, _ = exported(database.dsn, FIELD)
    assert sorted(int(record["id"]) for record in records) == list(range(1, 36))


def test_both_places_are_exported_within_one_limit(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN kind text")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute("INSERT INTO jobs (status) SELECT 'dead' FROM generate_series(1, 15)")
    database.execute("INSERT INTO dead_jobs SELECT * FROM jobs")
    for limit, here, there in ((None, 15, 15), (14, 14, 0), (15, 15, 0), (20, 15, 5)):
        tables = [record["table"] for record in exported(database.dsn, MOVED, limit=limit)[0]]
        assert (tables.count("public.jobs"), tables.count("public.dead_jobs")) == (here, there)


def test_no_snapshot_is_held_between_pages_and_what_is_retried_meanwhile_is_left_out(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) SELECT 'dead' FROM generate_series(1, 40)")
    connection, (place,) = places(database, FIELD)
    records = dead_records.read(connection, place, ANY)
    first = [json.loads(next(records))["id"] for _ in range(2)]
    held = "SELECT state, backend_xmin FROM pg_stat_activity WHERE pid = %s"
    assert database.rows(held, [connection.info.backend_pid]) == [("idle", None)]
    database.execute("UPDATE jobs SET status = 'pending' WHERE id IN (5, 25)")
    database.execute("DELETE FROM jobs WHERE id IN (6, 30)")
    rest = [json.loads(record)["id"] for record in records]
    assert [*first, *rest] == [str(number) for number in range(1, 41) if number not in (5, 6, 25, 30)]


def test_a_whole_row_can_be_put_back_as_it_was(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "ALTER TABLE jobs ADD COLUMN payload json, ADD COLUMN raw bytea, ADD COLUMN big numeric, ADD COLUMN tags text[]"
    )
    database.execute(
        "INSERT INTO jobs (status, payload, raw, big, tags, lease_until, last_error) VALUES ('dead', %s, '\\xdeadbeef', 1e60 + 0.1, ARRAY['a', NULL], 'infinity', E'two\\nlines')",
        ['{"n": 1e400,\r\n "text": "a\\nb"}'],
    )
    [record], _ = exported(database.dsn, FIELD, whole_row=True)
    assert "payload" not in record
    written: list[str] = []
    export_tables(loaded_of(FIELD, database.dsn), (), ANY, written.append, payload=False, whole_row=True, limit=None)
    database.execute("CREATE TABLE restored (LIKE jobs)")
    database.execute(
        "INSERT INTO restored SELECT r.* FROM json_populate_record(NULL::restored, %s::json -> 'row') AS r", written
    )
    same = "SELECT r.payload::jsonb = j.payload::jsonb, to_jsonb(r) - 'payload' = to_jsonb(j) - 'payload' FROM restored r, jobs j"
    assert database.rows(same) == [(True, True)]


def test_nothing_that_is_exported_can_steer_a_terminal(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER last_error TYPE json USING NULL")
    hostile = "a\x1b[2J \x9b31m \u202e \u2028 \U000e0001 caf\u00e9"
    error = json.dumps(hostile, ensure_ascii=False)
    database.execute("INSERT INTO jobs (status, queue, last_error) VALUES ('dead', %s, %s)", [hostile, error])
    database.execute("INSERT INTO jobs (status, last_error) VALUES ('dead', %s)", ['{"a":\t"\x9b\u202e"}'])
    written: list[str] = []
    export_tables(loaded_of(FIELD, database.dsn), (), ANY, written.append, payload=False, whole_row=False, limit=None)
    assert all(record.isprintable() for record in written)
    assert "caf\u00e9" in written[0]
    found = [(record["queue"], record["error"]) for record in map(json.loads, written)]
    assert found == [(hostile, hostile), (None, {"a": "\x9b\u202e"})]


def test_a_role_that_may_not_read_every_column_is_told_the_grant(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN payload text DEFAULT 'secret'")
    database.execute("INSERT INTO jobs (status) VALUES ('dead')")
    reader = make_role("reader")
    mapped = (
        "id, queue, status, attempts, max_attempts, lease_until, locked_by, run_at, created_at, last_error, finished_at"
    )
    database.execute(f'GRANT SELECT ({mapped}, tableoid, ctid) ON jobs TO "{reader}"')
    dsn = database.dsn_as(reader)
    records, [table] = exported(dsn, FIELD)
    assert (len(records), table.error) == (1, None)
    records, [table] = exported(dsn, FIELD, whole_row=True)
    assert records == []
    assert isinstance(table.error, NotPermitted)
    database.execute(table.error.remedy)
    records, _ = exported(dsn, FIELD, whole_row=True)
    assert records[0]["row"]["payload"] == "secret"


def test_a_file_is_new_private_and_has_its_name_only_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    with destination(str(path), "jsonl") as file:
        file.write('{"id": "1"}')
        assert not path.exists()
    assert path.read_text(encoding="utf-8") == '{"id": "1"}\n'
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="is there already"), destination(str(path), "jsonl"):
        pass
    other = tmp_path / "other.jsonl"
    with pytest.raises(KeyboardInterrupt), destination(str(other), "jsonl"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [path]
    with suppress(KeyboardInterrupt), destination(str(other), "jsonl") as file:
        file.write("{}")
        raise KeyboardInterrupt
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "other.jsonl.part"]
    with pytest.raises(UsageError, match="cut short"), destination(str(other), "jsonl"):
        pass


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_document_is_valid_json_however_many_records_there_are(tmp_path: Path, number: int) -> None:
    path = tmp_path / "dead.json"
    with destination(str(path), "json") as file:
        for one in range(number):
            file.write(f'{{"id": "{one}"}}')
    assert json.loads(path.read_text(encoding="utf-8")) == {"dead_letters": [{"id": str(one)} for one in range(number)]}
