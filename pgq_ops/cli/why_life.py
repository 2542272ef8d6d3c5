"""The life of one job as sentences, in the order in which somebody on call asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli import why_history, why_lock, why_reaper, why_state, why_waiting

if TYPE_CHECKING:
    from pgq_ops.cli.why_facts import JobFacts
    from pgq_ops.cli.why_wording import Said

_PARTS = (why_state, why_lock, why_reaper, why_waiting, why_history)


def told(facts: JobFacts) -> tuple[Said, ...]:
    """What it is, who holds its row, what the reaper does with it, why nobody claims it, what was before."""
    return tuple(said for part in _PARTS for said in part.told(facts))
