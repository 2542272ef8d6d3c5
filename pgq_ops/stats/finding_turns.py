"""What findings of the past said, and from when on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgq_ops import sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgq_ops.db.connection import Connection

# Of a thousand findings most have two or three.
MOST_TURNS = 10_000


@dataclass(frozen=True, slots=True)
class Turn:
    """What a finding says from a moment on (epoch seconds, database clock)."""

    at: float
    severity: str
    summary: str
    evidence: Mapping[str, Any]
    remedy: str


def read(connection: Connection, rows: Sequence[int]) -> dict[int, tuple[Turn, ...]]:
    """The turns of the findings in these rows, the earliest first; raises the driver's errors.

    Of very many turns the earliest are left out.
    """
    parameters = {"ids": list(rows), "most": MOST_TURNS}
    found: dict[int, list[Turn]] = defaultdict(list)
    for row, *turn in connection.execute(sql.statement("log/finding_turns"), parameters).fetchall():
        found[row].insert(0, Turn(*turn))
    return {row: tuple(turns) for row, turns in found.items()}
