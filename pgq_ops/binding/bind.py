"""Binds one job table of the config to the catalog: everything is checked before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.binding import access, catalog, dead_letters
from pgq_ops.binding.fields import FieldMapper, suggest
from pgq_ops.binding.naive_times import naive_time_notes
from pgq_ops.binding.reaping import moving_problems, reaping_problems
from pgq_ops.binding.relation import find
from pgq_ops.binding.states import StateMapper
from pgq_ops.db.connection import row_security
from pgq_ops.errors import ConfigError, Problem
from pgq_ops.job_table.changes import written_columns
from pgq_ops.job_table.columns import Clock
from pgq_ops.job_table.table import JobTable, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.binding.catalog import CatalogColumn, CatalogRelation
    from pgq_ops.config.job_table import JobTableConfig
    from pgq_ops.config.model import Database
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import KeyColumn


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound job table and what was noticed on the way, one sentence each.

    `refused` is what keeps it from being reaped though a reaper is asked for; all else can be done with it.
    """

    table: JobTable
    notes: tuple[str, ...]
    refused: tuple[Problem, ...] = ()


def bind(
    connection: Connection,
    name: str,
    config: JobTableConfig,
    database: Database,
    preset_columns: frozenset[str] = frozenset(),
) -> Bound:
    """Bind the job table `name` to the catalog.

    `preset_columns` are the fields of `columns` that come from a preset: those that the table lacks are
    left out with a note. Raises ConfigError with every problem found, NotPermitted with the GRANT.
    """
    key = f"job_tables.{name}"
    found = find(connection, f"{key}.table", config.table)
    columns = catalog.columns(connection, found.oid)
    primary = catalog.primary_key(connection, found.oid)
    mapped = config.columns.mapped()
    named = [column.name for field, column in mapped.items() if column.name is not None and field != "payload"]
    access.require_readable(connection, found, columns, [*named, *(part.name for part in primary)])
    all_visible = access.sees_every_row(connection, found)
    with row_security(connection, allowed=all_visible):
        bound = _bind(connection, name, config, Found(found, columns, primary, preset_columns, database.timezone))
    notes = (*bound.notes, *naive_time_notes(connection, bound.table, database))
    return Bound(replace(bound.table, all_visible_policies=all_visible), notes, bound.refused)


@dataclass(frozen=True, slots=True)
class Found:
    """What the catalog says of the table, and what the binding of its parts needs beside the config."""

    relation: CatalogRelation
    columns: Mapping[str, CatalogColumn]
    primary_key: tuple[KeyColumn, ...]
    preset_columns: frozenset[str]
    timezone: str


def _bind(connection: Connection, name: str, config: JobTableConfig, catalogued: Found) -> Bound:
    key = f"job_tables.{name}"
    found, columns = catalogued.relation, catalogued.columns
    relation = Relation(found.oid, found.schema, found.name)
    problems: list[Problem] = []
    notes: list[str] = []
    optional = catalogued.preset_columns - _needed(config, columns)
    mapper = FieldMapper(connection, relation, columns, key, problems, notes)
    fields = mapper.map(config.columns.mapped(), optional)
    rules = StateMapper(connection, relation, columns, key, problems).map(
        config.states, fields.get("state"), state_wanted=config.columns.state is not None
    )
    problems += _unknown_order(key, config, columns, relation)
    if problems:
        raise ConfigError(tuple(problems))

    table = JobTable(
        name=name,
        relation=relation,
        partitioned=found.kind == "p",
        key=catalogued.primary_key,
        fields=fields,
        states=rules,
        policies=config.policies(),
        clock=Clock(catalogued.timezone),
        claim_order=tuple((term.column, term.descending) for term in config.claim_order() if term.column in columns),
    )
    wants_reaper = "reaper" in config.requested_tasks
    if config.reaper.dead_letter_table is not None:
        place = f"{key}.reaper.dead_letter_table"
        letters = dead_letters.bind(connection, place, config.reaper.dead_letter_table, table, columns)
        table = replace(table, dead_letters=letters)
    unmapped, refused = reaping_problems(table), moving_problems(table)
    if unmapped and wants_reaper:
        raise ConfigError((*unmapped, *refused))
    if not unmapped:
        table = replace(table, moves_rows=_moves_rows(connection, table))
    if unmapped or refused:
        notes += [f"cannot be reaped: {problem}" for problem in (*unmapped, *refused)]
    elif table.dead_letters is not None:
        notes += dead_letters.notes(key, table.dead_letters)
    return Bound(table, tuple(notes), tuple(refused) if wants_reaper else ())


def _needed(config: JobTableConfig, columns: Mapping[str, CatalogColumn]) -> frozenset[str]:
    """The fields that cannot be left out: the state, and a lease where no other lease column is there."""
    leases = ("lease_expires_at", "heartbeat_at", "leased_at")
    mapped = config.columns.mapped()
    wanted = [field for field in leases if field in mapped]
    present = any(mapped[field].sql is not None or mapped[field].name in columns for field in wanted)
    return frozenset({"state"} if present else {"state", *wanted})


def _unknown_order(
    key: str, config: JobTableConfig, columns: Mapping[str, CatalogColumn], relation: Relation
) -> list[Problem]:
    """Terms of `claim.order` that are no columns; the default order names only mapped ones, checked before."""
    return [
        Problem(f"{key}.claim.order", f"{relation} has no column {term.column!r}", suggest(term.column, columns))
        for term in config.claim.order
        if term.column not in columns
    ]


def _moves_rows(connection: Connection, table: JobTable) -> bool:
    """Whether reaping writes a column of a partition key (or a key holds an expression, which may read one)."""
    if not table.partitioned:
        return False
    rows = connection.execute(sql.statement("catalog/partition_key"), {"oid": table.relation.oid}).fetchall()
    keys = {column for *_, column in rows}
    return None in keys or bool(keys & set(written_columns(table)))
