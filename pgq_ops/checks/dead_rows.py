"""Far more dead rows than autovacuum should let stand: it does not come, or cannot remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.horizon_held import guilty_of
from pgq_ops.checks.leaf_words import numbers, vacuum
from pgq_ops.checks.left_rows import are_let_go
from pgq_ops.checks.remedy_steps import steps
from pgq_ops.checks.session_words import MOST_NAMED
from pgq_ops.checks.wording import counted
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.table_health import LeafHealth, TableHealth

# A visit that is missed may be chance (all workers are busy elsewhere), three are not. Within seconds none can be.
_VISITS, _SHORTEST_SECONDS = 3, 60.0
# A vacuum that is at work may need its time; half an hour of it, by the default settings.
_WORKING = 10

(DEAD_ROWS,) = IDS = ("dead-rows",)
NEEDS = ("table",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: nobody has removed them for three visits of autovacuum. Where that is off, it is said elsewhere."""
    health = look.health
    if health is None:
        return
    buried = [leaf for leaf in health.leaves if leaf.autovacuum_enabled and _is_left_alone(leaf, health)]
    if not buried:
        return
    buried.sort(key=lambda leaf: -(leaf.due_ratio or 0.0))
    worst = buried[0]
    more = f"; {counted(len(buried) - 1, 'other partition')} likewise" if len(buried) > 1 else ""
    yield Finding(
        DEAD_ROWS,
        Severity.WARNING,
        f"{counted(worst.dead_rows or 0, 'dead row')} in {worst.relation}, {worst.due_ratio or 0.0:,.1f} times what"
        f" autovacuum waits for; {_why(worst, health)}{more}",
        {
            "dead_rows": numbers(buried, lambda leaf: leaf.dead_rows),
            "live_rows": numbers(buried, lambda leaf: leaf.live_rows),
            "vacuum_thresholds": numbers(buried, lambda leaf: round(leaf.vacuum_threshold)),
            "last_vacuum_seconds_ago": numbers(buried, lambda leaf: _ago(leaf, health)),
            "left_by_last_vacuum": numbers(buried, _left),
        },
        _remedy(look, buried),
    )


def _is_left_alone(leaf: LeafHealth, health: TableHealth) -> bool:
    """Whether there are too many, and have been long enough; where nobody watched, since the last vacuum."""
    if leaf.dead_rows is None or leaf.dead_rows <= leaf.bearable_dead_rows:
        return False
    patience = max(_VISITS * health.server.naptime_seconds, _SHORTEST_SECONDS)
    if leaf.over_seconds is not None:
        return leaf.over_seconds >= patience * (_WORKING if leaf.vacuum_running else 1)
    ago = _ago(leaf, health)
    return not leaf.vacuum_running and (ago is None or ago >= patience)


def _why(leaf: LeafHealth, health: TableHealth) -> str:
    ago, left = _ago(leaf, health), _left(leaf)
    if left is not None and ago is not None and left > leaf.bearable_dead_rows:
        return f"the last vacuum, {format_duration(round(ago))} ago, could not remove at least {left:,} of them"
    if leaf.progress is not None:
        ratio = leaf.progress.scanned_ratio
        return "a vacuum is at work" + (f" and has scanned {ratio:.0%} of the pages" if ratio is not None else "")
    return "no vacuum was ever seen there" if ago is None else f"the last vacuum was {format_duration(round(ago))} ago"


def _remedy(look: Look, leaves: list[LeafHealth]) -> str:
    command = vacuum(look, leaves, "VERBOSE")
    guilty = guilty_of(look) if any(_left(leaf) and not are_let_go(look, leaf) for leaf in leaves) else []
    if not guilty:
        return f"-- it tells what it cannot remove, and why:\n{command}"
    return steps(*dict.fromkeys(one.remedy for one in guilty[:MOST_NAMED]), command)


def _ago(leaf: LeafHealth, health: TableHealth) -> float | None:
    return None if leaf.last_vacuumed is None else round(max(0.0, health.at - leaf.last_vacuumed), 1)


def _left(leaf: LeafHealth) -> int | None:
    return None if leaf.outcome is None else leaf.outcome.left_rows
