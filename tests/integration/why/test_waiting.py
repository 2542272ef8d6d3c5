"""`why` of a job that waits: what stands before it, who holds it, what a claim may ask for that it does not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.inspection.lines import printable
from tests.support.article_tables import STARTED_AT_CLAIM, STARTED_AT_TABLE
from tests.support.jobs import create_field_table
from tests.support.why import as_text, asked, both, told

if TYPE_CHECKING:
    from tests.support.database import Database

STARTED_AT = '[job_tables.jobs]\ntable = "jobs"\npreset = "started-at"\n'


def test_a_job_that_is_not_due_says_when_it_will_be(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, run_at, attempts) VALUES ('pending', now() + interval '3 h', 0),
            ('pending', now() - interval '3 h', 0), ('pending', 'infinity', 2), ('pending', NULL, 0),
            ('pending', '-infinity', 0)
    """)
    seen, text = both(database, 1)
    assert re.search(r"Scheduled: due in 3h \(.* UTC\); until then no worker claims it\.", text)
    assert (seen["state"], seen["line"]) == ("scheduled", None)
    assert -10_801 < seen["available_seconds"] < -10_700
    seen, text = both(database, 2)
    assert seen["state"] == "ready"
    assert re.search(r"Ready for 3h\d*s? ?\(since .*\)\.", text)
    assert "Scheduled for a time that never comes (infinity), after 2 of 5 attempts." in told(database, 3)
    assert re.search(r"\nReady, created \d+s ago \(.*\)\.\n", told(database, 4))
    seen, text = both(database, 5)
    assert "Ready since -infinity." in text
    assert (seen["available_at"], seen["available_seconds"]) == ("-infinity", None)


def test_those_that_are_claimed_first_are_counted_in_the_order_of_the_claims(database: Database) -> None:
    database.execute(STARTED_AT_TABLE)
    database.execute("""
        INSERT INTO jobs (priority, run_after) VALUES (1, now() - interval '1 h'), (5, now() - interval '1 m'),
            (5, now() - interval '2 m'), (1, now() - interval '2 h'), (9, now() + interval '1 m'), (0, now())
    """)
    order = []
    for job in range(1, 7):
        seen, text = both(database, job, STARTED_AT)
        if job != 5:
            order.append((seen["line"]["ahead"], job))
            words = {0: "It is the first in line", 1: "1 ready job of all queues is claimed before it"}
            expected = words.get(seen["line"]["ahead"], f"{seen['line']['ahead']} ready jobs of all queues are claimed")
            assert expected in text
            assert "(by priority desc, run_after)" in text
    claimed = [database.rows(STARTED_AT_CLAIM)[0][0] for _ in range(5)]
    assert [job for _, job in sorted(order)] == claimed
    assert sorted(place for place, _ in order) == [0, 1, 2, 3, 4]


def test_beyond_ten_thousand_they_are_not_counted(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, run_at) SELECT 'pending', now() - interval '1 h' FROM generate_series(1, 10002)"
    )
    assert "10,000 or more ready jobs of all queues are claimed before it" in told(database, 10_002)
    assert "10,000 or more" in told(database, 10_001)
    assert "9,999 ready jobs of all queues" in told(database, 10_000)


def test_a_locked_job_names_its_holder_and_the_command_that_ends_it(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('pending'), ('pending')")
    holder = database.connect(autocommit=False, application_name="night job")
    holder.execute("SELECT FROM jobs WHERE id = 1 FOR UPDATE")
    seen, text = both(database, 1)
    assert (
        f"Its row is locked by session {holder.info.backend_pid} (night job, user postgres, idle in transaction" in text
    )
    assert "claims pass it over until that ends" in text
    lock = seen["locked_by"]
    assert (lock["pid"], lock["state"], lock["user"]) == (holder.info.backend_pid, "idle in transaction", "postgres")
    assert lock["remedy"] in seen["commands"]
    assert both(database, 2)[0]["locked_by"] is None
    database.rows(lock["remedy"])
    assert both(database, 1)[0]["locked_by"] is None


def test_a_change_that_is_not_committed_is_a_lock_and_one_that_was_rolled_back_is_none(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('pending')")
    worker = database.connect(autocommit=False, application_name="w")
    worker.execute("UPDATE jobs SET status = 'running', lease_until = now() + interval '1 m' WHERE id = 1")
    seen, text = both(database, 1)
    assert (seen["state"], seen["locked_by"]["pid"]) == ("ready", worker.info.backend_pid)
    assert "locked by" in text
    worker.rollback()
    assert both(database, 1)[0]["locked_by"] is None
    with worker.transaction(), worker.transaction():
        worker.execute("SELECT FROM jobs FOR NO KEY UPDATE")
        assert both(database, 1)[0]["locked_by"]["pid"] == worker.info.backend_pid


def test_of_several_who_hold_a_row_the_longest_is_named_and_the_others_are_counted(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('pending')")
    holders = [database.connect(autocommit=False, application_name=f"reader {number}") for number in range(3)]
    for holder in holders:
        holder.execute("SELECT FROM jobs FOR KEY SHARE")
    seen, text = both(database, 1)
    assert (seen["locked_by"]["application_name"], seen["locked_by"]["others"]) == ("reader 0", 2)
    assert "reader 0, user postgres" in text
    assert ") and 2 more: claims" in text
    holders[0].rollback()
    assert both(database, 1)[0]["locked_by"]["others"] == 1
    for holder in holders[1:]:
        holder.rollback()
    assert both(database, 1)[0]["locked_by"] is None


@pytest.mark.parametrize("kind", ["it's", "it's\n\\n --\x1b\u2028"])
def test_a_prepared_transaction_is_named_with_what_gives_it_up(database: Database, kind: str) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('pending')")
    session = database.connect(autocommit=False)
    session.execute("SELECT FROM jobs FOR UPDATE")
    gid = f"{database.name} {kind}"
    session.execute("PREPARE TRANSACTION '" + gid.replace("'", "''") + "'")
    session.close()
    seen, text = both(database, 1)
    assert f"locked by the prepared transaction {printable(gid)} (user postgres, prepared " in text
    statement = seen["locked_by"]["remedy"].split("\n")[-1]
    assert statement.startswith("ROLLBACK PREPARED ")
    assert statement in text
    assert (seen["locked_by"]["gid"], seen["locked_by"]["pid"]) == (gid, None)
    database.execute(seen["locked_by"]["remedy"])
    assert both(database, 1)[0]["locked_by"] is None


def test_what_a_claim_may_ask_for_that_the_job_does_not_have_is_told(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, attempts, max_attempts, lease_until, locked_by) VALUES
            ('pending', 4, 5, NULL, NULL), ('pending', 5, 5, NULL, NULL), ('pending', 0, 5, now(), 'w1')
    """)
    text = told(database, 1)
    assert "after 4 of 5 attempts" in text
    assert "cap" not in text
    assert "Its attempts (5) have reached the cap (5): where the workers' claim asks for fewer" in told(database, 2)
    left = told(database, 3)
    assert "It is ready with its owner (locked_by) and lease_expires_at (lease_until) still set" in left
    assert "still set" not in text


def test_whether_workers_are_at_work_is_told_for_the_job_s_own_queue(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (id, queue, status, run_at) VALUES (1, 'mail', 'pending', now()), (2, 'film', 'pending', now()),
            (3, NULL, 'pending', now()), (4, 'mail', 'running', now()), (5, NULL, 'running', now()), (6, NULL, 'running', now())
    """)
    assert "1 job of queue mail is running now." in told(database, 1)
    assert "No job of queue film is running now: maybe no worker is at work there, or it is paused." in told(
        database, 2
    )
    assert "2 jobs of queue (null) are running now." in told(database, 3)
    assert both(database, 3)[0]["line"]["running"] == 2


def test_a_job_that_nothing_keeps_is_said_to_be_the_workers_business_once_it_is_late(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, run_at) VALUES ('pending', now() - interval '4 m'), ('running', now());
        ANALYZE jobs
    """)
    assert "Nothing in the table keeps it" not in told(database, 1)
    database.execute("UPDATE jobs SET run_at = now() - interval '6 m' WHERE id = 1")
    assert "Nothing in the table keeps it from being claimed, and it waits for longer than promised (5m)" in told(
        database, 1
    )
    database.execute("UPDATE jobs SET attempts = 9 WHERE id = 1")
    assert "Nothing in the table keeps it" not in told(database, 1)


def test_at_80_columns_sentences_are_broken_between_words_and_names_and_commands_never(database: Database) -> None:
    create_field_table(database)
    owner = "worker 7 of " + "a very long host name " * 6 + "here"
    database.execute("INSERT INTO jobs (status, lease_until, locked_by) VALUES ('running', '-infinity', %s)", [owner])
    lines = as_text(asked(database, 1), 80).splitlines()
    [named] = [line for line in lines if owner in line]
    assert len(named) > 80
    assert all(len(line) <= 80 for line in lines if line is not named and not line.startswith("  "))
    assert len([line for line in lines if len(line) > 60]) > 3
    assert "\x1f" not in "\n".join(lines)


def test_nothing_that_a_terminal_would_obey_is_printed(database: Database) -> None:
    create_field_table(database)
    evil = "w\x1b[2J\u202e\r"
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until, locked_by, last_error) VALUES (%(e)s, 'running', now(), %(e)s, %(e)s),"
        " (%(e)s, 'dead', now(), %(e)s, %(e)s), (%(e)s, %(e)s, now(), %(e)s, %(e)s)",
        {"e": evil},
    )
    holder = database.connect(autocommit=False)
    holder.execute("SELECT FROM jobs FOR UPDATE")
    for job in (1, 2, 3):
        for line in as_text(asked(database, job), 80).splitlines():
            assert line.isprintable()
    assert both(database, 1)[0]["owner"] == evil
