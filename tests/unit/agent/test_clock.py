from __future__ import annotations

import pytest

from pgq_ops.agent.clock import ClockWatch


@pytest.mark.parametrize(
    ("wall_seconds", "set_back"),
    [(10.0, False), (9.1, False), (8.9, True), (-590.0, True), (610.0, False)],
    ids=["in step", "drift", "a jump", "ten minutes back", "ten minutes ahead"],
)
def test_only_a_clock_that_was_set_back_is_told(wall_seconds: float, set_back: bool) -> None:  # noqa: FBT001
    wall, monotonic = [1_800_000_000.0], [500.0]
    watch = ClockWatch(lambda: wall[0], lambda: monotonic[0])
    monotonic[0] += 10
    wall[0] += wall_seconds
    assert watch.set_back() is set_back
    monotonic[0] += 10
    wall[0] += 10
    assert watch.set_back() is False, "told once"
