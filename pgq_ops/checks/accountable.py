"""Who is to blame for what VACUUM has to keep: for those that only wait for a lock, whoever is in their way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pgq_ops.checks.lock_chain import ends
from pgq_ops.checks.victims import only_waiting
from pgq_ops.stats.blocking import PREPARED

if TYPE_CHECKING:
    from pgq_ops.checks.look import Look
    from pgq_ops.stats.blocking import Blocker
    from pgq_ops.stats.horizon import Holder


def accountable(look: Look) -> list[Holder]:
    """The horizon's holders, the oldest first, with whoever is in the way of those that only wait in their place."""
    horizon = look.database.horizon
    holders = () if horizon is None else horizon.holders
    waiting, blocking = only_waiting(look, holders), look.database.blocking
    if not waiting or blocking is None:
        return list(holders)
    end_of, blockers = ends(blocking), {one.pid: one for one in blocking.blockers}
    found = {_key(one): one for one in holders if one not in waiting}
    for held in waiting:
        end = blockers.get(end_of.get(held.pid or 0, -1))
        if end is not None:
            it = _as_holder(end, held)
            found[_key(it)] = _older(it, found.get(_key(it)))
    return sorted(found.values(), key=lambda one: (-one.xid_age, not one.wrote))


def _as_holder(end: Blocker, held: Holder) -> Holder:
    """Who is in the way, with the age of what the waiter holds."""
    prepared = end.pid == PREPARED
    return replace(
        held,
        kind="prepared" if prepared else "backend",
        pid=None if prepared else end.pid,
        name=end.application_name,
        user=end.user,
        state=end.state,
        seconds=end.seconds,
        remedy=end.remedy,
        started="" if prepared else end.started,
        wrote=True,
    )


def _older(one: Holder, other: Holder | None) -> Holder:
    return one if other is None else replace(other, xid_age=max(one.xid_age, other.xid_age))


def _key(holder: Holder) -> tuple[str, int | None, str]:
    return holder.kind, holder.pid, holder.name
