"""What is understood of the texts of other people's statements."""

from __future__ import annotations

import pytest

from pgq_ops.job_table.table import Relation
from pgq_ops.stats import statement_text

JOBS = Relation(1, "public", "jobs")


def changed(text: str, relation: Relation = JOBS) -> list[tuple[str, str, bool]]:
    found = statement_text.changes(text, relation)
    return [(" ".join(one.sets.split()), " ".join(one.where.split()), one.deletes) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UPDATE jobs SET a = $1 WHERE id = $2", [("SET a = $1", "id = $2", False)]),
        ("update only public.jobs j set a = $1 where j.id = $2", [("j set a = $1", "j.id = $2", False)]),
        ('UPDATE "public" . "jobs" SET "a" = $1 WHERE "id" = $2', [("SET a = $1", "id = $2", False)]),
        ("DELETE FROM jobs WHERE id = $1 RETURNING (SELECT 1 WHERE true)", [("", "id = $1", True)]),
        ("UPDATE jobs SET a = (SELECT b FROM c WHERE d) WHERE e", [("SET a = (SELECT b FROM c WHERE d)", "e", False)]),
        ("UPDATE jobs SET a = $1", [("SET a = $1", "", False)]),
        ("UPDATE jobs SET a = 'WHERE id' /* WHERE */ WHERE b -- WHERE c", [("SET a =", "b", False)]),
        (
            "WITH x AS (UPDATE jobs SET a = 1 WHERE b RETURNING c), y AS (DELETE FROM jobs WHERE (d)) SELECT 1 WHERE z",
            [("SET a = 1", "b", False), ("", "(d)", True)],
        ),
        ("UPDATE jobs_old SET a = 1 WHERE b", []),
        ("UPDATE other.jobs SET a = 1 WHERE b", []),
        ("UPDATE jobs.other SET a = 1 WHERE b", []),
        ("SELECT * FROM jobs WHERE id = 1 FOR UPDATE", []),
        ("INSERT INTO jobs VALUES (1) ON CONFLICT DO UPDATE SET a = 1 WHERE b", []),
    ],
)
def test_what_is_changed_and_by_what_condition(text: str, expected: list[tuple[str, str, bool]]) -> None:
    assert changed(text) == expected


@pytest.mark.parametrize(
    ("condition", "addressed"),
    [
        ("id = $1", True),
        ("j.id = $1", True),
        ("(id) = $1", False),
        ("id = ($1)", True),
        ("id=ANY($1::bigint[])", True),
        ("id = any (ARRAY[$1, $2])", True),
        ("id IN ($1 /*, ... */)", True),
        ("$1 = jobs.id", True),
        ("a = $1 AND Id = $2", True),
        ("id IN (SELECT id FROM jobs WHERE a = $1)", False),
        ("id = (SELECT id FROM jobs WHERE a = $1)", False),
        ("job_id = $1", False),
        ("id = other.id AND a = $1", False),
        ("id > $1", False),
    ],
)
def test_rows_are_addressed_by_values_that_the_client_gives(
    condition: str,
    addressed: bool,  # noqa: FBT001
) -> None:
    assert statement_text.addresses(condition, "id") is addressed


@pytest.mark.parametrize(
    ("text", "claim", "only_selects", "for_update"),
    [
        ("SELECT 1 FROM jobs FOR UPDATE SKIP LOCKED", True, True, True),
        ("SELECT 1 FROM jobs FOR NO KEY UPDATE OF jobs skip\n locked", True, True, False),
        ("WITH x AS (SELECT 1 FROM jobs FOR UPDATE SKIP LOCKED) UPDATE jobs SET a = 1", True, False, True),
        ("DELETE FROM jobs WHERE id = (SELECT id FROM jobs FOR UPDATE SKIP LOCKED)", True, False, True),
        ("INSERT INTO taken SELECT 1 FROM jobs FOR UPDATE SKIP LOCKED", True, False, True),
        ("SELECT 'SKIP LOCKED' FROM jobs -- FOR UPDATE SKIP LOCKED", False, True, False),
        ('SELECT "update" FROM jobs FOR SHARE NOWAIT', False, False, False),
    ],
)
def test_claims_are_told_from_other_statements(
    text: str,
    claim: bool,  # noqa: FBT001
    only_selects: bool,  # noqa: FBT001
    for_update: bool,  # noqa: FBT001
) -> None:
    assert statement_text.is_claim(text) is claim
    assert statement_text.only_selects(text) is only_selects
    assert statement_text.locks_for_update(text) is for_update


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("(SELECT 1)", True),
        ("/* app */ WITH x AS (SELECT 1) SELECT 1", True),
        ("-- a remark\nUPDATE jobs SET a = 1", True),
        ("CREATE FUNCTION f() RETURNS int AS $$ UPDATE jobs SET a = 1 $$", False),
        ("  explain UPDATE jobs SET a = 1", False),
        ("DO $$ BEGIN END $$", False),
        ("", False),
    ],
)
def test_definitions_are_not_taken_for_what_they_define(
    text: str,
    done: bool,  # noqa: FBT001
) -> None:
    assert statement_text.is_done(text) is done


def test_texts_and_comments_are_not_shown() -> None:
    text = "UPDATE jobs /* trace 7 */\n SET a = 'it''s secret', b = $1 -- and more\nWHERE \"id\" = $2"
    assert statement_text.without_values(text) == "UPDATE jobs SET a = '...', b = $1 WHERE \"id\" = $2"


@pytest.mark.parametrize("name", ["jobs", 'a"b', "100%", "x.y", "Jobs (old)"])
def test_any_name_is_found_as_a_whole(name: str) -> None:
    text = 'UPDATE "public"."{}" SET a = 1 WHERE b'.format(name.replace('"', '""'))  # noqa: S608  # never run
    assert changed(text, Relation(1, "public", name)) == [("SET a = 1", "b", False)]
