"""Autovacuum does not come to the job table at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leaf_words import MOST_NAMED, named, numbers
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.wording import counted
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.table_health import LeafHealth, TableHealth

# Who runs VACUUM by other means does so at least daily; a queue needs it far more often.
BY_HAND_SECONDS = 86_400.0

(AUTOVACUUM_OFF,) = IDS = ("autovacuum-off",)
NEEDS = ("table",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: whether on the server, on a table or on its TOAST table alone."""
    health = look.health
    if health is None or health.server.standby:
        return
    off = [leaf for leaf in health.leaves if not leaf.autovacuum_enabled]
    toast = [leaf for leaf in health.leaves if leaf.autovacuum_enabled and not leaf.toast_autovacuum_enabled]
    if not off and not toast:
        return
    if off and not health.server.settings.enabled:
        where, remedy = _server(health)
    else:
        where = named(off) if off else f"the TOAST table of {named(toast)}"
        remedy = "\n".join([*_reset(off, ""), *_reset(toast, "toast.")])
    yield Finding(
        AUTOVACUUM_OFF,
        Severity.WARNING,
        f"autovacuum is off for {where}: {_who_else(off, health.at)}{_so_far(off)}, and each claim steps over them"
        if off
        else f"autovacuum is off for {where}: nobody gives back the space of long values",
        {
            "autovacuum": health.server.on,
            "track_counts": health.server.counting,
            "tables": [str(leaf.relation) for leaf in off[:MOST_NAMED]],
            "toast_tables_of": [str(leaf.relation) for leaf in toast[:MOST_NAMED]],
            "dead_rows": numbers(off, lambda leaf: leaf.dead_rows),
        },
        remedy,
    )


def _server(health: TableHealth) -> tuple[str, str]:
    names = [
        name for name, on in (("autovacuum", health.server.on), ("track_counts", health.server.counting)) if not on
    ]
    commands = [f"ALTER SYSTEM SET {name} = on;" for name in names]
    return f"the whole server ({' and '.join(names)} = off)", "\n".join([*commands, "SELECT pg_reload_conf();"])


def _reset(leaves: Sequence[LeafHealth], prefix: str) -> list[str]:
    return [
        f"ALTER TABLE {plain(leaf.relation.sql)} RESET ({prefix}autovacuum_enabled);" for leaf in leaves[:MOST_NAMED]
    ]


def _who_else(leaves: Sequence[LeafHealth], now: float) -> str:
    """Who removes dead rows: somebody's VACUUM of each of them within a day, or nobody as far as is known."""
    ago = [None if leaf.last_vacuum is None else now - leaf.last_vacuum for leaf in leaves]
    known = [seconds for seconds in ago if seconds is not None and seconds < BY_HAND_SECONDS]
    if len(known) < len(leaves):
        return "nobody removes dead rows"
    return f"dead rows stay until somebody runs VACUUM again, last {format_duration(round(max(known)))} ago"


def _so_far(leaves: Sequence[LeafHealth]) -> str:
    dead = sum(leaf.dead_rows for leaf in leaves if leaf.dead_rows is not None)
    return f" ({counted(dead, 'dead row')} so far)" if dead else ""
