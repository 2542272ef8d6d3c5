"""The agent with tasks of the tests' own: `python -m tests.support.agent_tasks KIND[,KIND] CONFIG`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgq_ops.agent.process import AgentProcess
from pgq_ops.agent.registry import TASKS, TaskKind
from pgq_ops.cli.ending import exit_code
from pgq_ops.cli.setting import load_config
from pgq_ops.tasks.task import Outcome

if TYPE_CHECKING:
    from datetime import timedelta

    from pgq_ops.config.job_table import JobTableConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.task import Guard

ACTED = "CREATE TABLE acted (agent int, task text, job_table text, at timestamptz DEFAULT clock_timestamp())"


@dataclass(frozen=True, slots=True)
class Done:
    outcome: Outcome = Outcome.OK
    message: str = ""

    def as_json(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, slots=True)
class FakeTask:
    """A task that leaves a row in `acted` each time, then does what its kind says."""

    name: str
    kind: str

    def plan(self, connection: Connection, table: JobTable) -> Done:  # noqa: ARG002 (as the Protocol has it)
        return Done()

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> Done:
        row = {"agent": os.getpid(), "task": self.kind, "table": table.name}
        insert = "INSERT INTO acted (agent, task, job_table) VALUES (%(agent)s, %(task)s, %(table)s)"
        if not guard():
            return Done(Outcome.NOTHING)
        connection.execute(insert, row)
        if self.kind == "raises":
            raise ValueError("always")
        if self.kind == "sleeps":
            connection.execute("SELECT pg_sleep(20)")
        if self.kind == "sleeps_long":
            connection.execute("SELECT pg_sleep(29)")
        while self.kind == "batches" and guard():
            connection.execute("SELECT pg_sleep(0.02)")
            connection.execute(insert, row)
        return Done()


def _interval(section: str) -> Any:
    def interval(config: JobTableConfig) -> timedelta:
        return config.reaper.every if section == "reaper" or config.autovacuum is None else config.autovacuum.every

    return interval


def kinds(names: str) -> tuple[TaskKind, ...]:
    if names == "real":
        return TASKS
    sections = ("reaper", "autovacuum")
    return tuple(
        TaskKind(section, lambda _settled, section=section, name=name: FakeTask(section, name), _interval(section))  # type: ignore[misc]
        for section, name in zip(sections, names.split(","), strict=False)
    )


if __name__ == "__main__":
    chosen, path = kinds(sys.argv[1]), Path(sys.argv[2])
    sys.exit(exit_code(lambda: AgentProcess(lambda: load_config(path), chosen).run()))
