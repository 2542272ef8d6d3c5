"""`dead show`: everything that is mapped of one dead letter, its error in full."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.cli.dead_record_lines import lines
from pgq_ops.cli.dead_records import Found, find
from pgq_ops.errors import ConfigError
from pgq_ops.job_table.dead_filter import DeadFilter
from tests.support.binding import loaded_of
from tests.support.dead_letters import MOVED
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from tests.support.database import Database

PAYLOAD = FIELD.replace('id = "id"\n', 'id = "id"\npayload = "payload"\n', 1)
ERRORS = [
    ("text", "E'first: boom\\n  at line 2'"),
    ("varchar(300)", "'first: boom'"),
    ("json", """'{"error":  "first: boom"}'"""),
    ("jsonb", """'{"error": "first: boom"}'"""),
    ("jsonb ", """'[{"error": "first: boom", "attempt": 1}]'"""),
    ("text[]", "ARRAY['first: boom']"),
    ("jsonb[]", """ARRAY['{"error": "first: boom"}'::jsonb]"""),
]
EXPIRED = """
INSERT INTO jobs (status, lease_until, attempts, max_attempts, locked_by, last_error)
VALUES ('running', now() - interval '1 minute', 3, 3, 'worker-7', {})
"""


def found(database: Database, job: str = "1", toml: str = FIELD, *, payload: bool = False) -> Found:
    return find(loaded_of(toml, database.dsn), (), DeadFilter(ids=(job,)), payload=payload)


def records(database: Database, job: str = "1", toml: str = FIELD, *, payload: bool = False) -> list[dict[str, Any]]:
    seen = found(database, job, toml, payload=payload)
    assert seen.error is None
    return [json.loads(record) for record in seen.records]


def screen(seen: Found) -> list[str]:
    return [line.plain for line in lines(seen.records)]


@pytest.mark.case("D3")
def test_an_error_that_was_there_is_kept_and_the_reapers_reason_stands_behind_it(database: Database) -> None:
    create_field_table(database)
    for kind, stored in ERRORS:
        database.execute("TRUNCATE jobs RESTART IDENTITY")
        database.execute(f"ALTER TABLE jobs ALTER last_error TYPE {kind} USING NULL")
        database.execute(EXPIRED.format(stored))
        assert reap(database).dead_lettered == 1
        seen = found(database)
        [record] = [json.loads(one) for one in seen.records]
        error = record["error"]
        for text in (json.dumps(error), "\n".join(screen(seen)).partition("\nerror ")[2]):
            assert text.index("first: boom") < text.index("lease expired"), kind
            assert text.index("first: boom") < text.index("buried"), kind
            assert text.index("first: boom") < text.index("worker-7"), kind
        if "json" in kind:
            last = error[-1]
            assert (last["attempt"], last["max_attempts"], last["owner"], last["by"]) == (3, 3, "worker-7", "pgq-ops")
            assert datetime.fromisoformat(last["at"]).utcoffset() is not None
        else:
            [note] = [
                line
                for line in "\n".join([error] if isinstance(error, str) else error).splitlines()
                if "buried" in line
            ]
            assert note.endswith("attempt 3 of 3, last owner worker-7")
            assert datetime.fromisoformat(note.split(" ")[0]).utcoffset() is not None


def test_everything_mapped_is_shown_and_infinite_times_are_named(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, attempts, max_attempts, lease_until, locked_by, run_at, created_at, finished_at)"
        " VALUES ('mail', 'dead', 5, 5, 'infinity', 'w1', '-infinity', '2026-01-01 00:00+00', '2026-01-02 03:04:05.678+00')"
    )
    [record] = records(database)
    age = record.pop("age_seconds")
    assert age > 0
    assert record.pop("age_since") == "finished_at"
    assert record == {
        "job_table": "jobs",
        "table": "public.jobs",
        "id": "1",
        "queue": "mail",
        "state": "dead",
        "attempts": 5,
        "max_attempts": 5,
        "owner": "w1",
        "created_at": "2026-01-01T00:00:00+00:00",
        "available_at": "-infinity",
        "lease_expires_at": "infinity",
        "finished_at": "2026-01-02T03:04:05.678+00:00",
        "error": None,
    }
    text = screen(found(database))
    assert any(line.startswith("finished_at") and line.endswith(" ago)") for line in text)


def test_times_in_any_unit_are_told_as_times(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER finished_at TYPE bigint USING NULL, ALTER created_at DROP DEFAULT")
    database.execute("ALTER TABLE jobs ALTER created_at TYPE timestamp USING NULL")
    database.execute(
        "INSERT INTO jobs (status, finished_at, created_at) VALUES ('dead', 1767323045678, '2026-01-01 10:00')"
    )
    toml = '[database]\ntimezone = "Asia/Tokyo"\n' + FIELD
    [record] = records(database, toml=toml)
    assert record["finished_at"] == "2026-01-02T03:04:05.678+00:00"
    assert record["created_at"] == "2026-01-01T01:00:00+00:00"


def test_a_payload_is_read_only_when_it_is_asked_for(database: Database) -> None:
    create_field_table(database)
    database.execute('ALTER TABLE jobs ADD COLUMN payload jsonb DEFAULT \'{"card": "secret"}\'')
    database.execute("INSERT INTO jobs (status) VALUES ('dead')")
    seen = found(database, toml=PAYLOAD)
    assert "secret" not in "\n".join([*seen.records, *screen(seen)])
    [record] = records(database, toml=PAYLOAD, payload=True)
    assert record["payload"] == {"card": "secret"}
    refused = found(database, payload=True)
    assert refused.records == ()
    assert isinstance(refused.error, ConfigError)
    assert "columns.payload: is not mapped" in str(refused.error)


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ('{"n": 1, "big": 1e400, "s": "1", "list": ["a", 2, [], {}, null, true]}', None),
        ('["a", "b"]', None),
        ("12.50", "12.50"),
        ("{}", "{}"),
        ("false", "false"),
        ('"two\\nlines"', "two\nlines"),
    ],
)
def test_a_payload_is_shown_as_the_json_that_it_is(database: Database, payload: str, shown: str | None) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN payload json")
    database.execute("INSERT INTO jobs (status, payload) VALUES ('dead', %s)", [payload])
    text = "\n".join(screen(found(database, toml=PAYLOAD, payload=True)))
    told = "\n".join(line.strip() for line in text[text.index("\npayload") :].split("\n") if line)
    told = told.removeprefix("payload").strip()
    if shown is not None:
        assert told == shown
        return
    kept = {"parse_int": lambda text: f"number {text}", "parse_float": lambda text: f"number {text}"}
    assert json.loads(told, **kept) == json.loads(payload, **kept)  # type: ignore[arg-type]


def test_a_job_that_died_twice_is_shown_twice(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN kind text")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute("INSERT INTO jobs (status, last_error) VALUES ('dead', 'again')")
    database.execute("INSERT INTO dead_jobs SELECT * FROM jobs")
    assert [record["table"] for record in records(database, toml=MOVED)] == ["public.jobs", "public.dead_jobs"]
    assert "" in screen(found(database, toml=MOVED))


def test_only_a_dead_letter_is_found(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('done'), ('dead')")
    assert records(database, "1") == []
    assert len(records(database, "2")) == 1
    assert records(database, "2 OR true") == []


def test_a_hostile_error_cannot_steer_the_terminal(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, last_error) VALUES ('dead', %s)", ["a\x1b[2J\nb\u202e\r\nc" + "x" * 500]
    )
    text = screen(found(database))
    assert all(line.isprintable() for line in text)
    assert any("x" * 500 in line for line in text)
