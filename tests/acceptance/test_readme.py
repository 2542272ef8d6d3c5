"""README.md's first steps, taken as they are printed, on its own table in the middle of an incident."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.agent import free_port, wait_until
from tests.support.command import PROGRAM, environment, run
from tests.support.jobs import statuses
from tests.support.pages import ROOT, Step, blocks, shape, steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

README = ROOT / "README.md"
ROLE = "pgq_ops"

# 38 jobs of dead workers, 7 of them at the cap; 3 forgotten for 40 days; 3 in good hands; and a backlog.
INCIDENT = """
INSERT INTO jobs (queue, payload, status, attempts)
SELECT (ARRAY['email', 'video'])[1 + n % 2], '{}', 'done', 1 FROM generate_series(1, 250000) AS n;
INSERT INTO jobs (queue, payload, run_at)
SELECT 'email', '{}', now() - n * interval '0.11 s' FROM generate_series(1, 6200) AS n;
INSERT INTO jobs (queue, payload, run_at)
SELECT 'video', '{}', now() + n * interval '1 m' FROM generate_series(1, 12) AS n;
INSERT INTO jobs (queue, payload, status, attempts, locked_by, lease_until)
SELECT 'email', '{}', 'running', 1 + n % 5, 'mail-' || 1 + n % 3, now() - n * interval '4 s'
FROM generate_series(1, 38) AS n;
INSERT INTO jobs (queue, payload, status, attempts, locked_by, lease_until)
SELECT 'email', '{}', 'running', 1, 'mail-0', now() - interval '40 d' FROM generate_series(1, 3);
INSERT INTO jobs (queue, payload, status, attempts, locked_by, lease_until)
SELECT 'video', '{}', 'running', 1, 'video-' || n, now() + n * interval '15 m' FROM generate_series(1, 3) AS n;
INSERT INTO jobs (queue, payload, status, attempts) SELECT 'email', '{}', 'dead', 5 FROM generate_series(1, 9);
"""
RUNNING = "SELECT count(*)::int FROM jobs WHERE status = 'running'"


@pytest.fixture
def incident(database: Database) -> Database:
    [table] = blocks(README, "sql")
    database.execute(table)
    database.execute(INCIDENT)
    # A session of its own: what the other one wrote is counted in the statistics once it has ended.
    database.execute("VACUUM ANALYZE jobs")
    return database


@contextmanager
def agent(folder: Path, dsn: str) -> Iterator[None]:
    """Run the agent until it is ready, let the caller look, end it by SIGTERM."""
    port = free_port()
    # The test's server has just been started: the reaper would wait for a minute.
    settings = {"PGQ_OPS_AGENT__LISTEN": f"127.0.0.1:{port}", "PGQ_OPS_JOB_TABLES__JOBS__REAPER__SETTLE": "0s"}
    variables = environment(PGQ_OPS_DSN=dsn, **settings)
    with subprocess.Popen([PROGRAM, "agent"], cwd=folder, env=variables, stderr=subprocess.PIPE, text=True) as process:

        def ready() -> bool:
            assert process.poll() is None
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    return 'pgqops_jobs{database="' in answer.read().decode()
            except OSError:
                return False

        try:
            wait_until(ready, 20, "the first collection")
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()


def shapes(lines: Iterable[str]) -> list[str]:
    """Lines as they can be compared between two runs, without inspect's first one, which tells time and place."""
    return [shape(line) for line in lines if " UTC  " not in line]


def take(step: Step, folder: Path, database: Database, role: str) -> None:
    """Run a command as it is printed, for the role's name; what it prints for psql is run too."""
    printed, _, then = step.command.partition(" | ")
    words = [role if word == ROLE else word for word in shlex.split(printed)[1:]]
    result = run(*words, cwd=folder, variables={"PGQ_OPS_DSN": database.dsn})
    assert (result.returncode, result.stderr) == (0, "")
    if step.output:
        assert shapes(result.stdout.rstrip("\n").split("\n")) == shapes(step.output)
    if then:
        assert then.startswith("psql ")
        database.execute(result.stdout)


def test_the_first_steps_lead_where_the_readme_says(incident: Database, make_role: Roles, tmp_path: Path) -> None:
    role = make_role(ROLE)
    config = tmp_path / "pgq-ops.toml"
    described, managed, by_queue, ending = blocks(README, "toml")
    config.write_text(described)
    taken = []
    for step in steps(README):
        if step.command == "pgq-ops agent":
            with agent(tmp_path, incident.dsn_as(role)):
                assert incident.value(RUNNING) == 44
        elif step.command.startswith("pgq-ops "):
            take(step, tmp_path, incident, role)
        else:
            assert step.command.startswith("export PGQ_OPS_DSN=")
        taken.append(step.command)
    assert "pgq-ops agent" in taken
    config.write_text(f"{described}\n{managed}\n{by_queue}\n{ending}")
    with agent(tmp_path, incident.dsn_as(role)):
        wait_until(lambda: incident.value(RUNNING) == 6, 20, "the jobs of dead workers are back")
    assert statuses(incident) == {"done": 250_000, "pending": 6_212 + 31, "running": 3 + 3, "dead": 9 + 7}


def test_the_demo_ends_with_the_summary_that_the_readme_shows() -> None:
    shown, *_ = blocks(README, "text")

    def outline(text: str) -> str:
        return re.sub(r"(worker|completion)s\b", r"\1", shape(text))

    played = run("demo", "--seconds", "10")
    assert played.returncode == 0, played.stderr
    told = played.stdout[played.stdout.index("Checked against") :]
    assert outline(told).startswith(outline(shown))
