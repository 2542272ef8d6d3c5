"""Many who ask for the metrics at the same time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from pgq_ops.exporter.rendering import Rendering
from tests.support.agent import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from prometheus_client.core import Metric

PATIENCE_SECONDS = 10


class _Slow(Collector):
    """Counts how often it is rendered; each time takes until it is let go on."""

    def __init__(self) -> None:
        self.times = 0
        self.begun = threading.Event()
        self.go_on = threading.Event()

    def collect(self) -> Iterator[Metric]:
        self.times += 1
        self.begun.set()
        assert self.go_on.wait(PATIENCE_SECONDS)
        return iter(())


def test_those_who_ask_at_the_same_time_share_what_was_begun_after_they_had_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry, slow = CollectorRegistry(auto_describe=False), _Slow()
    registry.register(slow)
    rendering = Rendering(registry)
    moments: list[float] = []

    class Clock:
        @staticmethod
        def monotonic() -> float:
            moments.append(time.monotonic())
            return moments[-1]

        sleep = staticmethod(time.sleep)

    monkeypatch.setattr("pgq_ops.exporter.rendering.time", Clock)
    askers = [threading.Thread(target=rendering.of, args=("", "")) for _ in range(51)]
    askers[0].start()
    assert slow.begun.wait(PATIENCE_SECONDS)
    for asker in askers[1:]:
        asker.start()
    # Each looks at the clock when it comes, the first one once more when its answer is begun.
    wait_until(lambda: len(moments) == 52)
    slow.go_on.set()
    for asker in askers:
        asker.join(PATIENCE_SECONDS)
    assert slow.times == 2
    rendering.of("", "")
    assert slow.times == 3
