"""What a finding of the past said when, and for how long, as lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.findings_evidence import changes
from pgq_ops.cli.findings_moments import shown
from pgq_ops.schema.findings import UNWATCHED_SECONDS
from pgq_ops.stats.finding_sayings import is_reworded
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.stats.finding_history import PastFinding
    from pgq_ops.stats.finding_sayings import Standing

# The opening, the one that is told first, and the last ones; --json has all.
_MOST_TURNS = 5


def turn_lines(one: PastFinding, stood: Sequence[Standing], first: Standing) -> Iterator[str]:
    """A sentence for each turn: when, its severity, for how long, and what it said or what changed.

    `first` is the one whose sentence stands above them.
    """
    told = _told(stood, first)
    for place, number in enumerate(told):
        here, before = stood[number], stood[told[place - 1]] if place else None
        skipped = number - told[place - 1] - 1 if place else number
        if skipped:
            yield f"... {skipped} {'turn' if skipped == 1 else 'turns'} more: --json"
        severity = here.turn.severity
        if before is not None and before.turn.severity != severity:
            severity = f"{before.turn.severity} -> {severity}"
        lasted = f"{'up to ' if one.returns else ''}{format_duration(round(here.seconds))}"
        if here.seconds - here.watched_seconds > UNWATCHED_SECONDS:
            lasted += f" (an agent looked for {format_duration(round(here.watched_seconds))} of it)"
        yield f"{shown(here.turn.at, one.opened_at)} {severity}, for {lasted}: {_said(here, before, first)}"


def _told(stood: Sequence[Standing], first: Standing) -> list[int]:
    chosen = {0, next(number for number, here in enumerate(stood) if here is first)}
    for number in reversed(range(len(stood))):
        if len(chosen) == _MOST_TURNS:
            break
        chosen.add(number)
    return sorted(chosen)


def _said(here: Standing, before: Standing | None, first: Standing) -> str:
    changed = "" if before is None else changes(before.turn.evidence, here.turn.evidence)
    if here is first:
        return "as said first above" + (f"; {changed}" if changed else "")
    if before is None or is_reworded(before.turn, here.turn) or not changed:
        return here.turn.summary
    return changed
