"""Dead letters for tests: in the job table, in a dead-letter table, or in both, with the places bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.job_table.dead_place import dead_places
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_place import DeadPlace
    from tests.support.database import Database

KINDS = FIELD.replace("[job_tables.jobs.states]", 'kind = "kind"\n[job_tables.jobs.states]')
MOVED = KINDS + 'dead_letter_table = "dead_jobs"\n'
ONLY_MOVED = MOVED.replace('dead = ["dead"]\n', "")


def places(database: Database, toml: str, *, role: str | None = None) -> tuple[Connection, tuple[DeadPlace, ...]]:
    """A read-only session, and the places where the dead letters are."""
    bound = bind_toml(database, toml, role=role, read_only=True)
    return bound.connection, dead_places(bound.table)
