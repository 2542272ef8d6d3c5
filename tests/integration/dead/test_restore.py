"""Purged jobs are put back by what README.md prints, run by psql as it is printed."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from pgq_ops.demo.binaries import find_binaries
from tests.support.jobs import FIELD, statuses
from tests.support.pages import ROOT, blocks
from tests.support.retrying import purge

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database

FILE = "dead-jobs-20261130T114501Z.jsonl"
TOML = FIELD.replace('table = "jobs"', 'table = "public.jobs"')
MOVED = TOML + 'dead_letter_table = \'"Odd ""% schema"."Dead"\'\n'
TABLE = """
CREATE TYPE state AS ENUM ('pending', 'running', 'done', 'dead');
CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text, status state NOT NULL, attempts int, max_attempts int,
    line text, columns text[], double int GENERATED ALWAYS AS (attempts * 2) STORED, "odd ""% name" text, n numeric,
    f float8, d json, b jsonb NOT NULL DEFAULT '{}', r bytea, name char(9), lease_until timestamptz, locked_by text,
    run_at timestamptz, created_at timestamptz, finished_at timestamptz, last_error text
);
ALTER TABLE jobs DROP COLUMN name, ADD COLUMN job varchar(20) DEFAULT 'x';
"""
HARD = """
INSERT INTO jobs (status, attempts, line, columns, "odd ""%% name", n, f, d, b, r, finished_at) VALUES
    ('dead', 5, %(hostile)s, ARRAY[%(hostile)s, NULL, '{'], %(hostile)s, 1e30 + 0.1, 0.1::float8 + 0.2,
     '{"a": 1,  "a": "\\u0041\\u0001"}', '{"x": [1e400]}', '\\x00ff0a', 'infinity'),
    ('dead', NULL, '', '{}', E'\\\\.', 'NaN', '-Infinity', NULL, '"\\\\n"', NULL, '2026-01-02 03:04:05.678901+00'),
    ('dead', 0, E'\\\\N', NULL, 'null', NULL, NULL, '[]', '{}', '', NULL)
"""
PLAIN = """
INSERT INTO jobs (status) SELECT 'dead' FROM generate_series(1, 600);
INSERT INTO jobs (status) VALUES ('pending')
"""
HOSTILE = "a\n\r\nb\t'\"\\ \\. \\N ${x} :table :'table' % \x01\x02\x1b\x7f \u2028 caf\u00e9 \U0001f600"
WHOLE = "SELECT md5(string_agg(j::text, ';' ORDER BY j::text)), count(*) FROM {} AS j"


def psql(database: Database, folder: Path, table: str = "public.jobs") -> list[str]:
    """Run what is printed, for another table in its first line; gives what psql said."""
    program = shutil.which("psql", path=str(find_binaries().bin)) or shutil.which("psql")
    if program is None:
        pytest.skip("no psql beside the server, nor in PATH")
    [printed] = blocks(ROOT / "README.md", "psql")
    first, rest = printed.split("\n", 1)
    assert first == r"\set table public.jobs"
    script = printed if table == "public.jobs" else f"\\set table '{table}'\n{rest}"
    result = subprocess.run(
        [program, "-X", "-v", "ON_ERROR_STOP=1", database.dsn],
        input=script,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def create(database: Database) -> None:
    database.execute(TABLE)
    database.execute(HARD, {"hostile": HOSTILE})
    database.execute(PLAIN)


def test_every_job_comes_back_as_it_was_whatever_it_holds(database: Database, tmp_path: Path) -> None:
    create(database)
    before = database.rows(WHOLE.format("jobs"))
    assert purge(database, TOML, file=tmp_path / FILE).exported == 603
    assert statuses(database) == {"pending": 1}
    assert psql(database, tmp_path)[-1] == "INSERT 0 603"
    assert database.rows(WHOLE.format("jobs")) == before
    # What is there already, as after a purge that was killed, is left as it is.
    database.execute("UPDATE jobs SET queue = 'changed' WHERE id = 1; DELETE FROM jobs WHERE id = 2")
    assert psql(database, tmp_path)[-1] == "INSERT 0 1"
    assert database.value("SELECT queue FROM jobs WHERE id = 1") == "changed"


def test_jobs_of_a_dead_letter_table_come_back_there_without_a_key_too(database: Database, tmp_path: Path) -> None:
    create(database)
    place = '"Odd ""% schema"."Dead"'
    database.execute(f"""
        CREATE SCHEMA "Odd ""% schema";
        CREATE TABLE {place} (LIKE jobs);
        INSERT INTO {place} SELECT * FROM jobs WHERE status = 'dead' AND id > 1
    """)
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey")
    whole = WHOLE.format(place)
    jobs, letters = database.rows(WHOLE.format("jobs")), database.rows(whole)
    result = purge(database, MOVED, file=tmp_path / FILE)
    assert (result.exported, result.counts.moved) == (1_205, 602)
    tables = [json.loads(line)["table"] for line in (tmp_path / FILE).read_text().split("\n")[:-1]]
    assert (tables.count("public.jobs"), tables.count('Odd "% schema.Dead')) == (603, 602)
    assert psql(database, tmp_path, place)[-1] == "INSERT 0 602"
    assert (database.rows(whole), statuses(database)) == (letters, {"pending": 1})
    assert psql(database, tmp_path)[-1] == "INSERT 0 603"
    assert database.rows(WHOLE.format("jobs")) == jobs
    # Without a key nothing but the rows themselves tells that they are there.
    assert psql(database, tmp_path, place)[-1] == "INSERT 0 0"
    assert database.rows(whole) == letters
