"""From the first rows to all of them: rows on both sides of the cap."""

from __future__ import annotations

import pytest

from pgq_ops.stats.depth import Age, Count, QueueDepth, by_label
from pgq_ops.stats.extrapolation import Sample
from pgq_ops.stats.job_sample import CAP, Sampled

NOW = 1_000_000.0


def _rows(*rows: tuple[str, str, int]) -> list[Sampled]:
    return [Sampled(queue, state, jobs, 60.0, NOW - 60, NOW - 50) for queue, state, jobs in rows]


def _never() -> int:
    pytest.fail("an estimate was asked for although every row was seen")


def test_up_to_the_cap_everything_is_exact() -> None:
    sample = Sample(_rows(("a", "ready", CAP - 1), ("b", "scheduled", 1)), in_order=True)
    assert sample.counts(_never) == {("a", "ready"): Count(CAP - 1), ("b", "scheduled"): Count(1)}
    assert sample.absent("ready") == Count(0)
    assert sample.oldest_ready() == {"a": Age(60)}
    assert sample.oldest_ready_elsewhere(NOW) == Age(0)


def test_beyond_the_cap_the_estimate_is_shared_out_as_the_sample_was() -> None:
    sample = Sample(_rows(("a", "ready", 2_500), ("b", "ready", CAP + 1 - 2_500)), in_order=True)
    counts = sample.counts(lambda: 40_004)
    assert counts["a", "ready"] == Count(10_000, exact=False)
    assert sum(count.value for count in counts.values()) == pytest.approx(40_004, abs=1)
    assert sample.absent("ready") == Count(0, exact=False)


def test_an_estimate_below_what_was_seen_is_not_believed() -> None:
    sample = Sample(_rows(("a", "ready", CAP + 1)), in_order=True)
    assert sample.counts(lambda: 12)["a", "ready"] == Count(CAP + 1, exact=False)


def test_in_order_of_time_the_ready_ones_are_all_there_once_a_scheduled_one_is() -> None:
    rows = _rows(("a", "ready", 100), ("a", "scheduled", CAP + 1 - 100))
    sample = Sample(rows, in_order=True, nulls_last=False)
    counts = sample.counts(lambda: 50_000)
    assert counts["a", "ready"] == Count(100)
    assert counts["a", "scheduled"] == Count(49_900, exact=False)
    assert sample.oldest_ready_elsewhere(NOW) == Age(0)
    # A row without a time is ready, and would come last.
    nullable = Sample(rows, in_order=True, nulls_last=True)
    assert not nullable.counts(lambda: 50_000)["a", "ready"].exact
    assert nullable.oldest_ready() == {"a": Age(60, exact=False)}


def test_a_queue_that_was_not_seen_waits_no_longer_than_the_last_row() -> None:
    sample = Sample(_rows(("a", "ready", CAP + 1)), in_order=True, nulls_last=False)
    assert sample.oldest_ready() == {"a": Age(60)}
    assert sample.oldest_ready_elsewhere(NOW) == Age(50, exact=False)


def test_without_an_order_nothing_is_known_of_a_queue_that_was_not_seen() -> None:
    sample = Sample(_rows(("a", "ready", CAP + 1)))
    assert sample.oldest_ready() == {"a": Age(60, exact=False)}
    assert sample.oldest_ready_elsewhere(NOW) is None


def test_a_look_from_a_watermark_on_is_never_exact() -> None:
    sample = Sample(_rows(("a", "ready", 1)), in_order=True, nulls_last=False, trusted=False)
    assert sample.counts(_never) == {("a", "ready"): Count(1, exact=False)}
    assert sample.oldest_ready() == {"a": Age(60, exact=False)}
    assert sample.absent("ready") == Count(0, exact=False)


def test_queues_under_one_label_are_added_up_and_the_oldest_age_counts() -> None:
    queues = [
        QueueDepth("a", {"ready": Count(1)}, Age(5), None),
        QueueDepth("b", {"ready": Count(2, exact=False)}, Age(9, exact=False), 3.0),
        QueueDepth("c", {"ready": Count(4)}, Age(1), 7.0),
    ]
    merged = by_label(queues, lambda queue: "(other)" if queue in ("b", "c") else str(queue))
    assert merged["a"] == queues[0]
    assert merged["(other)"] == QueueDepth("b", {"ready": Count(6, exact=False)}, Age(9, exact=False), 7.0)
