"""Autovacuum comes before claims get slow, not after a fifth of a long history is dead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.stats import tree_tables
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "autovacuum-threshold"
TITLE = "Autovacuum comes before claims get slow"

# A claim reads 4,240 buffers over 20,000 dead entries and 10,199 over 80,000 (postgres-facts.md, What it costs).
_MOST_DEAD = 50_000
# 851 buffers (there too); an autovacuum run each minute or so is what a busy queue needs.
_ADVISED = 5_000
# The server's default is a minute; a queue of 1,000 jobs a second leaves 600,000 dead rows in five.
_LONGEST_NAPTIME_SECONDS = 300.0


def check(examination: Examination) -> Verdict:
    """A warning. Partitions whose time is over are left out: nothing dies there any more."""
    health = examination.look.health
    if health is None:
        return unknown(f"the table's own autovacuum settings could not be read{examination.why_not('relation')}")
    ended = {one.relation.oid for one in examination.fact(tree_tables.read) if one.past}
    open_leaves = [leaf for leaf in health.leaves if leaf.autovacuum_enabled and leaf.oid not in ended]
    if not open_leaves:
        return not_applicable("autovacuum is off for the table, or all its partitions are over")
    late = [leaf for leaf in open_leaves if leaf.vacuum_threshold > _MOST_DEAD]
    naptime = health.server.naptime_seconds
    highest = max(open_leaves, key=lambda leaf: leaf.vacuum_threshold)
    if late:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"autovacuum comes to {highest.name} only after {highest.vacuum_threshold:,.0f} dead rows, and a claim"
                f" steps over them: at {_MOST_DEAD:,} it reads thousands of pages for one job",
                {"thresholds": {leaf.name: round(leaf.vacuum_threshold) for leaf in late}, "naptime_seconds": naptime},
                "-- in a quiet moment: it waits for a running vacuum, and cancels one that it waits for too long\n"
                "SET lock_timeout = '300ms';\n"
                + "\n".join(
                    f"ALTER TABLE {quoted(leaf.schema, leaf.name)} SET (autovacuum_vacuum_scale_factor = 0,"
                    f" autovacuum_vacuum_threshold = {_ADVISED}, vacuum_index_cleanup = on);"
                    for leaf in late
                ),
            )
        )
    if naptime > _LONGEST_NAPTIME_SECONDS:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"autovacuum looks at the tables only every {format_duration(naptime)}, however many rows died",
                {"naptime_seconds": naptime},
                "ALTER SYSTEM SET autovacuum_naptime = '1min';\nSELECT pg_reload_conf();",
            )
        )
    return passed(
        f"after {highest.vacuum_threshold:,.0f} dead rows at the latest, looked for every {format_duration(naptime)}"
    )
