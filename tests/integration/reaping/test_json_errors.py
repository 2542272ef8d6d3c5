"""The note of a requeue, a burial and a retry behind an error that is kept as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.jobs import create_field_table, reap, statuses
from tests.support.retrying import retry

if TYPE_CHECKING:
    from tests.support.database import Database

# As it was written (None: NULL), and the elements that are there afterwards, before the note.
KEPT: list[tuple[str | None, list[object]]] = [
    (None, []),
    ("[]", []),
    (" [ \n ]\t", []),
    ("[1]", [1]),
    (' [ {"a": 1}, [2] ] \n\t', [{"a": 1}, [2]]),
    ('{"b": 1, "a": 2}', [{"b": 1, "a": 2}]),
    ('"]"', ["]"]),
    ("7", [7]),
    ("null", [None]),
]
# What a json holds and a jsonb cannot.
NUL: list[tuple[str | None, list[object]]] = [
    (r'{"a": "\u0000"}', [{"a": "\0"}]),
    (r'["\u0000", "\ud800"]', ["\0", "\ud800"]),
]


NOTES = {1: ["requeued", "requeued"], 2: ["requeued"], 5: ["buried", "retried"]}


def prepare(database: Database, kind: str, old: list[str | None]) -> None:
    """A job with each of these errors and each of 1, 2 and 5 attempts."""
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs ADD first int, ALTER last_error TYPE {kind} USING NULL")
    for text in old:
        database.execute(
            "INSERT INTO jobs (status, lease_until, attempts, first, last_error)"
            f" SELECT 'running', now() - interval '1 minute', n, n, %s::{kind} FROM unnest(ARRAY[1, 2, 5]) AS n",
            [text],
        )


@pytest.mark.parametrize(("kind", "kept"), [("json", KEPT + NUL), ("jsonb", KEPT)])
def test_what_was_there_stays_whole_before_the_notes(
    database: Database, kind: str, kept: list[tuple[str | None, list[object]]]
) -> None:
    prepare(database, kind, [old for old, _ in kept])
    result = reap(database)
    assert (result.requeued, result.dead_lettered, result.conflicts) == (2 * len(kept), len(kept), 0)
    assert retry(database).counts.jobs == len(kept)
    database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 minute' WHERE first = 1")
    assert reap(database).requeued == len(kept)
    assert statuses(database) == {"pending": 3 * len(kept)}
    rows = iter(database.rows("SELECT first, last_error::text FROM jobs ORDER BY id"))
    for _, elements in kept:
        for _ in range(3):
            first, text = next(rows)
            found = json.loads(text)
            assert found[: len(elements)] == elements
            assert [note["outcome"] for note in found[len(elements) :]] == NOTES[first]
            assert {note["by"] for note in found[len(elements) :]} == {"pgq-ops"}


def test_a_json_keeps_the_very_text_that_was_written(database: Database) -> None:
    prepare(database, "json", ['{"b":  1, "a": 1, "a": 2}'])
    reap(database)
    [text] = database.rows("SELECT DISTINCT left(last_error::text, 30) FROM jobs")
    assert text == ('[{"b":  1, "a": 1, "a": 2}, {"',)
