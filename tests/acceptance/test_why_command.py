"""`pgq-ops why` as it is run: what goes to stdout and to stderr, and how it ends."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from pgq_ops.schema.versions import install
from tests.support.article_tables import LEASE_TABLE
from tests.support.command import run
from tests.support.jobs import FIELD, create_field_table, reap

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.support.database import Database


def why(database: Database, folder: Path, *words: str, toml: str = FIELD) -> CompletedProcess[str]:
    """Run `pgq-ops why` with a configuration; none for an empty one."""
    if toml:
        (folder / "pgq-ops.toml").write_text(toml, encoding="utf-8")
    return run("why", *words, cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})


def test_a_job_s_life_is_told_in_sentences_or_as_one_document(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    install(database.connect())
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until, locked_by, attempts, max_attempts)"
        " VALUES ('mail', 'running', now() - interval '1 m', 'worker-7', 2, 5)"
    )
    reap(database)
    database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '42 s', attempts = 3")
    result = why(database, tmp_path, "1")
    assert (result.returncode, result.stderr) == (0, "")
    head, first, *rest = result.stdout.splitlines()
    assert head.startswith("jobs  public.jobs  1  running  queue mail")
    assert first.startswith("Running, nobody knows by whom; lease expired 4")
    assert first.endswith(", attempt 3 of 5.")
    assert "  pgq-ops reap jobs" in rest
    assert rest[-1].startswith("Reaped once before (")
    document = json.loads(why(database, tmp_path, "1", "jobs", "--json").stdout)
    [job] = document["jobs"]
    assert (document["id"], job["state"], job["reaper"]["action"]) == ("1", "running", "requeue")
    assert job["commands"] == ["pgq-ops reap jobs"]


def test_an_id_that_nobody_knows_ends_with_2(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    result = why(database, tmp_path, "77", "--json")
    assert (result.returncode, json.loads(result.stdout)["jobs"]) == (2, [])
    assert "no job has the id '77'" in result.stderr


def test_an_id_that_begins_with_a_dash_is_no_option_in_what_is_printed(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (id, status, last_error) VALUES (-5, 'dead', 'boom')")
    toml = FIELD.replace("[job_tables.jobs", '[job_tables."-t"')
    result = why(database, tmp_path, "--json", "--", "-5", toml=toml)
    assert (result.returncode, result.stderr) == (0, "")
    show, retry = json.loads(result.stdout)["jobs"][0]["commands"]
    variables = {"PGQ_OPS_DSN": database.dsn}
    shown = run(*shlex.split(show)[1:], cwd=tmp_path, variables=variables)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "boom" in shown.stdout
    retried = run(*shlex.split(retry.replace(" -- ", " --yes -- "))[1:], cwd=tmp_path, variables=variables)
    assert (retried.returncode, retried.stderr) == (0, "")
    assert database.value("SELECT status FROM jobs") == "pending"
    assert show == "pgq-ops dead show -- -5 -t"
    assert retry == "pgq-ops dead retry --id -5 -- -t"


def test_an_empty_id_is_refused_by_the_argument_s_name(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    for words in (["why", ""], ["dead", "show", ""]):
        result = run(*words, cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
        assert result.returncode == 2
        assert "ID is empty, which says nothing: give one" in result.stderr
        assert "--id" not in result.stderr


def test_without_a_file_a_table_that_looks_like_a_preset_s_is_told_with_what_to_write(
    database: Database, tmp_path: Path
) -> None:
    database.execute(LEASE_TABLE)
    database.execute(
        "INSERT INTO demo_queue_jobs (status, lease_until, payload) VALUES ('running', now() - interval '1 m', '{}')"
    )
    result = why(database, tmp_path, "1", toml="")
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert (
        lines.index('preset = "lease"')
        < lines.index("# then, in a shell:")
        < lines.index("pgq-ops reap demo_queue_jobs")
    )
