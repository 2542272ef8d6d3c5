"""Every benchmark, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import agent_cost, busy, churn, collection, command_line, footprint, reaping, takeover

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.figures import Figures
    from benchmarks.stage import Stage

BENCHMARKS: Mapping[str, Callable[[Stage], Figures]] = {
    "collection": collection.run,
    "reaping": reaping.run,
    "command-line": command_line.run,
    "takeover": takeover.run,
    "footprint": footprint.run,
    "busy": busy.run,
    "agent-cost": agent_cost.run,
    "churn": churn.run,
}
