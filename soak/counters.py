"""Holds the agents' counters against the reap log: what they say they took back is what was taken back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from soak.agent import Agent, Counts
    from soak.final import Final

# A batch's moment is its beginning, and it is counted after its end: on a busy machine it may be this much older than
# the look at the counter that does not have it yet.
_BATCH_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Balance:
    """Both sides. `calm_*`: those of the time in which no agent and no session of one was ended, so nothing was lost.

    `undone`: what was counted just before an immediate shutdown, which may have undone the batches themselves.
    """

    agents: tuple[Agent, ...]
    counted: Counts
    logged: Counts
    calm_counted: Counts
    calm_logged: Counts
    undone: Counts = field(default_factory=Counter)

    def violations(self, finals: Mapping[str, Final]) -> Iterator[str]:
        """Where they differ by more than the killed agents took with them."""
        for table, outcome in sorted({*self.counted, *self.logged}):
            key = table, outcome
            counted, logged, undone = self.counted[key], self.logged[key], self.undone[key]
            unseen = self._unseen(outcome, finals[table])
            if counted > logged + undone:
                yield f"{table}: agents counted {counted} {outcome}, the log has {logged} (and {undone} may be undone)"
            if counted < logged - unseen:
                yield f"{table}: the log has {logged} {outcome}, agents counted {counted}; killed ones took {unseen}"
            if self.calm_counted[key] != self.calm_logged[key]:
                counts = f"{self.calm_counted[key]}, the log has {self.calm_logged[key]}"
                yield f"{table}: with nobody killed agents counted {counts} {outcome}"

    def _unseen(self, outcome: str, final: Final) -> int:
        """How many were taken back between an agent's last answer and its end."""
        ended = [(one.asked_at - _BATCH_SECONDS, one.ended_at) for one in self.agents if one.ended_at is not None]
        moments = [line.at_us / 1e6 for line in final.log if line.outcome == outcome]
        return sum(any(begin <= moment <= end for begin, end in ended) for moment in moments)


def counts(rows: Iterable[tuple[str, str, int]]) -> Counts:
    """The rows of `count_log` by job table and outcome."""
    return Counter({(table, outcome): number for table, outcome, number in rows})
