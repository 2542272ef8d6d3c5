"""Looks at all job tables asked for, once or round after round, over one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding.bind import Bound
from pgq_ops.cli.inspection.locked import locked_view
from pgq_ops.cli.inspection.reading import LOOK_LIMITS, TableReader, moment
from pgq_ops.cli.inspection.section import Section
from pgq_ops.cli.inspection.view import Round, TableView
from pgq_ops.cli.inspection.vitals import DatabaseVitals
from pgq_ops.cli.job_tables import bind_each, with_found_tables
from pgq_ops.cli.setting import telling_what_is_not_set
from pgq_ops.config.writing import job_table_section
from pgq_ops.db.connection import COMMAND_LIMITS, PROBE_LIMITS, Purpose, bound
from pgq_ops.db.failures import driver_errors, is_connection_loss
from pgq_ops.db.session import Session
from pgq_ops.errors import PgqOpsError, UsageError
from pgq_ops.leader.pooler import refuse_shared_process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from pgq_ops.checks.look import DatabaseLook
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.answers import AnsweringConnection
    from pgq_ops.db.connection import Connection, Limits


class Inspector:
    """Use it as a context manager. `repeatedly`: each round costs little, so that rounds may follow at short intervals.

    `limits` bound a look's statements, else those of the agent's probes or a little more where it looks but once;
    `seconds` what is begun of a round, for each job table.
    Its session is past any transaction pooler: there our settings, read-only among them, would reach the workers.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        names: Sequence[str],
        *,
        repeatedly: bool = False,
        limits: Limits | None = None,
        seconds: float | None = None,
    ) -> None:
        self._loaded = loaded
        self._given = frozenset(loaded.config.job_tables)
        self._asked = tuple(dict.fromkeys(names))
        self._names: tuple[str, ...] = ()
        self._repeatedly = repeatedly
        self._seconds = seconds
        self._limits = limits or (PROBE_LIMITS if repeatedly else LOOK_LIMITS)
        self._session = Session(
            loaded.config.database,
            Purpose.COMMAND,
            COMMAND_LIMITS,
            read_only=True,
            direct=True,
            check=refuse_shared_process,
        )
        self._connection: Connection | None = None
        self._readers: dict[str, TableReader] = {}
        self._bindings: dict[str, Section[Bound | PgqOpsError]] = {}
        self._database = DatabaseVitals(loaded.config.transactions.warn_after.total_seconds())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def look(self) -> Round:
        """One round. Raises DatabaseUnreachable, NotPermitted, UsageError for a name that is not configured."""
        with telling_what_is_not_set(self._loaded):
            connection = self._session.connection()
        try:
            with driver_errors("read the job tables"):
                if connection is not self._connection:
                    self._begin(connection)
                at = moment(connection)
                database = self._database.read(connection)
                tables = tuple(self._look_at(connection, name, database) for name in self._names)
        except PgqOpsError as error:
            if connection.closed or (error.__cause__ and is_connection_loss(error.__cause__)):
                self._session.discard()
            raise
        info = connection.info
        not_read = {section.name: section.why for section in self._database.sections() if section.why}
        where = f"{info.dbname} on {info.host or 'a local socket'}:{info.port} as {info.user}"
        return Round(where, at, tables, database, not_read)

    def _begin(self, connection: AnsweringConnection) -> None:
        """Bind everything over a new connection, with more time than a look gets."""
        self._connection = connection
        self._readers.clear()
        self._loaded = with_found_tables(connection, self._loaded)
        self._names = self._asked or tuple(self._loaded.config.job_tables)
        if not self._names:
            raise UsageError(self._loaded.no_job_table)
        self._bindings = {name: Section("binding") for name in self._names}
        for name in self._names:
            self._bind(connection, name)
        bound(connection, self._limits)

    def _look_at(self, connection: Connection, name: str, database: DatabaseLook) -> TableView:
        reader = self._readers.get(name)
        if reader is None:
            found = self._bind(connection, name) if self._repeatedly else self._bindings[name].value
            if not isinstance(found, Bound):
                configured = self._loaded.config.job_tables[name].table
                why = self._bindings[name].why
                if self._bindings[name].busy:
                    return locked_view(connection, self._loaded.config, name, database, why)
                return TableView(name, configured, error=found, not_read={"jobs": why} if why else {})
            section = "" if name in self._given else job_table_section(name, self._loaded.config.job_tables[name])
            thorough = not self._repeatedly
            reader = TableReader(found.table, thorough=thorough, section=section, seconds=self._seconds)
            self._readers[name] = reader
        view = reader.read(connection, database)
        if reader.outdated:
            del self._readers[name]
        return view

    def _bind(self, connection: Connection, name: str) -> Bound | PgqOpsError | None:
        """Bind a job table if it is due. Gives what was found last: the table, what is wrong, or None."""
        binding = self._bindings[name]
        binding.look(lambda: next(found for _, found in bind_each(connection, self._loaded, [name])))
        return binding.value
