"""Autovacuum comes to the job table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.autovacuum_off import BY_HAND_SECONDS
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.stats import tree_tables, worker_roles
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.table_health import LeafHealth

ID = "autovacuum-off"
TITLE = "Autovacuum is on"


def check(examination: Examination) -> Verdict:
    """A warning; critical where too many dead rows lie there, and nobody ran VACUUM on all of it within a day."""
    uncounted = [role.name for role in examination.fact(worker_roles.read) if _counts_nothing(role)]
    if uncounted:
        return found(
            Finding(
                ID,
                Severity.CRITICAL,
                f"track_counts is off for {listed(uncounted)}: nobody counts what its sessions leave behind, so"
                " autovacuum never comes",
                {"roles": uncounted},
                "\n".join(
                    f"ALTER ROLE {quoted(name)} IN DATABASE {quoted(examination.connection.info.dbname)}"
                    " SET track_counts = on;"
                    for name in uncounted
                ),
            )
        )
    health = examination.look.health
    if health is None:
        unread = "the settings of autovacuum and the last vacuums could not be read"
        return unknown(unread + examination.why_not("relation"))
    if health.server.standby:
        return not_applicable("this server is a standby, which cannot vacuum")
    ended = {one.relation.oid for one in examination.fact(tree_tables.read) if one.past}
    leaves = [leaf for leaf in health.leaves if leaf.oid not in ended]
    if not leaves:
        return not_applicable("the time of all its partitions is over")
    off = [leaf for leaf in leaves if not leaf.autovacuum_enabled]
    if not off:
        return passed(f"on for the server and for {listed(leaf.name for leaf in leaves)}")
    by_hand = all(_vacuumed(leaf, health.at) for leaf in off)
    where = "the server" if not health.server.on else listed(leaf.name for leaf in off)
    said = (
        f"somebody runs VACUUM instead, last {_longest_ago(off, health.at)} ago: until the next one dead rows stay"
        if by_hand
        else "no VACUUM within a day is on record: dead rows stay"
    )
    buried = not by_hand and any((leaf.dead_rows or 0) > leaf.bearable_dead_rows for leaf in off)
    return found(
        Finding(
            ID,
            Severity.CRITICAL if buried else Severity.WARNING,
            f"autovacuum is off for {where}, and {said}, and each claim steps over them",
            {"server": health.server.on, "tables": [leaf.name for leaf in off]},
            _remedy(off) if health.server.on else "ALTER SYSTEM SET autovacuum = on;\nSELECT pg_reload_conf();",
        )
    )


def _counts_nothing(role: worker_roles.WorkerRole) -> bool:
    return role.settings["track_counts"].value in ("off", "false", "no", "0")


def _vacuumed(leaf: LeafHealth, now: float) -> bool:
    return leaf.last_vacuum is not None and now - leaf.last_vacuum < BY_HAND_SECONDS


def _longest_ago(off: list[LeafHealth], now: float) -> str:
    return format_duration(round(max(now - (leaf.last_vacuum or now) for leaf in off)))


def _remedy(off: list[LeafHealth]) -> str:
    return "\n".join(f"ALTER TABLE {quoted(leaf.schema, leaf.name)} RESET (autovacuum_enabled);" for leaf in off)
