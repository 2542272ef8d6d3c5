"""Horizon holders as findings name them: who does what for how long, and as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.checks.remedy_steps import steps
from pgq_ops.checks.session_words import MOST_NAMED, lasting
from pgq_ops.stats.horizon_remedies import CLIENT
from pgq_ops.stats.session_ending import printed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.stats.horizon import Holder

_IDLE = "idle in transaction"


def holding(holder: Holder) -> str:
    """A clause such as `session 4242 (report-job, user bi) has been idle in transaction for 42m`."""
    who, last = named(holder), lasting(holder.seconds)
    if holder.database:
        who += f" of database {holder.database}"
    if holder.kind == "standby":
        return f"a session on {who} reads{last}"
    if holder.kind == "slot":
        return f"{who} keeps the snapshot of a standby that {_use(holder)}{last}"
    if holder.kind == "prepared":
        return f"{who} has been waiting for its COMMIT PREPARED{last}"
    if holder.state.startswith(_IDLE):
        return f"{who} has been idle in transaction{last}"
    return f"{who} has had a transaction open{last}"


def evidence(holders: Sequence[Holder]) -> list[dict[str, Any]]:
    """The first of them as plain values.

    `session` is what `pgq-ops transactions end` takes, null for what is none of this database; `database` if another.
    """
    return [
        {
            "kind": one.kind,
            "session": printed(one.pid or 0, one.started) if one.started and not one.database else None,
            "pid": one.pid,
            "name": one.name,
            "user": one.user,
            "database": one.database or None,
            "state": one.state,
            "seconds": None if one.seconds is None else round(one.seconds, 1),
            "xid_age": one.xid_age,
        }
        for one in holders[:MOST_NAMED]
    ]


def remedies(holders: Sequence[Holder]) -> str:
    """What makes the first of them let go, each text once."""
    return steps(*dict.fromkeys(one.remedy for one in holders[:MOST_NAMED]))


def _use(holder: Holder) -> str:
    return "has not come back" if holder.state == "inactive" else "uses it"


def named(holder: Holder) -> str:
    """`session 4242 (report-job, user bi)`, or what other kind of holder it is."""
    user = f"user {holder.user}" if holder.user else ""
    if holder.kind == "slot":
        return f'replication slot "{holder.name}"'
    if holder.kind == "prepared":
        return f'prepared transaction "{holder.name}" ({user})'
    what = "session" if holder.backend_type in {CLIENT, ""} else holder.backend_type
    if holder.kind == "standby":
        what = "the standby behind walsender"
    words = ", ".join(word for word in (holder.name, user) if word)
    return f"{what} {holder.pid} ({words})" if words else f"{what} {holder.pid}"
