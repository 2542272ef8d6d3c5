"""`pgq-ops doctor` as a user runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.cli.doctor import FailOn, _at_or_above
from pgq_ops.demo.binaries import find_binaries
from pgq_ops.demo.server import EmbeddedServer
from tests.support.article_tables import LEASE_TABLE
from tests.support.command import run
from tests.support.database import Database
from tests.support.jobs import FIELD, FIELD_TABLE
from tests.support.postgres import Server

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

KEYS = {"name", "table", "findings", "checks", "would_do"}
CHECK_KEYS = {"id", "title", "outcome", "text", "finding"}
OUTCOMES = {"passed", "finding", "unknown", "not-applicable"}
# In which nothing is to be found but that no version is mapped.
WELL_MADE = f"""
{FIELD_TABLE};
ALTER TABLE jobs ALTER run_at SET NOT NULL;
CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending';
CREATE INDEX ON jobs (id) WHERE status IN ('running', 'dead')
"""
STRANDED = "INSERT INTO jobs (queue, status, attempts, lease_until) VALUES ('a', 'running', 1, now() - interval '1 h')"


@pytest.fixture(scope="module")
def sound_server() -> Iterator[Server]:
    """A server as the checklist would have it; that of the other tests runs without fsync, which is critical."""
    binaries = find_binaries()
    settings: dict[str, str | int] = {
        "max_connections": 23,
        "idle_in_transaction_session_timeout": "1min",
        "tcp_keepalives_idle": 60,
    }
    with EmbeddedServer(settings, binaries) as embedded:
        yield Server(embedded.dsn(), binaries.major, embedded)


@pytest.fixture
def sound(sound_server: Server, tmp_path: Path) -> Iterator[Database]:
    database = Database(sound_server)
    database.execute(WELL_MADE)
    (tmp_path / "pgq-ops.toml").write_text(FIELD, encoding="utf-8")
    yield database
    database.drop()


def doctor(database: Database, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run("doctor", *options, cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})


def document(database: Database, folder: Path) -> dict[str, Any]:
    result = doctor(database, folder, "--json", "--fail-on", "never")
    assert (result.returncode, result.stderr) == (0, "")
    [table] = json.loads(result.stdout)["job_tables"]
    assert isinstance(table, dict)
    return table


def test_the_document_has_a_verdict_for_each_point(sound: Database, tmp_path: Path) -> None:
    sound.execute(STRANDED)
    table = document(sound, tmp_path)
    assert set(table) >= KEYS
    assert "critical" in {finding["severity"] for finding in table["findings"]}
    assert (table["name"], table["table"]) == ("jobs", "public.jobs")
    assert all(set(check) >= CHECK_KEYS for check in table["checks"])
    assert {check["outcome"] for check in table["checks"]} <= OUTCOMES
    assert all((check["outcome"] == "finding") == (check["finding"] is not None) for check in table["checks"])
    assert all(check["text"] for check in table["checks"])
    of_points = [check["finding"] for check in table["checks"] if check["finding"]]
    assert all(finding in table["findings"] for finding in of_points)
    assert table["would_do"]["reaper"]["plan"]["requeued"] == 1


def test_the_exit_code_is_by_the_worst_finding(sound: Database, tmp_path: Path) -> None:
    assert doctor(sound, tmp_path).returncode == 0
    assert doctor(sound, tmp_path, "--fail-on", "info").returncode == 1


@pytest.mark.parametrize(
    ("least", "severities"),
    [
        (FailOn.CRITICAL, ["critical"]),
        (FailOn.WARNING, ["critical", "warning"]),
        (FailOn.INFO, ["critical", "warning", "info"]),
        (FailOn.NEVER, []),
    ],
)
def test_findings_as_severe_as_asked_for_or_worse_count(least: FailOn, severities: list[str]) -> None:
    assert _at_or_above(least) == severities


def test_a_screen_says_what_is_wrong_first_and_ends_with_what_would_be_done(sound: Database, tmp_path: Path) -> None:
    sound.execute(STRANDED)
    result = doctor(sound, tmp_path)
    assert (result.returncode, result.stderr) == (1, "")
    _, blank, title, first, *others = result.stdout.splitlines()
    assert (blank, title.split()[:2]) == ("", ["jobs", "public.jobs"])
    assert first.startswith("CRITICAL  1 job of public.jobs held by a worker that is gone, for")
    would = others.index("in mode manage the agent would now")
    assert others[would + 1] == "  jobs: 1 would be requeued, 0 would be buried"
    assert others[-1] == "  autovacuum: only with this section in pgq-ops.toml: [job_tables.jobs.autovacuum]"
    assert sound.value("SELECT status FROM jobs") == "running"


def test_without_a_file_a_table_that_looks_like_a_preset_is_examined(sound_server: Server, tmp_path: Path) -> None:
    database = Database(sound_server)
    try:
        database.execute(LEASE_TABLE)
        table = document(database, tmp_path)
        assert table["table"] == "public.demo_queue_jobs"
        assert {check["id"]: check["outcome"] for check in table["checks"]}["no-version"] == "passed"
    finally:
        database.drop()


def test_what_cannot_be_begun_is_told_on_stderr_alone(sound: Database, tmp_path: Path) -> None:
    unknown = doctor(sound, tmp_path, "jbos", "--json")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "did you mean" in unknown.stderr
    unreachable = run("doctor", cwd=tmp_path, variables={"PGQ_OPS_DSN": "host=127.0.0.1 port=1"})
    assert (unreachable.returncode, unreachable.stdout) == (3, "")
    mistyped = doctor(sound, tmp_path, "--fail-on", "error")
    assert mistyped.returncode == 2
