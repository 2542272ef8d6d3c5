"""Purges dead letters: exports them to a file and deletes them, exactly those that are on disk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pgq_ops import logs
from pgq_ops.binding.dead_access import require_purgeable
from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.tasks import dead_cascades
from pgq_ops.tasks.dead_export_file import ExportFile
from pgq_ops.tasks.dead_pass import DeadPass
from pgq_ops.tasks.dead_purge_statement import PurgeStatement
from pgq_ops.tasks.dead_tally import DeadCounts, DeadTally

if TYPE_CHECKING:
    from pathlib import Path

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.dead_statement import Take
    from pgq_ops.tasks.task import Guard, Outcome

log = logs.get("dead")


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """`exported` rows are in the file `export` (None: nothing is exported).

    `cascades`: the foreign keys through which other tables change. `age_since`: the field that ages were counted from,
    None where no age was asked for.
    """

    counts: DeadCounts
    export: str | None
    exported: int
    cascades: tuple[Cascade, ...] = ()
    age_since: str | None = None
    dry_run: bool = False

    @property
    def outcome(self) -> Outcome:
        """`ok` if a dead letter was deleted; `busy` if only locks stood in the way."""
        return self.counts.outcome

    @property
    def message(self) -> str:
        """How many dead letters the database refused to have deleted, and why the first of them."""
        return self.counts.message

    def as_done(self) -> PurgeResult:
        """A plan with nothing in it as a run that found nothing."""
        return replace(self, counts=self.counts.as_done(), dry_run=False)

    def as_json(self) -> dict[str, Any]:
        """The run as `dead purge --json` shows it."""
        document = self.counts.as_json("purged") | {
            "export": self.export,
            "exported": self.exported,
            "cascades": list(map(str, self.cascades)),
            "age_since": self.age_since,
        }
        return document | ({"dry_run": True} if self.dry_run else {})


@dataclass(slots=True)
class DeadPurge:
    """The purge of what a filter means.

    An age is that of the death alone: a job whose `finished_at` is not known has none, and where that is not mapped
    none can be asked for. `export`: the file for each job table's dead letters by its name in the config; None to
    export nothing. `cascade`: rows of other tables may be deleted or changed through foreign keys.
    """

    wanted: DeadFilter = field(default_factory=DeadFilter)
    limit: int | None = None
    export: dict[str, Path] | None = None
    cascade: bool = False
    done: dict[str, PurgeResult] = field(default_factory=dict)
    """What the last run on each job table did, also where it was cut short by an error."""

    @property
    def doing(self) -> str:
        """What is done, as a message says it."""
        return "purge the dead letters"

    def nothing(self, *, busy: tuple[str, ...] = ()) -> PurgeResult:
        """A result with nothing in it, or with tables that were locked."""
        return PurgeResult(DeadCounts(busy=busy), None, 0)

    def plan(self, connection: Connection, table: JobTable) -> PurgeResult:
        """How many dead letters would go, and where to; reads only. Raises as `run` does otherwise."""
        tally = DeadTally(self.wanted.ids)
        going = DeadPass(connection, self._meant(), tally, self.limit)
        for place in dead_places(table):
            going.plan(place)
        cascades = _cascades(connection, table)
        dead_cascades.require_possible(cascades)
        file = self._file(table)
        if file is not None:
            file.require_new()
        path = None if file is None else str(file.path)
        return PurgeResult(
            counts=tally.counts(planned=True),
            export=path,
            exported=tally.jobs if path else 0,
            cascades=cascades,
            age_since=self._age_since(),
            dry_run=True,
        )

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> PurgeResult:
        """Purge all that is meant, as far as it can be.

        Raises ConfigError for a filter on what is not mapped, UsageError where other tables would change unasked or the
        file is there already, NotPermitted with the GRANT, ActionFailed where the file could not be written, and the
        driver's errors.
        """
        tally, file = DeadTally(self.wanted.ids), self._file(table)
        going = DeadPass(connection, self._meant(), tally, self.limit)
        places, cascades = dead_places(table), _cascades(connection, table)
        dead_cascades.require_allowed(cascades, allowed=self.cascade)
        require_purgeable(connection, places, exporting=file is not None)
        if file is not None:
            file.require_new()

        def statement(take: Take) -> PurgeStatement:
            return PurgeStatement(take, file, cascades)

        try:
            for place in places:
                going.run(place, statement, written=(), deleting=True, guard=guard)
        finally:
            if file is not None:
                file.close()
            path, rows = (str(file.path), file.rows) if file is not None and file.rows else (None, 0)
            result = PurgeResult(tally.counts(), path, rows, cascades, self._age_since())
            self.done[table.name] = result
            if tally.jobs:
                log.info("dead.purged", job_table=table.name, purged=tally.jobs, export=path or "")
        return result

    def _meant(self) -> DeadFilter:
        """A guess is not good enough for what cannot be taken back."""
        return replace(self.wanted, deaths_alone=True)

    def _age_since(self) -> str | None:
        return "finished_at" if self.wanted.by_age else None

    def _file(self, table: JobTable) -> ExportFile | None:
        return None if self.export is None else ExportFile(self.export[table.name])


def _cascades(connection: Connection, table: JobTable) -> tuple[Cascade, ...]:
    return dead_cascades.read(connection, *(place.relation for place in dead_places(table)))
