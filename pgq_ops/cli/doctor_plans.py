"""What each task of the agent would do now in mode `manage`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

from pgq_ops.agent.registry import DATABASE_TASKS, TASKS, without_agent
from pgq_ops.cli.inspection.section import reason
from pgq_ops.db.failures import is_connection_loss
from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.task import Result


@dataclass(frozen=True, slots=True)
class Planned:
    """One task: its plan, or why there is none. `requested`: the configuration has its section."""

    task: str
    requested: bool
    result: Result | None = None
    why_not: str = ""

    def as_json(self) -> dict[str, Any]:
        """The plan as the task's own `--dry-run --json` shows it; null where there is none."""
        plan = None if self.result is None else self.result.as_json()
        return {"requested": self.requested, "plan": plan, "why_not": self.why_not or None}


def plans(connection: Connection, table: JobTable, config: Config) -> tuple[Planned, ...]:
    """The plan of every task. Raises the driver's error where the connection is lost.

    Without an index a plan reads the whole table: then the session's timeout may be too short for it.
    """
    return tuple(_each(connection, table, config))


def _each(connection: Connection, table: JobTable, config: Config) -> Iterator[Planned]:
    configured = config.job_tables[table.name].requested_tasks
    made = [(kind, kind.make(without_agent(config))) for kind in TASKS if not kind.watches]
    tasks = [(kind.section, kind.section in configured, task) for kind, task in made]
    tasks += [(kind.section, True, kind.make(config)) for kind in DATABASE_TASKS if kind.asked_for(config)]
    for section, requested, task in tasks:
        try:
            result = task.plan(connection, table)
        except PgqOpsError as error:
            yield Planned(section, requested, why_not=str(error))
        except psycopg.Error as error:
            if is_connection_loss(error):
                raise
            yield Planned(section, requested, why_not=reason(error))
        else:
            yield Planned(section, requested, result)
