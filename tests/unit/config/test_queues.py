from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load, Refused

QUEUES = """
columns.queue = "queue"
[job_tables.emails.lease]
grace = "30s"
[job_tables.emails.reaper]
max_attempts = 7
backoff = { base = "2h", max = "10h" }
[job_tables.emails.queues.video]
lease.grace = "4h"
reaper.backoff.factor = 3
slo.oldest_ready = "1h"
[job_tables.emails.queues.fast.reaper]
enabled = false
"""


def test_each_queue_has_its_policy_and_the_others_have_the_table_s(load_text: Load, emails: str) -> None:
    default, fast, video = load_text(emails + QUEUES).config.job_tables["emails"].policies()
    assert (default.queue, fast.queue, video.queue) == (None, "fast", "video")
    assert (default.lease.grace, fast.lease.grace, video.lease.grace) == (
        timedelta(seconds=30),
        timedelta(seconds=30),
        timedelta(hours=4),
    )
    assert (default.reaper.enabled, fast.reaper.enabled, video.reaper.enabled) == (True, False, True)
    assert (default.slo.oldest_ready, video.slo.oldest_ready) == (timedelta(minutes=5), timedelta(hours=1))


def test_a_queue_keeps_what_it_does_not_override(load_text: Load, emails: str) -> None:
    video = load_text(emails + QUEUES).config.job_tables["emails"].policies()[2]
    assert video.reaper.max_attempts == 7
    assert (video.reaper.backoff.base, video.reaper.backoff.factor) == (timedelta(hours=2), 3.0)


def test_a_table_may_be_off_and_one_queue_on(load_text: Load, emails: str) -> None:
    text = """
    columns.queue = "queue"
    reaper.enabled = false
    queues.fast.reaper.enabled = true
    """
    table = load_text(emails + text).config.job_tables["emails"]
    assert [policy.reaper.enabled for policy in table.policies()] == [False, True]
    assert table.requested_tasks == {"reaper"}


def test_a_queue_alone_asks_for_no_task(load_text: Load, emails: str) -> None:
    table = load_text(emails + 'columns.queue = "q"\nqueues.a.reaper.max_attempts = 3').config.job_tables["emails"]
    assert table.requested_tasks == frozenset()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("retention.runway = '1d'", "queues.video.retention: there is no such setting"),
        ("lease.grace = 4", 'queues.video.lease.grace: is a number without a unit (did you mean "4s"?)'),
        ("lease.timeout = '4h'", "queues.video.lease.timeout: has no effect"),
        ("reaper.backoff.base = '2h'", 'queues.video.reaper.backoff.base: "2h" is more than backoff.max'),
    ],
)
def test_a_wrong_key_of_a_queue_is_refused(refused: Refused, emails: str, line: str, message: str) -> None:
    assert message in refused(f'{emails}columns.queue = "q"\n[job_tables.emails.queues.video]\n{line}')


def test_a_queue_may_have_any_name(load_text: Load, emails: str) -> None:
    text = f'{emails}columns.queue = "q"\n[job_tables.emails.queues."a.b \\"c\\""]\nlease.grace = "1s"'
    loaded = load_text(text)
    assert loaded.config.job_tables["emails"].policies()[1].queue == 'a.b "c"'
    assert loaded.origins[r'job_tables.emails.queues."a.b \"c\"".lease.grace'] == "file pgq-ops.toml"
