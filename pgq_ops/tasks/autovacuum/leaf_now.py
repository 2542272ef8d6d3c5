"""A leaf as the catalog has it now: what kind of table it is, its storage parameters in their order, whose it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.table import Relation
from pgq_ops.tasks.autovacuum.settable import TOAST

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pgq_ops.db.connection import Connection

_KINDS = {"f": "it is a foreign table, whose server vacuums it", "p": "it is partitioned: its leaves have parameters"}


@dataclass(frozen=True, slots=True)
class LeafNow:
    """One table. `own` and `toasted`: its parameters and its TOAST table's, by name, in PostgreSQL's order.

    `toast`: oid of the TOAST table, None without one. `role`: who looks, `may_change`: whether that one has the owner's
    rights.
    """

    relation: Relation
    kind: str = "r"
    persistence: str = "p"
    toast: int | None = None
    own: Mapping[str, str] | None = None
    toasted: Mapping[str, str] | None = None
    owner: str = ""
    owner_is_superuser: bool = False
    role: str = ""
    may_change: bool = True

    def value(self, parameter: str) -> str | None:
        """A parameter's value, `toast.` before the TOAST table's; None where it is not set."""
        return self.parameters(parameter).get(parameter.removeprefix(TOAST))

    def parameters(self, parameter: str) -> Mapping[str, str]:
        """All parameters, without `toast.`, of the one of both tables that the parameter belongs to."""
        return (self.toasted if parameter.startswith(TOAST) else self.own) or {}

    def has_place_for(self, parameter: str) -> bool:
        """Whether there is a table that has the parameter: PostgreSQL takes `toast.` without one, and forgets it."""
        return self.toast is not None or not parameter.startswith(TOAST)

    @property
    def unfit(self) -> str:
        """Why pgq-ops changes no parameters of such a table; empty where it does."""
        if self.persistence == "t":
            return "it is a temporary table, to which autovacuum never comes"
        return _KINDS.get(self.kind, "" if self.kind == "r" else "it is no table")


def read(connection: Connection, oids: Collection[int]) -> tuple[LeafNow, ...]:
    """The tables that are there of these, by schema and name; waits for no lock. Raises psycopg.Error."""
    rows = connection.execute(sql.statement("storage/leaves_now"), {"oids": list(oids)}).fetchall()
    found = []
    for oid, schema, name, kind, persistence, toast, own, toasted, *rights in rows:
        options = _parsed(own), _parsed(toasted)
        found.append(LeafNow(Relation(oid, schema, name), kind, persistence, toast, *options, *rights))
    return tuple(found)


def _parsed(options: Sequence[str] | None) -> dict[str, str]:
    return {name: value for name, _, value in (option.partition("=") for option in options or ())}
