"""Which dead letters a filter means, in the dead state and in a dead-letter table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops import sql
from pgq_ops.errors import ConfigError
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.job_table.dead_selection import select
from pgq_ops.job_table.queue_labels import shown
from pgq_ops.stats import bounded, dead_letters, plans
from tests.support.collecting import collection_of
from tests.support.dead_letters import KINDS, MOVED, ONLY_MOVED, places
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

HOUR = timedelta(hours=1)
DEAD = """
INSERT INTO {} (id, queue, kind, status, finished_at, created_at, last_error) VALUES
    (1, 'mail', 'send', 'dead', now() - interval '61 min', now() - interval '9 h', 'Timeout at 50% of "x"'),
    (2, 'mail', 'scan', 'dead', now() - interval '59 min', now() - interval '9 h', 'timed out'),
    (3, NULL, 'send', 'dead', NULL, now() - interval '2 h', NULL),
    (4, '', NULL, 'dead', 'infinity', NULL, 'a_b\\c'),
    (5, 'mail', 'send', 'running', now() - interval '2 h', now(), 'Timeout'),
    (6, 'it''s; DROP TABLE jobs; --', 'send', 'dead', now() + interval '1 h', now(), 'TIMEOUT'),
    (7, E'line\\nbreak', 'send', 'dead', '-infinity', now() - interval '61 min', 'x')
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """The ids that a filter means."""

    database: Database
    toml: str

    def __call__(self, wanted: DeadFilter) -> set[str | None]:
        connection, (place,) = places(self.database, self.toml)
        found = dead_letters.read(connection, place, wanted, limit=1000, through_indexes=False)
        return {one.id for one in found}


@pytest.fixture(params=[KINDS, ONLY_MOVED], ids=["dead state", "dead-letter table"])
def asked(database: Database, request: pytest.FixtureRequest) -> Asked:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN kind text")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    toml = str(request.param)
    where = "jobs" if toml == KINDS else "dead_jobs"
    database.execute(DEAD.format(where))
    if where == "dead_jobs":
        database.execute("DELETE FROM dead_jobs WHERE id = 5")
    return Asked(database, toml)


FILTERS = [
    (DeadFilter(), "123467"),
    (DeadFilter(queue="mail"), "12"),
    (DeadFilter(queue="MAIL"), ""),
    (DeadFilter(queue="(null)"), "3"),
    (DeadFilter(queue="(empty)"), "4"),
    (DeadFilter(queue="it's; DROP TABLE jobs; --"), "6"),
    (DeadFilter(queue=shown("line\nbreak")), "7"),
    (DeadFilter(queue=shown("line\nbroken")), ""),
    (DeadFilter(kind="send"), "1367"),
    (DeadFilter(older_than=HOUR), "137"),
    (DeadFilter(newer_than=HOUR), "26"),
    (DeadFilter(older_than=HOUR, newer_than=HOUR * 2 + timedelta(minutes=1)), "137"),
    (DeadFilter(error="timeout"), "16"),
    (DeadFilter(error="50% of"), "1"),
    (DeadFilter(error="5_%"), ""),
    (DeadFilter(error="a_b\\"), "4"),
    (DeadFilter(error="a%b"), ""),
    (DeadFilter(error="' OR true --"), ""),
    (DeadFilter(ids=("1", "5", "7")), "17"),
    (DeadFilter(ids=("01", "x", "1 OR true", "9999999999999999999", "99999999999999999999")), "1"),
    (DeadFilter(ids=("1", "2"), kind="scan"), "2"),
]


def test_a_filter_means_what_it_says(asked: Asked) -> None:
    found = [(wanted, "".join(sorted(map(str, asked(wanted))))) for wanted, _ in FILTERS]
    assert found == FILTERS


def test_where_both_a_dead_state_and_a_dead_letter_table_are_there_both_are_places(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN kind text")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    _, found = places(database, MOVED)
    assert [str(place) for place in found] == ["public.jobs", "public.dead_jobs"]
    assert [place.is_dead_letter_table for place in found] == [False, True]


REFUSED = [
    (DeadFilter(queue="mail"), "columns.queue: is not mapped, and --queue needs it"),
    (DeadFilter(kind="send"), "columns.kind: is not mapped, and --kind needs it"),
    (DeadFilter(error="x"), "columns.error: is not mapped, and --error needs it"),
    (DeadFilter(older_than=HOUR), r"columns.finished_at: .* --older-than needs it \(or columns.created_at\)"),
    (DeadFilter(newer_than=HOUR), r"columns.finished_at: .* --newer-than needs it \(or columns.created_at\)"),
]


def test_a_filter_on_what_is_not_mapped_is_refused(database: Database) -> None:
    create_field_table(database)
    unmapped = ("queue", "kind", "error", "created_at", "finished_at")
    bare = "\n".join(line for line in KINDS.splitlines() if line.split(" ")[0] not in unmapped)
    _, (place,) = places(database, bare)
    for wanted, told in REFUSED:
        with pytest.raises(ConfigError, match=told):
            select(place, wanted)


@pytest.mark.parametrize(
    ("kind", "value", "asked_for"),
    [
        ("uuid", "0B9ED1F2-6AE8-4D7C-9E0D-5D6F0A4B7C11", "0b9ed1f2-6ae8-4d7c-9e0d-5d6f0a4b7c11"),
        ("text", "a'b", "a'b"),
        ("varchar(20)", "job-1", "job-1"),
        ("numeric", "12.50", "12.50"),
        ("smallint", "7", "7"),
    ],
)
def test_an_id_is_found_in_its_own_type_and_what_cannot_be_one_finds_nothing(
    database: Database, kind: str, value: str, asked_for: str
) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER id DROP IDENTITY")
    database.execute(f"ALTER TABLE jobs ALTER id TYPE {kind} USING NULL")
    database.execute(f"INSERT INTO jobs (id, status) SELECT x.v::{kind}, 'dead' FROM (VALUES (%s)) AS x(v)", [value])
    asked = Asked(database, FIELD)
    assert len(asked(DeadFilter(ids=(asked_for,)))) == 1
    assert asked(DeadFilter(ids=("no such id", "0"))) == set()
    connection, (place,) = places(database, FIELD)
    selection = select(place, DeadFilter(ids=(asked_for, "0")))
    rows = sql.statement("stats/rows", {"table": place.relation.sql, "condition": selection.condition})
    with bounded.transaction(connection, place.table):
        [scan] = plans.job_scans(plans.explain(connection, rows, selection.parameters))
    assert any("id" in str(node.get("Index Cond")) for node in plans.nodes(scan)) is (kind != "numeric")


@pytest.mark.parametrize(
    ("kind", "stored", "part", "found"),
    [
        ("jsonb", """'[{"error": "say \\"hi\\" caf\\u00e9"}]'""", 'say "HI" caf\u00e9', True),
        ("json", """'{"error": "say \\"hi\\" caf\\u00e9"}'""", 'say "hi" caf\u00e9', True),
        ("json", """'{"error": "say \\"hi\\" caf\u00e9"}'""", 'say "hi" caf\u00e9', True),
        ("text[]", """ARRAY['first', 'say "hi"']""", 'say "hi"', True),
        ("jsonb[]", """ARRAY['{"error": "say"}'::jsonb]""", "SAY", True),
        ("text", """'say \\"hi\\"'""", 'say "hi"', False),
    ],
)
def test_an_error_is_found_by_what_it_says_in_columns_of_every_kind(
    database: Database,
    kind: str,
    stored: str,
    part: str,
    found: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs ALTER last_error TYPE {kind} USING NULL")
    database.execute(f"INSERT INTO jobs (status, last_error) VALUES ('dead', {stored})")
    asked = Asked(database, FIELD)
    assert bool(asked(DeadFilter(error=part))) is found
    assert asked(DeadFilter(error="something else")) == set()


def test_a_dead_letter_table_may_store_everything_as_text(database: Database) -> None:
    create_field_table(database)
    columns = [
        name
        for (name,) in database.rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'jobs'::regclass AND attnum > 0"
        )
    ]
    database.execute("ALTER TABLE jobs ALTER id TYPE int")
    database.execute(f"CREATE TABLE dead_jobs ({', '.join(f'{name} text' for name in reversed(columns))})")
    database.execute("INSERT INTO jobs (status, queue) VALUES ('dead', 'here')")
    database.execute(
        "INSERT INTO dead_jobs (id, queue, status, attempts, finished_at) VALUES (7, 'there', 'dead', 5, now() - interval '1 h')"
    )
    toml = FIELD + 'dead_letter_table = "dead_jobs"\n'
    connection, (_, place) = places(database, toml)
    for wanted in (
        DeadFilter(ids=("7", "8")),
        DeadFilter(older_than=HOUR - timedelta(minutes=1)),
        DeadFilter(queue="there"),
    ):
        [letter] = dead_letters.read(connection, place, wanted, limit=9, through_indexes=False)
        assert (letter.id, letter.attempts, letter.queue) == ("7", 5, "there")
    seen = collection_of(database, toml).healthy()
    assert seen.value("oldest_dead_age_seconds", "there") == pytest.approx(3600, abs=60)
