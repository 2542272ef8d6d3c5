"""A collection's looks in a few messages: as true as one by one, and each still measured and failing by itself."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import errors
from psycopg import sql as composing

from pgq_ops.stats import bounded
from pgq_ops.stats.foreseen import Foreseen
from tests.support.collecting import Clock, Collection, collection_of
from tests.support.jobs import create_field_table

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.fixture
def warm(database: Database) -> Collection:
    """Some collections after the start; the tables' statistics no longer change."""
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now())")
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database)
    for _ in range(5):
        seen.healthy()
    return seen


def sent(seen: Collection, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many messages a collection sends, the minute's and the hour's looks left out."""
    session = seen.collector.session.connection()
    messages = 0
    execute = type(session).execute

    def counting(self: Connection, *args: Any, **options: Any) -> object:
        nonlocal messages
        messages += 1
        return execute(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(type(session), "execute", counting)
        seen.clock.seconds -= 584  # sixteen seconds after the last one
        seen.healthy()
    return messages


def test_a_collection_is_two_messages(warm: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert min(sent(warm, monkeypatch) for _ in range(4)) == 2


def test_a_table_with_policies_that_hide_nothing_is_looked_at_ahead_as_well(
    database: Database, make_role: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the server would log an error for each try: the looks need row-level security, which is off elsewhere."""
    create_field_table(database)
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now())")
    database.execute("ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    database.execute("CREATE POLICY everything ON jobs USING (true)")
    database.execute("VACUUM ANALYZE jobs")
    reader = make_role("reader", member_of=("pg_monitor",))
    database.execute(f"GRANT SELECT ON jobs TO {reader}")
    seen = collection_of(database, role=reader)
    for _ in range(5):
        seen.healthy()
    assert seen.jobs("a") == {"ready": 1}
    assert min(sent(seen, monkeypatch) for _ in range(4)) == 4, "two of them switch row-level security on and off"


def test_what_changed_between_two_collections_is_seen_by_the_next(warm: Collection, database: Database) -> None:
    assert warm.jobs("a") == {"ready": 1}
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now())")
    warm.clock.seconds -= 595
    assert warm.healthy().jobs("a") == {"ready": 2}
    database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 min'")
    warm.clock.seconds -= 595
    assert warm.healthy().leases("a") == {"expired": 2}


@pytest.mark.case("M1")
def test_under_a_lock_only_what_needs_the_table_fails_and_all_is_told_once_it_is_free(
    warm: Collection, database: Database
) -> None:
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    warm.clock.seconds -= 595
    failed = {failure.probe for failure in warm.collect().failures}
    assert failed == {"jobs", "leases", "claim", "ready_locked"} & failed
    assert "jobs" in failed
    assert warm.value("horizon_age_xids") is not None
    holder.rollback()
    warm.clock.seconds -= 595
    assert warm.healthy().jobs("a") == {"ready": 1}


SLEEPER = "SELECT 3 FROM t WHERE pg_sleep(n)::text = ''"


@dataclass(slots=True)
class Round:
    """Rounds of three probes, one of which sleeps as long as the table says; `clock` is the foreseer's."""

    session: Connection
    clock: Clock = field(default_factory=Clock)
    foreseen: Foreseen = field(init=False)

    def __post_init__(self) -> None:
        self.foreseen = Foreseen(lambda: self.clock.seconds + time.monotonic(), cheap_seconds=0.2)

    def run(self) -> tuple[dict[str, float], dict[str, object]]:
        """What was foreseen, with the seconds; and what each probe got."""
        looks = {"one": "SELECT 1", "two": "SELECT 2", "sleeper": SLEEPER}
        got: dict[str, object] = {}
        with self.foreseen.made(self.session, list(looks)) as seconds:
            for probe, look in looks.items():
                with suppress(errors.QueryCanceled), self.foreseen.asking(probe):
                    [[(got[probe],)]] = bounded.planned(self.session, [composing.SQL(look)], {})
        return seconds, got


@pytest.fixture
def rounds(database: Database) -> Round:
    database.execute("CREATE TABLE t (n float8)")
    database.execute("INSERT INTO t VALUES (0)")
    session: Connection = database.connect()
    session.execute("SET statement_timeout = 1000")
    return Round(session)


ALL = {"one": 1, "two": 2, "sleeper": 3}


def test_what_was_asked_twice_is_foreseen_and_each_probe_bears_its_share(rounds: Round) -> None:
    assert [rounds.run() for _ in range(2)] == [({}, ALL)] * 2
    seconds, got = rounds.run()
    assert (set(seconds), got, len(set(seconds.values()))) == (set(ALL), ALL, 1)


def test_what_was_read_ahead_for_nothing_is_never_told_later(rounds: Round, database: Database) -> None:
    for _ in range(3):
        rounds.run()
    with rounds.foreseen.made(rounds.session, list(ALL)):
        database.execute("UPDATE t SET n = NULL")
    with rounds.foreseen.made(rounds.session, []):
        assert bounded.planned(rounds.session, [composing.SQL(SLEEPER)], {}) == [[]]


def test_a_look_that_turns_dear_is_measured_by_itself_from_then_on(rounds: Round, database: Database) -> None:
    """Or it would be made more often than a hundredth of the time, at the others' account."""
    for _ in range(3):
        rounds.run()
    database.execute("UPDATE t SET n = 0.7")
    seconds, got = rounds.run()
    assert (got, sum(seconds.values()) >= 0.7) == (ALL, True), "it was not known yet"
    assert rounds.run() == ({}, ALL)
    for _ in range(3):
        seconds, got = rounds.run()
        assert (set(seconds), got) == ({"one", "two"}, ALL)


def test_one_that_is_cut_off_does_not_cut_off_the_others(rounds: Round, database: Database) -> None:
    for _ in range(3):
        rounds.run()
    database.execute("UPDATE t SET n = 60")
    others = {"one": 1, "two": 2}
    assert rounds.run()[1] == others
    assert [rounds.run() for _ in range(3)] == [({}, others)] * 3, "for a minute each is made by itself"
    rounds.clock.seconds += 61
    seconds, got = rounds.run()
    assert (set(seconds), got) == ({"one", "two"}, others)
