"""Examines job tables for the command: the ordinary look, the checklist's points, and what the tasks would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.checks import visibility
from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import claim_index, missing_privileges
from pgq_ops.checks.production.examination import Examination
from pgq_ops.checks.production.judging import POINT_LIMITS, Judged, judge_in_time
from pgq_ops.checks.production.registry import POINTS, READING
from pgq_ops.checks.production.verdict import Outcome
from pgq_ops.cli.doctor_plans import Planned, plans
from pgq_ops.cli.inspection.inspector import Inspector
from pgq_ops.cli.inspection.section import NO_TIME, TOO_LONG
from pgq_ops.cli.job_tables import with_found_tables
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.db.connection import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.checks.finding import Finding
    from pgq_ops.cli.inspection.view import Round, TableView
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.errors import PgqOpsError

# All is to be done within two seconds (the promise of --help), also where no index makes any look cheap: then half
# a dozen looks take all of their time.
_LOOK_LIMITS = Limits(statement_ms=150, lock_ms=50)
_LOOK_SECONDS = 0.9
_POINTS_SECONDS = 0.8
_WORST_FIRST = tuple(Severity)


@dataclass(frozen=True, slots=True)
class Examined:
    """One job table; without points where it could not be bound, and `view.error` says why."""

    view: TableView
    judged: tuple[Judged, ...] = ()
    planned: tuple[Planned, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, the worst first: by the look, and by the points."""
        of_points = [one.verdict.finding for one in self.judged if one.verdict.finding is not None]
        told = {finding.id for finding in of_points}
        if claim_index.ID in told:
            told.add(claim_index.COVERS)
        found = [*(finding for finding in self.view.findings if finding.id not in told), *of_points]
        if missing_privileges.ID in told:
            found = [finding for finding in found if not visibility.is_of_the_role(finding)]
        return tuple(sorted(found, key=lambda finding: _WORST_FIRST.index(finding.severity)))

    @property
    def out_of_time(self) -> bool:
        """Whether points could not be checked, or parts of the look not be read, for lack of time."""
        cut = {NO_TIME, TOO_LONG} & set(self.view.not_read.values())
        return bool(cut) or not all(one.verdict.in_time for one in self.judged)

    def with_outcome(self, outcome: Outcome) -> list[Judged]:
        """The points that came to this."""
        return [one for one in self.judged if one.verdict.outcome is outcome]

    def as_json(self) -> dict[str, Any]:
        """The table as `--json` shows it."""
        return {
            "name": self.view.name,
            "table": self.view.table,
            "findings": None if self.view.error else [finding.as_json() for finding in self.findings],
            "checks": [
                {
                    "id": one.id,
                    "title": one.title,
                    "outcome": str(one.verdict.outcome),
                    "text": one.verdict.text,
                    "remedy": one.verdict.remedy if one.verdict.finding is None else one.verdict.finding.remedy,
                    "finding": None if one.verdict.finding is None else one.verdict.finding.as_json(),
                }
                for one in self.judged
            ],
            "would_do": {one.task: one.as_json() for one in self.planned},
            "not_read": dict(self.view.not_read),
            "error": None if self.view.error is None else str(self.view.error),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """All job tables asked for, in the order of the configuration. `seen`: the round of looks that came first."""

    seen: Round
    tables: tuple[Examined, ...]

    def counted(self, severity: str) -> int:
        """How many findings are of this severity."""
        return sum(finding.severity == severity for one in self.tables for finding in one.findings)

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after showing what there is: as `inspect` does, but for what took too long."""
        if any(one.judged and one.out_of_time for one in self.tables):
            return united(one.view.error for one in self.tables if one.view.error is not None)
        return self.seen.failure()

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return {"job_tables": [one.as_json() for one in self.tables]}


def examine(loaded: LoadedConfig, names: Sequence[str]) -> Report:
    """Examine the named job tables (all if none). Raises DatabaseUnreachable, NotPermitted, UsageError."""
    with Inspector(loaded, names, limits=_LOOK_LIMITS, seconds=_LOOK_SECONDS) as inspector:
        seen = inspector.look()
    with session(loaded, "examine the job tables", limits=POINT_LIMITS) as connection:
        config = with_found_tables(connection, loaded).config
        return Report(seen, tuple(_examined(connection, config, view) for view in seen.tables))


def _examined(connection: Connection, config: Config, view: TableView) -> Examined:
    if view.look is None or not view.bound:
        return Examined(view)
    examination = Examination(connection, view.look.table, config, view.look, view.not_read)
    judged = judge_in_time(examination, POINTS, READING, _POINTS_SECONDS)
    return Examined(view, judged, plans(connection, view.look.table, config))
