"""`pgq-ops dead` as it is run: what goes to stdout and to stderr, and how it ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.command import run
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.support.database import Database


def dead(database: Database, folder: Path, *words: str) -> CompletedProcess[str]:
    """Run `pgq-ops dead` with the field cases' configuration."""
    (folder / "pgq-ops.toml").write_text(FIELD, encoding="utf-8")
    return run("dead", *words, cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})


def test_dead_letters_are_listed_shown_and_exported(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status, finished_at, last_error)"
        " VALUES ('mail', 'dead', now() - interval '2 hours', 'Timeout after 3 s'), ('film', 'dead', now(), 'boom')"
    )
    listed = dead(database, tmp_path, "list", "--queue", "mail")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "jobs  public.jobs  1 dead letter; the oldest 2h" in listed.stdout
    assert "Timeout after <n> s" in listed.stdout
    assert "film" not in listed.stdout
    [table] = json.loads(dead(database, tmp_path, "list", "--json").stdout)["job_tables"]
    assert (table["jobs"], [letter["id"] for letter in table["dead_letters"]]) == (2, ["2", "1"])
    assert "boom" in dead(database, tmp_path, "show", "2").stdout
    exported = dead(database, tmp_path, "export")
    assert exported.returncode == 0
    assert [json.loads(line)["id"] for line in exported.stdout.splitlines()] == ["1", "2"]
    assert (
        exported.stderr == "jobs: 2 dead letters exported, without their payload (--payload or --whole-row adds it)\n"
    )
    one = dead(database, tmp_path, "export", "--queue", "film", "--payload")
    assert (one.returncode, "dead letter" in one.stderr) == (2, False)
    assert "columns.payload: is not mapped" in one.stderr
    assert "jobs: 1 dead letter exported," in dead(database, tmp_path, "export", "--queue", "film").stderr
    written = dead(database, tmp_path, "export", "--format", "json", "--output", "dead.json")
    assert (written.returncode, written.stdout) == (0, "")
    assert len(json.loads((tmp_path / "dead.json").read_text(encoding="utf-8"))["dead_letters"]) == 2


def test_what_cannot_be_done_ends_with_2_and_one_message(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    for words, message in (
        (("show", "77"), "no dead letter has the id '77'"),
        (("list", "--kind", "send"), "columns.kind: is not mapped, and --kind needs it"),
        (("export", "--output", "nowhere/dead.jsonl"), "cannot be written: No such file or directory"),
    ):
        result = dead(database, tmp_path, *words)
        assert result.returncode == 2, words
        assert message in result.stderr
        assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pgq-ops.toml"]
