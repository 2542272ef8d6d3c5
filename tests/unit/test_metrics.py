"""The metrics of the process itself."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest

from pgq_ops import metrics


def test_what_the_process_declares_gets_the_prefix_and_is_served() -> None:
    made = metrics.counter("declared_in_a_test_total", "A test's counter.", ("outcome",))
    made.labels("ok").inc()
    text = generate_latest(metrics.REGISTRY).decode()
    assert 'pgqops_declared_in_a_test_total{outcome="ok"} 1.0' in text
    assert "declared_in_a_test_created" not in text


def test_names_that_mean_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="must end in"):
        metrics.counter("runs", "Help.")
    with pytest.raises(ValueError, match="is no counter"):
        metrics.gauge("runs_total", "Help.")
    with pytest.raises(ValueError, match="is no counter"):
        metrics.histogram("runs_total", "Help.", (), (1.0,))
    with pytest.raises(ValueError, match="snake_case"):
        metrics.gauge("pgqops_runs", "Help.")
