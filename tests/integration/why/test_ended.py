"""`why` of a job that nobody runs any more, and of one whose state is mapped to nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pgq_ops.schema.versions import install
from tests.support.jobs import FIELD, create_field_table, reap
from tests.support.why import as_text, asked, both, told

if TYPE_CHECKING:
    from tests.support.database import Database

MOVED = FIELD + 'dead_letter_table = "dead_jobs"\n'
PAYLOAD = FIELD.replace('id = "id"\n', 'id = "id"\npayload = "payload"\n', 1)


def test_a_finished_job_says_since_when_by_whom_and_after_how_many_attempts(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, finished_at, locked_by, attempts, max_attempts) VALUES
            ('done', now() - interval '2 h', 'w1', 2, 5), ('done', NULL, NULL, 1, 5)
    """)
    seen, text = both(database, 1)
    assert re.search(r"\nDone for 2h\d*s? ?\(since .*\), by w1, after 2 of 5 attempts\.$", text)
    assert 7_200 <= seen["finished_seconds"] < 7_300
    assert (seen["reaper"], seen["line"], seen["commands"]) == (None, None, [])
    assert told(database, 2).splitlines()[1] == "Done, after 1 of 5 attempts."


def test_cancelled_and_blocked_jobs_are_told_where_a_library_has_them(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status, finished_at) VALUES ('off', now()), ('waits', NULL)")
    toml = FIELD.replace('dead = ["dead"]\n', 'dead = ["dead"]\ncancelled = ["off"]\nblocked = ["waits"]\n')
    assert re.search(r"\nCancelled for \d+s \(since", told(database, 1, toml))
    assert "Blocked: it waits for what its library says." in told(database, 2, toml)


def test_a_dead_job_tells_its_error_and_the_commands_for_it(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, finished_at, locked_by, attempts, max_attempts, last_error)"
        " VALUES ('dead', now() - interval '3 d', 'w1', 5, 5, E'Timeout after 3 s\\n  at line 2')"
    )
    seen, text = both(database, 1)
    assert re.search(r"\nDead for 3d\d*s? ?\(since \d{4}-.*\), after 5 of 5 attempts; last held by w1\.\n", text)
    assert "\nIts error begins: Timeout after 3 s\n" in text
    assert "line 2" not in text
    assert seen["commands"] == ["pgq-ops dead show 1 jobs", "pgq-ops dead retry jobs --id 1"]
    assert all(f"  {command}" in text.splitlines() for command in seen["commands"])


def test_a_buried_job_is_found_in_the_dead_letter_table_with_what_was_before(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    install(database.connect())
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts, max_attempts, locked_by) VALUES ('running', now() - interval '1 m', 5, 5, 'w1')"
    )
    assert reap(database, MOVED).dead_lettered == 1
    seen, text = both(database, 1, MOVED)
    assert (seen["state"], seen["table"]) == ("dead", "public.dead_jobs")
    assert ", moved to public.dead_jobs, after 5 of 5 attempts; last held by w1." in text
    assert re.search(r"Buried once before \(\d\d:\d\d:\d\d UTC attempt 5 of w1\)\.", text)
    assert seen["history"][0]["outcome"] == "dead_lettered"
    database.execute("INSERT INTO jobs (id, status) VALUES (1, 'pending')")
    states = [facts.life.state for facts in asked(database, 1, MOVED).tables[0].jobs]
    assert states == ["ready", "dead"]
    assert "" in told(database, 1, MOVED).splitlines()


def test_a_state_that_is_mapped_to_nothing_is_named(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER status DROP NOT NULL; INSERT INTO jobs (status) VALUES ('paused'), (NULL)")
    seen, text = both(database, 1)
    assert (seen["state"], seen["state_value"]) == ("unknown", "paused")
    assert "Its state is 'paused', which is mapped to nothing" in text
    assert "Its state is NULL, which is mapped to nothing" in told(database, 2)


def test_a_payload_is_never_shown(database: Database) -> None:
    create_field_table(database)
    database.execute('ALTER TABLE jobs ADD COLUMN payload jsonb DEFAULT \'{"card": "secret"}\'')
    database.execute(
        "INSERT INTO jobs (status, lease_until) VALUES ('dead', NULL), ('pending', NULL), ('running', now())"
    )
    for job in (1, 2, 3):
        seen, text = both(database, job, PAYLOAD)
        assert "secret" not in json.dumps(seen) + text


def test_a_job_that_is_gone_is_remembered_by_the_reap_log(database: Database) -> None:
    create_field_table(database)
    install(database.connect())
    database.execute(
        "INSERT INTO jobs (id, status, lease_until, locked_by) VALUES (7, 'running', now() - interval '1 m', 'w1')"
    )
    reap(database)
    database.execute("DELETE FROM jobs")
    report = asked(database, "07")
    assert report.known
    assert re.search(r"not there any more\n.*remembers it\.\nReaped once before \(.* of w1\)\.", as_text(report))
    assert not asked(database, "8").known
    assert as_text(asked(database, "8")) == ""
