"""The chain end to end: a held snapshot makes claims costly, one finding names the session, and its remedy ends it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.schema.versions import install
from tests.support.agent import JOBS, Agent, wait_until
from tests.support.command import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

TRANSACTIONS = '[transactions]\nwarn_after = "1s"'
TOML = f"""
{TRANSACTIONS}
[job_tables.jobs]
table = "public.jobs"
preset = "lease"
"""
# Jobs that stay, behind those that come and go.
WAITING = "INSERT INTO jobs (available_at) SELECT now() - interval '1 m' FROM generate_series(1, 500)"
# Due in another order than they lie in, as jobs are that were tried before.
ENQUEUE = """
INSERT INTO jobs (available_at)
SELECT now() - interval '1 h' - random() * interval '1 h' FROM generate_series(1, 400)
"""
FINISH = "UPDATE jobs SET status = 'done' WHERE status = 'pending' AND available_at < now() - interval '50 m'"
ROUNDS = 50
LINKS = {"claim-timeout", "dead-rows", "horizon-held", "idle-in-transaction", "long-transactions"}


@dataclass(slots=True)
class Stage:
    database: Database
    folder: Path
    watcher: str

    def read(self, *command: str) -> dict[str, Any]:
        """The job table's part of a command's JSON, by the role that only observes."""
        result = run(*command, "--json", cwd=self.folder, variables={"PGQ_OPS_DSN": self.database.dsn_as(self.watcher)})
        assert (result.returncode, result.stderr) == (0, "")
        [table] = json.loads(result.stdout)["job_tables"]
        return dict(table)

    def churn(self) -> None:
        """Jobs come and are finished, by one worker whose session then ends."""
        with psycopg.connect(self.database.dsn, autocommit=True) as worker:
            for _ in range(ROUNDS):
                worker.execute(ENQUEUE)
                worker.execute(FINISH)


@pytest.fixture
def stage(database: Database, make_role: Roles, tmp_path: Path) -> Stage:
    database.execute(JOBS.format(name="jobs"))
    database.execute(WAITING)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = on, autovacuum_vacuum_threshold = 1000)")
    database.execute("VACUUM ANALYZE jobs")
    install(database.connect())
    (tmp_path / "pgq-ops.toml").write_text(TOML)
    watcher = make_role("watcher")
    granted = run("grants", watcher, "--yes", cwd=tmp_path, variables={"PGQ_OPS_DSN": database.dsn})
    assert granted.returncode == 0, granted.stderr
    return Stage(database, tmp_path, watcher)


def costly(agent: Agent) -> dict[str, float]:
    return {key: value for key, value in agent.series("pgqops_findings").items() if '"claims-costly"' in key}


def of_the_chain(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in findings if one["id"] in {"claims-costly", *LINKS}]


def test_a_held_snapshot_is_named_ended_and_over(stage: Stage, make_role: Roles) -> None:
    database = stage.database
    healthy = stage.read("inspect")
    assert of_the_chain(healthy["findings"]) == []
    costs = 100 * healthy["claim"]["buffers"]
    assert 0 < costs <= 5_000

    reporter = make_role("bi")
    database.execute(f"GRANT SELECT ON jobs TO {reporter}")
    report = database.connect(user=reporter, application_name="report-job", autocommit=False)
    report.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    report.execute("SELECT count(*) FROM jobs")
    pid = report.info.backend_pid
    stage.churn()
    with Agent(stage.folder, database.dsn_as(stage.watcher), mode="observe", agent=TRANSACTIONS) as agent:
        wait_until(lambda: (agent.value("pgqops_claim_buffers") or 0) >= costs, 20, "costly claims")
        wait_until(lambda: '"critical"' in "".join(costly(agent)), 20, "the finding")
        then = database.value("SELECT now()").isoformat()

        seen = stage.read("inspect")
        [chain] = of_the_chain(seen["findings"])
        assert (chain["id"], chain["severity"]) == ("claims-costly", "critical")
        assert f"because session {pid} (report-job, user {reporter}) has been idle in transaction" in chain["summary"]
        assert seen["claim"]["buffers"] >= costs
        assert [one["pid"] for one in seen["horizon"]["holders"]] == [pid]

        lines = [line for line in chain["remedy"].splitlines() if not line.startswith(("#", "--"))]
        [command], statements = ([one for one in lines if one.startswith("pgq-ops ") is ours] for ours in (True, False))
        _, *arguments = shlex.split(command)
        ended = run(*arguments, cwd=stage.folder, variables={"PGQ_OPS_DSN": database.dsn})
        assert ended.returncode == 0, ended.stderr
        with pytest.raises(psycopg.OperationalError):
            report.execute("SELECT 1")
        for statement in statements:
            database.execute(statement)
        wait_until(lambda: not costly(agent), 20, "the end of the finding")
        assert (agent.value("pgqops_claim_buffers") or 0) <= 50
        after = stage.read("inspect")
        assert of_the_chain(after["findings"]) == []
        assert after["claim"]["buffers"] <= 50

        closed = "SELECT count(*) FROM pgq_ops.finding WHERE finding = 'claims-costly' AND closed_at IS NOT NULL"
        wait_until(lambda: database.value(closed), 20, "the closing in the flight recorder")
    [remembered] = of_the_chain(stage.read("findings", "--at", then)["findings"])
    assert remembered["evidence"]["holder"]["pid"] == pid
    assert command in remembered["remedy"].splitlines()
    assert remembered["open"] is False
    assert remembered["worst_severity"] == "critical"
