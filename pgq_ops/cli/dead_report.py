"""The dead letters of the job tables asked for: the latest of them, and their numbers."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.cli.dead_numbers import numbers_as_json, rounded
from pgq_ops.cli.dead_tables import each_table
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.db.connection import row_security
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.stats import dead_letters, dead_overview, index_support

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.dead_letters import DeadLetter
    from pgq_ops.stats.dead_overview import DeadOverview


@dataclass(frozen=True, slots=True)
class Listed:
    """One job table: the latest dead letters that are meant, and the numbers of all that are meant."""

    table: JobTable
    letters: tuple[DeadLetter, ...]
    overview: DeadOverview


@dataclass(frozen=True, slots=True)
class Report:
    """All job tables asked for, in the order of the configuration: each as it was read, or what is wrong with it."""

    tables: tuple[tuple[str, Listed | PgqOpsError], ...]

    def failure(self) -> PgqOpsError | None:
        """What the command ends with after showing what there is."""
        return united(found for _, found in self.tables if not isinstance(found, Listed))

    def as_json(self) -> dict[str, Any]:
        """Plain values; null is what is not known."""
        return {"job_tables": [_as_json(name, found) for name, found in self.tables]}


def list_tables(loaded: LoadedConfig, names: Sequence[str], wanted: DeadFilter, limit: int) -> Report:
    """Read the dead letters of the named job tables (all if none), at most `limit` one by one of each.

    Raises UsageError where there is no job table, DatabaseUnreachable, NotPermitted.
    """
    listed: dict[str, Listed] = {}
    with session(loaded, "read the dead letters") as connection:

        def read(table: JobTable) -> None:
            with row_security(connection, allowed=table.all_visible_policies):
                support = index_support.read(connection, table)
            letters = [
                dead_letters.read(
                    connection, place, wanted, limit=limit, through_indexes=dead_overview.leads_there(support, place)
                )
                for place in dead_places(table)
            ]
            overview = dead_overview.read(connection, table, support, wanted, most=dead_letters.MOST_SEEN)
            latest = tuple(heapq.merge(*letters, key=_by_age))[:limit]
            listed[table.name] = Listed(table, latest, overview)

        ended = each_table(connection, loaded, names, read)
    return Report(tuple((name, error or listed[name]) for name, error in ended.items()))


def _by_age(letter: DeadLetter) -> float:
    return float("inf") if letter.age_seconds is None else letter.age_seconds


def _as_json(name: str, found: Listed | PgqOpsError) -> dict[str, Any]:
    if not isinstance(found, Listed):
        return {"name": name, "error": str(found)}
    letters = [asdict(letter) | {"age_seconds": rounded(letter.age_seconds)} for letter in found.letters]
    return {
        "name": name,
        "table": str(found.table),
        **numbers_as_json(found.overview),
        "dead_letters": letters,
        "error": None,
    }
