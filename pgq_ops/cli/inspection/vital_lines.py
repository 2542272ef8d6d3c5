"""The claim, the table's health and the horizon, as lines of the screen: a line each where all is well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.filesize import decimal
from rich.text import Text

from pgq_ops.checks.wording import counted
from pgq_ops.cli.inspection.lines import prose
from pgq_ops.cli.inspection.numbers import UNKNOWN, ago, as_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import DatabaseLook
    from pgq_ops.cli.inspection.view import Round, TableView
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.table_health import TableHealth

_LABEL_WIDTH = 10


def vital_lines(view: TableView, seen: Round, width: int | None) -> Iterator[Text]:
    """What a claim costs, how vacuum stands with the table, and what holds it back."""
    yield Text()
    not_read = {**seen.not_read, **view.not_read}
    for label, section, text in (
        ("claim", "claim", _claim(view)),
        ("vacuum", "relation", _vacuum(view)),
        ("horizon", "horizon", _horizon(seen.shared)),
    ):
        first = Text(label, "dim" if text else "yellow")
        shown = (
            text + as_of(view.ages.get(section, 0.0))
            if text
            else f"not read: {not_read.get(section, 'nothing to read')}"
        )
        yield from prose(shown, width, indent=_LABEL_WIDTH, first=first)


def _claim(view: TableView) -> str:
    look = view.look
    if look is None or look.claim is None:
        return ""
    text = _cost(look.claim)
    if look.database.horizon is not None and look.database.horizon.standby:
        text += " (this server is a standby, where nobody claims)"
    locked = look.ready_locked
    if locked is not None and locked.locked:
        text += f"; {locked.locked:,} of the first {locked.looked_at:,} ready jobs are locked"
    return text


def _cost(cost: ClaimCost) -> str:
    if cost.buffers is None or cost.seconds is None:
        return f"finding the next job takes longer than {cost.timeout_seconds:g} s"
    node = f": {cost.plan.node}" if cost.plan is not None else ""
    return f"{cost.buffers:,} buffers, {cost.seconds * 1000:.1f} ms{node}"


def _vacuum(view: TableView) -> str:
    found = view.look.health if view.look is not None else None
    if found is None:
        return ""
    if found.server.standby:
        return "this server is a standby: vacuum works, and counts, on its primary"
    rows = f"{_number(found.live_rows)} live and {_number(found.dead_rows)} dead rows"
    return f"{rows}; {_autovacuum(found)}; {_sizes(found)}; {_last(found)}"


def _autovacuum(found: TableHealth) -> str:
    if not any(leaf.autovacuum_enabled for leaf in found.leaves):
        return "autovacuum is off"
    if len(found.leaves) == 1:
        return f"autovacuum comes at {found.vacuum_threshold:,.0f}"
    ratio = found.due_ratio
    share = "an unknown share" if ratio is None else f"{ratio:.0%}"
    return f"the nearest of {len(found.leaves):,} partitions has {share} of the dead rows at which autovacuum comes"


def _sizes(found: TableHealth) -> str:
    if found.table_bytes is None or found.index_bytes is None:
        return "size not known before the first vacuum"
    return f"{decimal(found.table_bytes)} and {decimal(found.index_bytes)} of indexes as of the last vacuum or analyze"


def _last(found: TableHealth) -> str:
    """What is known of the last vacuum; statistics that are lost, or not kept, may have known of one."""
    if found.vacuums_running:
        return "a vacuum is running"
    if found.last_vacuumed is not None:
        return f"vacuumed {ago(found.at - found.last_vacuumed)} ago{_left(found)}"
    told = found.server.counting and not found.server.standby and not found.statistics_lost
    return "no vacuum is on record" if told else "when it was last vacuumed is not known"


def _left(found: TableHealth) -> str:
    """What the last vacuums could not remove, where looks before and after them tell."""
    outcomes = [leaf.outcome for leaf in found.leaves if leaf.outcome is not None]
    left = sum(one.left_rows for one in outcomes)
    if not left:
        return ""
    nothing = "" if any(one.removed_rows for one in outcomes) else "nothing seems removed, and "
    return f" ({nothing}at least {counted(left, 'dead row')} left)"


def _horizon(shared: DatabaseLook) -> str:
    found = shared.horizon
    if found is None:
        return ""
    if found.standby:
        return "this server is a standby: what its sessions hold back is told on its primary"
    text = f"{found.age_xids:,} transactions old"
    if not found.holders:
        return f"{text}, held back by nobody"
    worst, others = found.holders[0], len(found.holders) - 1
    who = " ".join(part for part in (worst.kind, str(worst.pid) if worst.pid else "", worst.name) if part)
    since = "" if worst.seconds is None else f" for {ago(worst.seconds)}"
    more = f", and {others:,} more" if others else ""
    return f"{text}, held back by {who}{since}{more}"


def _number(rows: int | None) -> str:
    return UNKNOWN if rows is None else f"{rows:,}"
