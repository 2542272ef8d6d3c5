"""Dead letters in tables with odd names, expressions for columns, predicates for states, policies for rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pgq_ops.cli.dead_records import export_tables, find
from pgq_ops.cli.dead_report import Listed, list_tables
from pgq_ops.job_table.dead_filter import DeadFilter
from tests.support.binding import loaded_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

ODD = """
[job_tables."o 1"]
table = '"Ops-Q"."Order 100%"'
[job_tables."o 1".columns]
id = "Id %s"
state = "st{}ate"
available_at = "At"
lease_expires_at = 'lea"se'
queue = { sql = "\\"pay %(load\\" ->> 'q'" }
kind = { sql = "'const'" }
attempts = { sql = "coalesce((\\"pay %(load\\" ->> 'n')::int, 0)" }
error = "err'or"
finished_at = "Fin %"
payload = "pay %(load"
[job_tables."o 1".states]
pending = ["pending"]
running = ["running"]
dead = { where = "\\"st{}ate\\" LIKE 'dead%'", set = { "st{}ate" = "'dead'" } }
[job_tables."o 1".reaper]
dead_letter_table = '"Ops-Q"."Dead %(s)s"'
enabled = false
"""


def test_whatever_things_are_called_all_is_listed_shown_and_exported(database: Database) -> None:
    database.execute("""
        CREATE SCHEMA "Ops-Q";
        CREATE TABLE "Ops-Q"."Order 100%" ("Id %s" bigint PRIMARY KEY, "st{}ate" text, "At" timestamptz, "lea""se" timestamptz,
            "err'or" text, "Fin %" timestamptz, "pay %(load" jsonb);
        CREATE TABLE "Ops-Q"."Dead %(s)s" (LIKE "Ops-Q"."Order 100%");
        INSERT INTO "Ops-Q"."Order 100%" VALUES (1, 'dead-x', NULL, NULL, '50% {} %(s)s', now(), '{"q": "a%", "n": 3}'),
            (2, 'done', NULL, NULL, NULL, now(), '{}');
        INSERT INTO "Ops-Q"."Dead %(s)s" SELECT 11, 'x', NULL, NULL, "err'or", "Fin %", "pay %(load" FROM "Ops-Q"."Order 100%" LIMIT 1;
    """)
    loaded = loaded_of(ODD, database.dsn)
    wanted = DeadFilter(queue="a%", kind="const", error="% {} %(S)S", ids=("1", "11", "2"))
    [(_, listed)] = list_tables(loaded, (), wanted, 5).tables
    assert isinstance(listed, Listed)
    assert [(one.id, one.queue, one.kind, one.attempts) for one in listed.letters] == [
        ("1", "a%", "const", 3),
        ("11", "a%", "const", 3),
    ]
    assert listed.overview.summary.last_hour == 2
    [record] = find(loaded, (), DeadFilter(ids=("11",)), payload=True).records
    assert json.loads(record)["payload"] == {"q": "a%", "n": 3}
    written: list[str] = []
    [table] = export_tables(loaded, (), wanted, written.append, payload=False, whole_row=True, limit=None)
    assert table.error is None
    assert [json.loads(one)["row"]["st{}ate"] for one in written] == ["dead-x", "x"]


def test_policies_that_hide_dead_letters_are_an_error_and_never_an_empty_list(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute("INSERT INTO jobs (status) VALUES ('dead')")
    database.execute("INSERT INTO dead_jobs SELECT * FROM jobs")
    reader = make_role("reader")
    database.execute(f'GRANT SELECT ON jobs, dead_jobs TO "{reader}"')
    loaded = loaded_of(FIELD + 'dead_letter_table = "dead_jobs"\n', database.dsn_as(reader))
    for table in ("jobs", "dead_jobs"):
        database.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        report = list_tables(loaded, (), DeadFilter(), 5)
        assert "row-level security" in str(report.failure())
        database.execute(f'CREATE POLICY see_all ON {table} TO "{reader}" USING (true)')
        if table == "jobs":
            [(_, listed)] = list_tables(loaded, (), DeadFilter(), 5).tables
            assert isinstance(listed, Listed)
            assert len(listed.letters) == 2


def test_json_that_no_text_can_be_made_of_keeps_no_other_job_from_being_listed(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER last_error TYPE json USING NULL")
    database.execute(
        """INSERT INTO jobs (status, last_error) VALUES ('dead', '{"error": "a\\u0000b"}'), ('dead', '{"error": 7}'), ('dead', '"plain"')"""
    )
    loaded = loaded_of(FIELD, database.dsn)
    [(_, listed)] = list_tables(loaded, (), DeadFilter(), 5).tables
    assert isinstance(listed, Listed), str(listed)
    assert [letter.error for letter in listed.letters] == ['{"error": "a\\u0000b"}', "7", "plain"]
    assert json.loads(find(loaded, (), DeadFilter(ids=("1",)), payload=False).records[0])["error"] == {"error": "a\0b"}
