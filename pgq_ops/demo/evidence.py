"""What the job table and the record say about a finished run, read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops.demo.statements import statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Jobs noted when enqueued, and of these the done, dead, open and missing ones; rows that nobody enqueued."""

    enqueued: int
    done: int
    dead: int
    open: int
    missing: int
    strange: int


@dataclass(frozen=True, slots=True)
class Stranding:
    """A claim that its worker did not complete.

    `cause` is "killed", "hung", "poisoned", or None where the worker lives. `taken_back` is "requeued",
    "buried" or None; `seconds` runs from the end of the lease until then. `tried_late`: the worker
    tried to complete the job after all, and was refused.
    """

    job: int
    version: int
    worker: str
    cause: str | None
    taken_back: str | None
    seconds: float | None
    tried_late: bool


@dataclass(frozen=True, slots=True)
class Burial:
    """A dead job, or a poison one, which must be dead; `claims` is counted in the record."""

    job: int
    poison: bool
    status: str
    attempts: int
    claims: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """All of it. `double_completions` are pairs of job and what is wrong with it."""

    outcomes: Outcomes
    double_completions: tuple[tuple[int, str], ...]
    strandings: tuple[Stranding, ...]
    burials: tuple[Burial, ...]
    events: Mapping[str, int]


def gather(connection: psycopg.Connection[Any]) -> Evidence:
    """Read everything in one snapshot."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        [outcomes] = connection.execute(statement("count_outcomes"), {}).fetchall()
        return Evidence(
            outcomes=Outcomes(*outcomes),
            double_completions=tuple(connection.execute(statement("list_double_completions"), {}).fetchall()),
            strandings=tuple(Stranding(*row) for row in connection.execute(statement("list_strandings"), {})),
            burials=tuple(Burial(*row) for row in connection.execute(statement("list_burials"), {})),
            events=dict(connection.execute(statement("count_events"), {}).fetchall()),
        )
