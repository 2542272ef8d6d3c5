"""Looks for the jobs of one id in the job tables asked for: one after another, and none keeps the others back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.cli.job_tables import bind_tables, with_found_tables
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.cli.why_facts import Found
from pgq_ops.cli.why_look import TableLook
from pgq_ops.config.writing import job_table_section
from pgq_ops.db.failures import driver_errors, is_busy
from pgq_ops.errors import DatabaseFailed, DatabaseUnreachable, PgqOpsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.config.load import LoadedConfig


@dataclass(frozen=True, slots=True)
class Report:
    """All job tables asked for, in the order of the configuration."""

    id: str
    tables: tuple[Found, ...]

    @property
    def known(self) -> bool:
        """Whether anything is known of the id."""
        return any(one.jobs or one.forgotten for one in self.tables)

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after telling what there is."""
        return united(one.error for one in self.tables if one.error is not None)


def explain(loaded: LoadedConfig, names: Sequence[str], job: str) -> Report:
    """Look in each named job table (all if none).

    Raises UsageError where there is no job table, DatabaseUnreachable.
    """
    found: list[Found] = []
    given = frozenset(loaded.config.job_tables)
    with session(loaded, "look for the job") as connection:
        loaded = with_found_tables(connection, loaded)
        for name, bound in bind_tables(connection, loaded, names).found.items():
            if isinstance(bound, PgqOpsError):
                found.append(Found(name, error=bound))
                continue
            try:
                section = "" if name in given else job_table_section(name, loaded.config.job_tables[name])
                with driver_errors(f"look for the job in {name}"):
                    found.append(TableLook(connection, bound.table, loaded.config, job, section).found())
            except DatabaseUnreachable:
                raise
            except DatabaseFailed as error:
                locked = error.__cause__ is not None and is_busy(error.__cause__)
                found.append(Found(name, error=DatabaseFailed(f"{name}: {error}") if locked else error))
            except PgqOpsError as error:
                found.append(Found(name, error=error))
    return Report(job, tuple(found))
