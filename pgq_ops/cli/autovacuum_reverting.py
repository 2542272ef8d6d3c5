"""Puts storage parameters back, or plans to, for the command: job table by job table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.job_tables import bind_tables
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.config.validation import did_you_mean
from pgq_ops.db.connection import COMMAND_LIMITS, WRITE_LIMITS
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ActionFailed, DatabaseFailed, DatabaseUnreachable, NotPermitted, PgqOpsError, UsageError
from pgq_ops.tasks.autovacuum.revert_leaves import planned_revert, revert
from pgq_ops.tasks.autovacuum.settable import SETTABLE
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.autovacuum.setting_outcome import LeafOutcome


@dataclass(frozen=True, slots=True)
class Only:
    """What is to be put back: these parameters (None: all), of leaves called so (empty: all of them).

    A leaf is called as it is shown (schema.name), or by its name alone.
    """

    parameters: frozenset[str] | None = None
    leaves: frozenset[str] = frozenset()

    @classmethod
    def of(cls, parameters: Iterable[str], leaves: Iterable[str]) -> Only:
        """As they were typed. Raises UsageError for a parameter that pgq-ops never sets."""
        wanted = frozenset(parameters)
        for one in sorted(wanted - SETTABLE):
            hint = did_you_mean(one, SETTABLE) or "`pgq-ops autovacuum revert --dry-run` lists those that were set"
            raise UsageError(f'"{one}" is no storage parameter that pgq-ops sets: {hint}')
        return cls(wanted or None, frozenset(leaves))


@dataclass(frozen=True, slots=True)
class Reverted:
    """One job table: what became of each leaf that pgq-ops had set something on, or why nothing could be done.

    `set_again`: an agent with this configuration sets it anew.
    """

    name: str
    table: str = ""
    leaves: tuple[LeafOutcome, ...] | None = None
    error: PgqOpsError | None = None
    set_again: bool = False

    def with_fate(self, *fates: SettingFate) -> list[LeafOutcome]:
        """The leaves that came to this."""
        return [one for one in self.leaves or () if one.fate in fates]

    @property
    def parameters(self) -> int:
        """How many parameters were put back, or would be."""
        return sum(len(one.changes) for one in self.with_fate(SettingFate.CHANGED))

    def as_json(self) -> dict[str, Any]:
        """The table as `--json` shows it; null is what is not known."""
        return {
            "name": self.name,
            "table": self.table or None,
            "leaves": None if self.leaves is None else [one.as_json() for one in self.leaves],
            "changed": len(self.with_fate(SettingFate.CHANGED)),
            "busy": len(self.with_fate(SettingFate.BUSY, SettingFate.STALE)),
            "not_permitted": len(self.with_fate(SettingFate.NOT_PERMITTED)),
            "refused": len(self.with_fate(SettingFate.REFUSED)),
            "set_again": self.set_again,
            "error": None if self.error is None else str(self.error),
        }

    def failure(self) -> PgqOpsError | None:
        """Also of leaves that could not be changed; those that are busy are no failure."""
        for one in self.with_fate(SettingFate.NOT_PERMITTED, SettingFate.REFUSED):
            message = f"{self.name}: {one.relation} was not changed: {one.reason}"
            if one.fate is SettingFate.NOT_PERMITTED and not self.parameters:
                return NotPermitted(message, one.grant or one.statement)
            return ActionFailed(f"{message}\n  {one.grant or one.statement}")
        return self.error


@dataclass(frozen=True, slots=True)
class Report:
    """All job tables asked for, in the order of the configuration. `untouched`: leaves that nothing is set on."""

    tables: tuple[Reverted, ...]
    untouched: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def parameters(self) -> int:
        """How many parameters were put back, or would be."""
        return sum(one.parameters for one in self.tables)

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after telling what was done."""
        return united(error for one in self.tables if (error := one.failure()) is not None)

    def as_json(self) -> dict[str, Any]:
        """The document."""
        mark = {"dry_run": True} if self.dry_run else {}
        return {"job_tables": [one.as_json() | mark for one in self.tables]}


def revert_tables(loaded: LoadedConfig, names: Sequence[str], only: Only, *, dry_run: bool) -> Report:
    """Put back, or plan to, for each named job table (all if none).

    What goes wrong with one table is in the report. Raises UsageError where there is no job table, NotInstalled,
    DatabaseUnreachable.
    """
    done, known = [], set()
    limits = COMMAND_LIMITS if dry_run else WRITE_LIMITS
    with session(loaded, "put storage parameters back", changes=not dry_run, limits=limits) as connection:
        for name, found in bind_tables(connection, loaded, names).found.items():
            if isinstance(found, PgqOpsError):
                done.append(Reverted(name, error=found))
                continue
            there = planned_revert(connection, found.table, only.parameters)
            again = _sets_again(loaded.config, name)
            known |= {name for one in there for name in _names(one)}
            leaves = [one for one in there if not only.leaves or only.leaves & _names(one)]
            if not dry_run and leaves:
                oids = [one.relation.oid for one in leaves]
                one = _reverted(connection, found.table, only, oids, loaded.config.database.owner_role)
            else:
                one = Reverted(name, str(found.table), tuple(leaves))
            done.append(replace(one, set_again=again and bool(one.parameters)))
    return Report(tuple(done), tuple(sorted(only.leaves - known)), dry_run)


def _sets_again(config: Config, name: str) -> bool:
    """Whether an agent with this configuration is to set parameters."""
    table = config.job_tables[name]
    asked_for = config.agent.mode == "manage" and "autovacuum" in table.requested_tasks
    return asked_for and table.autovacuum is not None and table.autovacuum.mode == "apply"


def _names(leaf: LeafOutcome) -> frozenset[str]:
    return frozenset((str(leaf.relation), leaf.relation.name))


def _reverted(
    connection: Connection, table: JobTable, only: Only, oids: Sequence[int], owner_role: str | None
) -> Reverted:
    try:
        with driver_errors(f"put back the storage parameters of {table.name}"):
            outcomes = revert(connection, table, lambda: True, only.parameters, oids, owner_role=owner_role)
    except DatabaseUnreachable:
        raise
    except PgqOpsError as error:
        failed = ActionFailed(str(error)) if isinstance(error, DatabaseFailed) else error
        return Reverted(table.name, str(table), error=failed)
    return Reverted(table.name, str(table), outcomes)
