"""Who is to blame for the horizon, by more than one look: of those in other databases, who was not seen by chance.

Whoever writes in another database holds back what dies here only while somebody here has a snapshot that has to see
it. Of two looks one may fall on such a moment and the other beside it, though nothing has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from pgq_ops.stats.horizon import oldest_first

if TYPE_CHECKING:
    from pgq_ops.stats.horizon import Holder, Horizon

# Where statements run here all the time, two looks seconds apart both fall on one; by chance they seldom do.
LOOKS_IN_A_ROW = 2
# As long as a finding may be gone and still count as the same one.
KEPT_SECONDS = 300.0


class _Sight(NamedTuple):
    """Of one in another database: in how many looks in a row it was seen to hold, and until when it is blamed."""

    in_a_row: int = 0
    until: float = 0.0


@dataclass(slots=True)
class SteadyHorizon:
    """Remembers the looks at one database. `looks`: in how many in a row somebody is seen before it is blamed."""

    looks: int = LOOKS_IN_A_ROW
    _sights: dict[tuple[str, int | None, str, str], _Sight] = field(default_factory=dict)

    def judged(self, horizon: Horizon, now: float) -> Horizon:
        """The horizon as it is to be judged at that moment (monotonic seconds).

        Who is blamed is among the holders for a while, also where no snapshot has to see it just now. While one is not
        blamed, neither it nor the statements are that are as old only because they see it.
        """
        holding = {_key(one) for one in horizon.holders if one.database}
        self._sights = {_key(one): self._sight(one, holds=_key(one) in holding, now=now) for one in horizon.elsewhere}
        blamed = [one for one in horizon.elsewhere if now < self._sights[_key(one)].until]
        by_chance = {one.xid_age for one in horizon.holders if one.database} - {one.xid_age for one in blamed}
        here = [one for one in horizon.holders if not one.database and not _only_sees(one, by_chance)]
        holders = oldest_first([*blamed, *here])
        return replace(horizon, age_xids=max((one.xid_age for one in holders), default=0), holders=holders)

    def _sight(self, holder: Holder, *, holds: bool, now: float) -> _Sight:
        before = self._sights.get(_key(holder), _Sight())
        in_a_row = before.in_a_row + 1 if holds else 0
        blamed = in_a_row >= self.looks or (holds and now < before.until)
        return _Sight(in_a_row, now + KEPT_SECONDS if blamed else before.until)


def _key(holder: Holder) -> tuple[str, int | None, str, str]:
    return holder.kind, holder.pid, holder.name, holder.started


def _only_sees(holder: Holder, ages: set[int]) -> bool:
    """Whether it runs a statement (or may, where that is not visible) whose snapshot is as old as another's writing."""
    return holder.xid_age in ages and not holder.wrote and holder.kind == "backend" and holder.state in {"active", ""}
