"""The workers' own claims, as pg_stat_statements counts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.stats import claim_source, foreign_texts, table_statements
from pgq_ops.stats.claim_tally import ClaimTally, Counted
from pgq_ops.stats.claim_text import claims_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.claim_source import ClaimSource
    from pgq_ops.stats.claim_tally import Key

# Statements with SKIP LOCKED in one database that are looked through: a few by design, hundreds where texts vary.
_MOST_LOOKED_AT = 1_000
_MOST_TEXTS = 10


@dataclass(frozen=True, slots=True)
class ClaimStatements:
    """All statements of others on the job table with SKIP LOCKED, summed since their counters began.

    `rows`: jobs that they returned, so that calls that found nothing can be told. `queries` are their texts, without
    constants, the most called first. `why_not` says why nothing is known, with what to do about it; empty if it is.
    """

    calls: int = 0
    seconds: float = 0.0
    rows: int = 0
    queries: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The statements to count, with their texts, the most called first; or `why_not`."""

    source: ClaimSource
    texts: Mapping[Key, str] = field(default_factory=dict)
    why_not: str = ""


def read(connection: Connection, table: JobTable) -> ClaimStatements:
    """Find and count them. Raises the driver's errors."""
    found = find(connection, table)
    tally = ClaimTally()
    tally.add(count(connection, found))
    return summed(found, tally)


def summed(found: Found, tally: ClaimTally) -> ClaimStatements:
    """What was counted of what was found."""
    queries = tuple(dict.fromkeys(found.texts.values()))[:_MOST_TEXTS]
    return ClaimStatements(tally.calls, tally.seconds, tally.rows, queries, found.why_not)


def find(connection: Connection, table: JobTable) -> Found:
    """Look through the texts, which takes tens of milliseconds where there are thousands: not for each collection.

    From PostgreSQL 18 on the same statement on tables of one name in several schemas is one, and so are their claims.
    """
    source = claim_source.read(connection, table)
    if source.why_not:
        return Found(source, why_not=source.why_not)
    try:
        look = sql.statement("stats/claim_texts", source.parts() | {"is_own_statement": table_statements.is_own()})
        rows = connection.execute(look, {"limit": _MOST_LOOKED_AT}).fetchall()
    except errors.InsufficientPrivilege:
        why_not = f"role {source.role} may not read pg_stat_statements: {source.grant_to_execute()}"
        return Found(source, why_not=why_not)
    except foreign_texts.UNREADABLE:
        return Found(source, why_not=foreign_texts.read(connection, source.schema).in_one_line())
    except errors.QueryCanceled:
        return Found(source, why_not="the texts of pg_stat_statements take longer to read than a look may")
    texts = {
        (user, query): text
        for user, query, text in rows
        if claims_from(text, table.relation, bare_name=source.bare_name)
    }
    return Found(source, texts, "" if texts else _none(source, table))


def count(connection: Connection, found: Found) -> dict[Key, Counted]:
    """The counters as they stand. Takes a microsecond for each statement that the server knows."""
    if not found.texts:
        return {}
    look = sql.statement("stats/claim_counters", found.source.parts())
    parameters = {"queryids": sorted({query for _, query in found.texts})}
    rows = connection.execute(look, parameters).fetchall()
    counters = {
        (user, query): Counted(int(calls), float(seconds), int(jobs), since)
        for user, query, calls, seconds, jobs, since in rows
    }
    return {key: counted for key, counted in counters.items() if key in found.texts}


def _none(source: ClaimSource, table: JobTable) -> str:
    """Why none was found."""
    seen = f"pg_stat_statements shows no statement with SKIP LOCKED on {table}"
    if not source.sees_all:
        return f"{seen} to role {source.role}: {source.grant('pg_read_all_stats')}"
    if source.tracks == "none":
        return f"{seen}: pg_stat_statements.track is none"
    if source.tracks != "all":
        return f"{seen}; claims within functions are counted with pg_stat_statements.track = 'all'"
    return seen
