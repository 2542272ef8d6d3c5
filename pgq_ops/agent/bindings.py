"""The job tables of the config, bound to the catalog now and again while the agent runs."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import logs
from pgq_ops.binding.bind import bind
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ConfigError, DatabaseUnreachable, PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# A column that a migration added, or a privilege that was taken, is noticed after this long at the latest.
REBIND_SECONDS = 300.0
# A table that could not be bound, or may not be reaped, may be made, granted or mended while the agent runs.
RETRY_SECONDS = 30.0

log = logs.get("binding")


@dataclass(slots=True)
class _Binding:
    """One job table: as it was bound last, when to look again, and what was told of it."""

    table: JobTable | None = None
    error: PgqOpsError | None = None
    notes: tuple[str, ...] = ()
    due_at: float = 0.0
    told: tuple[str, ...] | None = None


class Bindings:
    """Binds each job table of a configuration. `refresh` belongs to the leader's thread, the rest to any.

    With `must_fit`, the first refresh raises if there is not a single table that fits.
    """

    def __init__(self, loaded: LoadedConfig, *, must_fit: bool) -> None:
        self._loaded = loaded
        self._bindings = {name: _Binding() for name in loaded.config.job_tables}
        self._must_fit = must_fit
        self.changes = 0
        """How often another table was bound, or another configuration taken over."""

    def configure(self, loaded: LoadedConfig) -> None:
        """Take over a new configuration: every table is bound anew at the next refresh. For the leader's thread."""
        self._loaded = loaded
        self.changes += 1
        self._bindings = {name: self._bindings.get(name, _Binding()) for name in loaded.config.job_tables}
        for binding in self._bindings.values():
            binding.due_at = 0.0

    def names(self) -> tuple[str, ...]:
        """The names of all job tables of the configuration."""
        return tuple(self._bindings)

    def tables(self) -> Mapping[str, JobTable]:
        """The job tables that are bound."""
        return {name: one.table for name, one in self._bindings.items() if one.table is not None}

    def rebind(self, name: str) -> None:
        """Look at a job table again at the next refresh: a statement failed as if it had changed."""
        self._bindings[name].due_at = 0.0

    def refresh(self, connection: Connection) -> None:
        """Bind what is due. What is wrong with a table is logged once, and the others go on.

        Raises DatabaseUnreachable, and ConfigError where all must be refused because of mistakes in the
        configuration: nothing has been written then.
        """
        mistakes: list[ConfigError] = []
        for name, binding in self._bindings.items():
            if time.monotonic() >= binding.due_at:
                error = self._bind(connection, name, binding)
                mistakes += [error] if isinstance(error, ConfigError) else []
        if self._must_fit and mistakes and len(mistakes) == len(self._bindings):
            raise ConfigError(tuple(problem for mistake in mistakes for problem in mistake.problems))
        for name, binding in self._bindings.items():
            self._tell(name, binding)
        self._must_fit = False

    def _bind(self, connection: Connection, name: str, binding: _Binding) -> PgqOpsError | None:
        config = self._loaded.config
        try:
            with driver_errors(f"read the catalog for {name}"):
                bound = bind(
                    connection, name, config.job_tables[name], config.database, self._loaded.preset_columns(name)
                )
        except DatabaseUnreachable:
            raise
        except PgqOpsError as error:
            binding.due_at = time.monotonic() + RETRY_SECONDS
            binding.error = error
            if isinstance(error, ConfigError):
                self.changes += binding.table is not None
                binding.table = None  # it is not what the configuration says; else what was known still holds
            return error
        # Spread, so that a hundred tables do not come up again in one tick.
        again = RETRY_SECONDS if bound.refused else REBIND_SECONDS
        binding.due_at = time.monotonic() + again * random.uniform(0.8, 1)  # noqa: S311 (no secret)
        self.changes += binding.table is None
        binding.table, binding.error, binding.notes = bound.table, None, bound.notes
        return None

    def _tell(self, name: str, binding: _Binding) -> None:
        """Log what is new since the last time: an error, its end, a note."""
        now = binding.notes if binding.error is None else (str(binding.error),)
        if now == binding.told:
            return
        binding.told = now
        if binding.error is not None:
            log.error("job_table.not_bound", job_table=name, error=binding.error)
        elif binding.table is not None:
            log.info("job_table.bound", job_table=name, table=str(binding.table))
            for note in binding.notes:
                log.info("job_table.note", job_table=name, note=note)
