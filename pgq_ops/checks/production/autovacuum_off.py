"""Autovacuum comes to the job table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.stats import server_state, tree_tables, worker_roles

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.table_health import LeafHealth

ID = "autovacuum-off"
TITLE = "Autovacuum is on"

# Who runs VACUUM by other means does so at least daily; a queue needs it far more often.
_BY_HAND_SECONDS = 86_400.0


def check(examination: Examination) -> Verdict:
    """Critical; a warning where somebody ran VACUUM on all of it within a day."""
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
    state, health = examination.fact(server_state.read), examination.look.health
    if health is None:
        what = "off" if not state.autovacuum else "on for the server"
        return unknown(f"autovacuum is {what}, and the table's own settings and last vacuums could not be read")
    ended = {one.relation.oid for one in examination.fact(tree_tables.read) if one.past}
    leaves = [leaf for leaf in health.leaves if leaf.oid not in ended]
    off = [leaf for leaf in leaves if not state.autovacuum or not leaf.autovacuum_enabled]
    if not off:
        return passed(f"on for the server and for {listed(leaf.name for leaf in leaves)}")
    by_hand = all(_vacuumed(leaf, state.now) for leaf in off)
    where = "the server" if not state.autovacuum else listed(leaf.name for leaf in off)
    since = "; somebody runs VACUUM instead" if by_hand else ", and nobody has run VACUUM for a day"
    return found(
        Finding(
            ID,
            Severity.WARNING if by_hand else Severity.CRITICAL,
            f"autovacuum is off for {where}{since}: dead rows stay, and each claim steps over them",
            {"server": state.autovacuum, "tables": [leaf.name for leaf in off]},
            _remedy(examination, off)
            if state.autovacuum
            else "ALTER SYSTEM SET autovacuum = on;\nSELECT pg_reload_conf();",
        )
    )


def _counts_nothing(role: worker_roles.WorkerRole) -> bool:
    return role.settings["track_counts"].value in ("off", "false", "no", "0")


def _vacuumed(leaf: LeafHealth, now: float) -> bool:
    return leaf.last_vacuum is not None and now - leaf.last_vacuum < _BY_HAND_SECONDS


def _remedy(examination: Examination, off: list[LeafHealth]) -> str:
    relations = {one.relation.oid: one.relation for one in examination.fact(tree_tables.read)}
    names = [quoted(relations[leaf.oid].schema, relations[leaf.oid].name) for leaf in off if leaf.oid in relations]
    return "\n".join(f"ALTER TABLE {name} RESET (autovacuum_enabled);" for name in names)
