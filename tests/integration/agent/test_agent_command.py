"""`pgq-ops agent` as it is typed."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg.conninfo import conninfo_to_dict

from tests.support.agent import EXPIRED, Agent, free_port, wait_until

if TYPE_CHECKING:
    from tests.support.database import Database

PROGRAM = str(Path(sys.executable).with_name("pgq-ops"))


def test_flags_win_over_the_file_and_the_installed_command_reaps(jobs: Database, tmp_path: Path) -> None:
    jobs.execute(EXPIRED.format(name="jobs"))
    agent = Agent(tmp_path, jobs.dsn, mode="observe")
    agent.port = free_port()
    flags = ["--mode", "manage", "--listen", f"127.0.0.1:{agent.port}", "--log-format", "text"]
    agent.command = [PROGRAM, "agent", "--config", str(agent.config), *flags]
    with agent:
        wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
        wait_until(lambda: agent.get("/readyz") == (200, "ok\n"))
        assert agent.value("pgqops_reaped_total", 'outcome="requeued"') == 1
        assert "INFO agent.started version=" in agent.log.read_text()
        assert " mode=manage " in agent.log.read_text()
        agent.signal(signal.SIGTERM)
        assert agent.ended() == 0
    assert "agent.stopped" in agent.log.read_text()


def test_without_a_job_table_it_says_what_is_needed_and_ends_with_two(jobs: Database, tmp_path: Path) -> None:
    agent = Agent(tmp_path, jobs.dsn)
    text = agent.config.read_text()
    agent.config.write_text(text[: text.index("[job_tables")])
    agent.command = [PROGRAM, "agent", "--config", str(agent.config)]
    with agent:
        assert agent.ended() == 2
    [line] = agent.log.read_text().splitlines()
    assert "no job table is configured" in line


def test_a_wrong_flag_is_one_message(jobs: Database, tmp_path: Path) -> None:
    agent = Agent(tmp_path, jobs.dsn)
    agent.command = [PROGRAM, "agent", "--config", str(agent.config), "--mode", "mange"]
    with agent:
        assert agent.ended() == 2
    assert "manage" in agent.log.read_text()
    assert "Traceback" not in agent.log.read_text()


def test_the_password_is_in_no_log_metric_or_process_list(jobs: Database, tmp_path: Path) -> None:
    password = str(conninfo_to_dict(jobs.dsn)["password"])
    with Agent(tmp_path, jobs.dsn) as agent:
        wait_until(agent.leads)
        jobs.execute("ALTER TABLE jobs RENAME lease_until TO leased_until")
        wait_until(lambda: agent.events("job_table.not_bound") or agent.events("task.failed"))
        shown = agent.log.read_text() + agent.get("/metrics")[1] + agent.get("/readyz")[1]
        arguments = Path(f"/proc/{agent.pid}/cmdline").read_text()
    assert password not in shown
    assert password not in arguments
