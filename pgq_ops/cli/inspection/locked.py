"""A job table that somebody holds locked: who does, and all that can be read without its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding.bare import bare
from pgq_ops.checks.look import Look
from pgq_ops.checks.registry import findings_of
from pgq_ops.cli.inspection.reading import is_reaping, moment
from pgq_ops.cli.inspection.section import Section
from pgq_ops.cli.inspection.view import TableView
from pgq_ops.errors import PgqOpsError
from pgq_ops.stats import agent_looks, table_health, task_runs

if TYPE_CHECKING:
    from pgq_ops.checks.look import DatabaseLook
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.stats.agent_looks import AgentLook
    from pgq_ops.stats.table_health import TableHealth
    from pgq_ops.stats.task_runs import TaskRun

_OF_ROWS = ("indexes", "jobs", "leases", "next_expiries", "dead_letters", "claim", "ready_locked")


def locked_view(connection: Connection, config: Config, name: str, database: DatabaseLook, why: str) -> TableView:
    """What there is to say of it. `why`: what kept the table from being bound."""
    configured = config.job_tables[name]
    try:
        table = bare(connection, name, configured, config.database)
    except PgqOpsError as error:
        return TableView(name, configured.table, error=error)
    health: Section[TableHealth] = Section("relation")
    runs: Section[tuple[TaskRun, ...] | None] = Section("task_runs")
    agents: Section[tuple[AgentLook, ...] | None] = Section("agents")
    health.look(lambda: table_health.read(connection, table))
    runs.look(lambda: task_runs.read(connection, table))
    agents.look(lambda: agent_looks.read(connection, table))
    look = Look(table, reaping=is_reaping(table, runs.value), health=health.value, database=database)
    read = {section.name: section.why for section in (health, runs, agents) if section.why}
    return TableView(
        name=name,
        table=str(table),
        collected_at=moment(connection),
        look=look,
        runs=runs.value,
        agents=agents.value,
        findings=findings_of(look),
        not_read={**dict.fromkeys(_OF_ROWS, why), **read},
        bound=False,
    )
