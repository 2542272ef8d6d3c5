"""Commands as a person types them into the proof: bound anew each time, with nothing remembered."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg

from pgq_ops.binding.bind import bind
from pgq_ops.db.connection import COMMAND_LIMITS, Purpose, connect
from pgq_ops.errors import ConfigError, TableChanged
from tests.support.binding import loaded_of
from tests.support.proof_agent import NAME, interrupted

if TYPE_CHECKING:
    from pgq_ops.tasks.dead_retry import DeadRetry
    from pgq_ops.tasks.reap import Reap
    from pgq_ops.tasks.task import Guard
    from tests.support.proof_agent import Interruption
    from tests.support.proof_stage import Stage


def run_by_hand(
    stage: Stage, task: Reap | DeadRetry, guard: Guard, interruption: Interruption | None = None
) -> Exception | None:
    """Run a task once; returns what it failed with. What it did is in its `done`."""
    loaded = loaded_of(stage.ground.toml, stage.database.dsn)
    config = loaded.config
    with closing(connect(config.database, Purpose.COMMAND, COMMAND_LIMITS)) as connection:
        try:
            preset = loaded.preset_columns(NAME)
            table = bind(connection, NAME, config.job_tables[NAME], config.database, preset).table
            with interrupted(connection, interruption):
                task.run(connection, table, guard)
        except (psycopg.Error, ConfigError, TableChanged) as error:
            return error
    return None
