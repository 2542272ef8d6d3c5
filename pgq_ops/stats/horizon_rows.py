"""Which of those that can hold back the horizon do so for this database's ordinary tables.

As ComputeXidHorizons has it (procarray.c), as far as others can see: of the sessions those of this database, but for
lazy VACUUMs (PROC_IN_VACUUM) and walsenders that decode (PROC_IN_LOGICAL_DECODING); a walsender that streams to a
standby, for all databases; prepared transactions of this database; slots, for all databases, by their xmin. ANALYZE,
VACUUM FULL and CREATE INDEX CONCURRENTLY hold as any statement does (14.0 to 14.3 left out the latter, which corrupted
indexes). Who writes in another database holds nothing; but a snapshot is as old as the oldest transaction of any
database that it has to see as running (GetSnapshotData), so through a snapshot that is taken here it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A walsender that does not stream yet is a session like others: it may copy a table, or keep an exported snapshot.
_NOT_STREAMING = "startup"
# Under track_activities = off.
_HIDDEN = "disabled"
_SLOTS = frozenset({"physical", "logical"})


class Row(NamedTuple):
    """A row of sql/stats/horizon.sql.

    `what`: a `session`, a `prepared` transaction, a slot (`physical` or `logical`), or by its mere pid a `sender` of
    WAL or a `vacuum`; `recovery` says that this server is a standby.
    """

    what: str
    pid: int | None
    name: str | None
    user: str | None
    state: str | None
    backend_type: str | None
    began: str | None
    xid_age: int | None
    own_age: int | None
    catalog_age: int | None
    database: str | None
    superuser: bool | None
    visible: bool | None


class Rows:
    """The rows of one look, sorted."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self.ours = next(row for row in rows if row.visible is not None)
        """The session that looked. Its transaction began now."""
        self.catalog_ages = [row.catalog_age for row in rows if row.catalog_age is not None]
        self.standby = any(row.what == "recovery" for row in rows)
        self.hidden = sum(self._is_hidden(row) for row in rows)
        """How many clients' sessions here do not tell what they do."""
        self._vacuuming = {row.pid for row in rows if row.what == "vacuum"}
        self._senders = {row.pid: row.state for row in rows if row.what == "sender"}
        self._decoding = {row.pid for row in rows if row.what == "logical"}

    def holding(self) -> Iterator[tuple[str, Row, int]]:
        """Kind, row and age in transactions of those that hold; what is no session gets a state too."""
        holding = [(kind, row) for row in self._rows if row is not self.ours and (kind := self._kind(row))]
        seen = {row.xid_age for _, row in holding if row.own_age != row.xid_age}
        elsewhere = [(kind, row) for kind, row in self._writing_elsewhere() if row.own_age in seen]
        for kind, row in [*holding, *elsewhere]:
            if kind and row.xid_age is not None:
                yield kind, row._replace(state=self._state(kind, row)), max(0, row.xid_age)

    def elsewhere(self) -> Iterator[tuple[str, Row, int]]:
        """As `holding`, of all who write in other databases: those that a snapshot here has to see hold just now."""
        for kind, row in self._writing_elsewhere():
            yield kind, row._replace(state=self._state(kind, row)), max(0, row.own_age or 0)

    def _writing_elsewhere(self) -> Iterator[tuple[str, Row]]:
        """Each as old as what it writes: its own snapshot holds nothing here."""
        for row in self._rows:
            if kind := self._kind_elsewhere(row):
                yield kind, row._replace(xid_age=row.own_age)

    def _is_hidden(self, row: Row) -> bool:
        client = row.backend_type == "client backend" and row.database == self.ours.database
        return row.state == _HIDDEN and client and row is not self.ours

    def _state(self, kind: str, row: Row) -> str | None:
        if kind == "slot":
            return "inactive" if row.pid is None else "active"
        if kind == "standby":
            return self._senders[row.pid]
        return "prepared" if kind == "prepared" else row.state

    def _kind(self, row: Row) -> str:
        """What kind of holder it is; empty for none."""
        if row.xid_age is None or self.standby:
            return ""
        if row.what in _SLOTS:
            return "slot"
        if row.what == "session" and row.pid in self._senders:
            return self._kind_of_sender(row)
        if row.pid in self._vacuuming or row.database != self.ours.database:
            return ""
        return "prepared" if row.what == "prepared" else "backend"

    def _kind_elsewhere(self, row: Row) -> str:
        """As `_kind`, of one who writes in another database."""
        if row.own_age is None or row.database == self.ours.database or row.pid in self._vacuuming:
            return ""
        return "prepared" if row.what == "prepared" else "backend"

    def _kind_of_sender(self, row: Row) -> str:
        """As `_kind`; one whose state is not visible (None) streams, for most do."""
        if self._senders[row.pid] != _NOT_STREAMING:
            return "" if row.pid in self._decoding else "standby"
        return "backend" if row.database == self.ours.database else ""
