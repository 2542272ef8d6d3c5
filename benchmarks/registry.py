"""Every benchmark, in the order in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import collection, reaping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.figures import Figures
    from benchmarks.stage import Stage

BENCHMARKS: Mapping[str, Callable[[Stage], Figures]] = {
    "collection": collection.run,
    "reaping": reaping.run,
}
