"""`pgq-ops findings`, on what a real agent wrote down."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from pgq_ops.schema.versions import install
from tests.support.agent import EXPIRED, JOBS, Agent, wait_until
from tests.support.command import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

TOML = '[job_tables.jobs]\ntable = "public.jobs"\npreset = "lease"\n'
GONE = "SELECT count(*) FROM pgq_ops.finding WHERE closed_at IS NOT NULL"
OPEN = "SELECT count(*) FROM pgq_ops.finding WHERE closed_at IS NULL"


def test_an_observing_agent_of_the_least_rights_writes_down_what_the_command_tells(
    database: Database, make_role: Roles, tmp_path: Path
) -> None:
    database.execute(JOBS.format(name="jobs"))
    database.execute(EXPIRED.format(name="jobs"))
    install(database.connect())
    (tmp_path / "pgq-ops.toml").write_text(TOML)
    role = make_role("watcher")
    granted = run("grants", role, "--yes", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    assert granted.returncode == 0, granted.stderr
    variables = {"PGQ_OPS_DSN": database.dsn_as(role), "TZ": "UTC"}

    def asked(*arguments: str) -> dict[str, Any]:
        result = run("findings", *arguments, "--json", cwd=tmp_path, variables=variables)
        assert (result.returncode, result.stderr) == (0, "")
        [table] = json.loads(result.stdout)["job_tables"]
        return dict(table)

    with Agent(tmp_path, database.dsn_as(role), mode="observe") as agent:
        wait_until(lambda: database.value(OPEN), what="the opening of not-reaped")
        [one] = asked("jobs")["findings"]
        assert (one["id"], one["open"], one["mode"]) == ("not-reaped", True, "observe")
        agent.signal(signal.SIGKILL)
        agent.ended()
    with Agent(tmp_path, database.dsn_as(role), mode="observe") as agent:
        agent.told("finding.opened")
        database.execute("UPDATE jobs SET status = 'done'")
        wait_until(lambda: database.value(GONE), what="the closing of not-reaped")
        assert not agent.events("journal.not_written")
    table = asked("--at", "0s")
    assert (table["watched"], table["findings"]) == (True, [])
    table = asked("--since", "1h")
    [one] = table["findings"]
    assert (one["severity"], one["open"], one["returns"]) == ("critical", False, 0)
    assert one["opened_at"] < one["closed_at"]
    assert one["evidence"]["expired"] == 1
    text = run("findings", cwd=tmp_path, variables=variables).stdout
    assert "CRITICAL  not-reaped  from 20" in text
    assert "  pgq-ops reap jobs\n" in text
    assert "UTC" in text.splitlines()[1]
    assert max(map(len, text.splitlines())) <= 80, "sentences are broken in a pipe too"
    assert database.value("SELECT count(*) FROM pgq_ops.task") == 0, "whoever observes writes nothing else"


def test_wrong_times_and_a_missing_schema_end_with_2(database: Database, tmp_path: Path) -> None:
    database.execute(JOBS.format(name="jobs"))
    (tmp_path / "pgq-ops.toml").write_text(TOML)
    variables = {"PGQ_OPS_DSN": database.dsn}

    def refused(*arguments: str) -> str:
        result = run("findings", *arguments, cwd=tmp_path, variables=variables)
        assert (result.returncode, result.stdout) == (2, "")
        return result.stderr

    assert "run `pgq-ops install`" in refused()
    install(database.connect())
    assert "is no moment" in refused("--at", "soon")
    assert "give one of them" in refused("--at", "03:12", "--since", "2h")
    assert "is no job table that is configured or remembered" in refused("mails")
    empty = run("findings", cwd=tmp_path, variables=variables)
    assert (empty.returncode, empty.stderr) == (0, "")
    assert "jobs  nothing is known" in empty.stdout
