"""Binds the dead-letter table: what is copied there, by name, and whether it can hold all of a job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.binding import cascades, catalog
from pgq_ops.binding.access import policies_allow, quoted
from pgq_ops.binding.relation import find
from pgq_ops.errors import ConfigError, Problem
from pgq_ops.job_table.columns import NUMBER_TYPES
from pgq_ops.job_table.quoting import type_name
from pgq_ops.job_table.table import DeadLetterTable, Relation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.binding.catalog import CatalogColumn
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.columns import MappedColumn
    from pgq_ops.job_table.table import JobTable

_PERSISTENCE = {"u": "unlogged: a crash empties it", "t": "temporary"}
_TEXTS = frozenset({"text", "character varying", "character"})


def bind(
    connection: Connection, key: str, text: str, job_table: JobTable, job_columns: Mapping[str, CatalogColumn]
) -> DeadLetterTable:
    """The dead-letter table named `text`; raises ConfigError where it could lose a job or a part of one."""
    jobs = job_table.relation

    def create(schema: str, name: str) -> str:
        # A job may die twice, and the same key with it; and an identity would refuse the job's own id.
        how = "INCLUDING ALL EXCLUDING IDENTITY EXCLUDING INDEXES"
        return f"CREATE TABLE {quoted(schema, name)} (LIKE {quoted(jobs.schema, jobs.name)} {how});"

    found = find(connection, key, text, create)
    if found.persistence in _PERSISTENCE:
        raise ConfigError((Problem(key, f"{text!r} is {_PERSISTENCE[found.persistence]}", "use an ordinary table"),))
    if found.oid == jobs.oid:
        raise ConfigError(
            (Problem(key, f"{text!r} is the job table itself", "leave the key out to keep dead jobs there"),)
        )
    targets = catalog.columns(connection, found.oid)
    relation = Relation(found.oid, found.schema, found.name)
    problems = [*_missing(key, relation, job_columns, targets), *_required(key, relation, job_columns, targets)]
    shared = [name for name in job_columns if name in targets and not targets[name].generated]
    problems += _unfitting(connection, key, relation, [(job_columns[name], targets[name]) for name in shared])
    if problems:
        raise ConfigError(tuple(problems))
    return DeadLetterTable(
        relation=relation,
        columns=tuple(shared),
        job_columns=frozenset(job_columns),
        partitioned=found.kind == "p",
        key=catalog.primary_key(connection, found.oid),
        fields={field: _as_stored(mapped, targets) for field, mapped in job_table.fields.items()},
        cascades=cascades.read(connection, jobs),
        all_visible_policies=found.row_security_active and policies_allow(connection, found.oid, "r"),
    )


def notes(key: str, letters: DeadLetterTable) -> list[str]:
    """What was allowed to happen to other tables, said each time the table is bound."""
    changed = "; ".join(map(str, letters.cascades))
    return [f"{key}.reaper.dead_letter_cascade: with a job that is moved away {changed}"] if changed else []


def _as_stored(mapped: MappedColumn, targets: Mapping[str, CatalogColumn]) -> MappedColumn:
    """A field of the job table as the dead-letter table has it, where a wider type may hold it.

    Whole numbers and texts of any width are compared alike; anything else is read back as what it was.
    """
    target = None if mapped.name is None else targets[mapped.name]
    if target is None or target.base_type == mapped.base_type:
        return mapped
    if {mapped.base_type, target.base_type} <= NUMBER_TYPES or {mapped.base_type, target.base_type} <= _TEXTS:
        return replace(mapped, base_type=target.base_type, type_name=target.type_name, length=target.length)
    value = composing.SQL("{}::{}").format(mapped.value, type_name(mapped.base_type))
    return replace(mapped, value=value, type_name=target.type_name)


def _alter(relation: Relation, change: str) -> str:
    return f"ALTER TABLE {quoted(relation.schema, relation.name)} {change};"


def _missing(
    key: str, relation: Relation, sources: Mapping[str, CatalogColumn], targets: Mapping[str, CatalogColumn]
) -> list[Problem]:
    """Columns of a job that the dead-letter table has no place for."""
    problems = []
    for name, source in sources.items():
        target = targets.get(name)
        if target is None:
            hint = _alter(relation, f"ADD COLUMN {quoted(name)} {source.type_name}")
            problems.append(Problem(key, f"{relation} has no column {name!r} to hold that of the job", hint))
        elif target.generated and not source.generated:
            what = f"column {name!r} of {relation} is generated and cannot hold that of the job"
            problems.append(Problem(key, what, _alter(relation, f"ALTER COLUMN {quoted(name)} DROP EXPRESSION")))
    return problems


def _required(
    key: str, relation: Relation, sources: Mapping[str, CatalogColumn], targets: Mapping[str, CatalogColumn]
) -> list[Problem]:
    """Columns of the dead-letter table that must have a value and that no job has."""
    return [
        Problem(
            key,
            f"column {name!r} of {relation} is NOT NULL without a default, and a job has no such column",
            _alter(relation, f"ALTER COLUMN {quoted(name)} DROP NOT NULL"),
        )
        for name, target in targets.items()
        if name not in sources and target.not_null and not target.has_default
    ]


def _unfitting(
    connection: Connection, key: str, relation: Relation, pairs: list[tuple[CatalogColumn, CatalogColumn]]
) -> list[Problem]:
    """Columns whose type there cannot take the job's."""
    types = {"sources": [source.base_type for source, _ in pairs], "targets": [target.base_type for _, target in pairs]}
    lossless = [row[0] for row in connection.execute(sql.statement("catalog/lossless_casts"), types).fetchall()]
    problems = []
    for (source, target), fits in zip(pairs, lossless, strict=True):
        narrower = target.length is not None and (source.length is None or source.length > target.length)
        # numeric(10, 2), timestamp(0): whatever is beyond is rounded without an error.
        rounding = "(" in target.type_name and target.length is None and target.type_name != source.type_name
        if not fits or narrower or rounding:
            what = f"column {target.name!r} of {relation} is {target.type_name}, too narrow for {source.type_name}"
            hint = _alter(relation, f"ALTER COLUMN {quoted(target.name)} TYPE {source.type_name}")
            problems.append(Problem(key, what, hint))
    return problems
