from __future__ import annotations

import math
from datetime import timedelta

import pytest

from pgq_ops.config.policy import Lease, QueuePolicy, Reaper, Slo
from pgq_ops.leader.settle import Settle


def policy(settle_seconds: float) -> QueuePolicy:
    return QueuePolicy(None, Lease(), Reaper(settle=timedelta(seconds=settle_seconds)), Slo())


def test_before_any_connection_nothing_is_known_to_be_disturbed() -> None:
    assert Settle().quiet_seconds() == math.inf


@pytest.mark.case("R20")
def test_a_server_that_has_just_started_counts_as_disturbed() -> None:
    now = [1000.0]
    settle = Settle(clock=lambda: now[0])
    settle.connected(uptime_seconds=5, losses=0)
    assert settle.quiet_seconds() == 5
    assert not settle.settled(policy(60))
    now[0] += 55
    settle.connected(uptime_seconds=60, losses=0)
    assert settle.settled(policy(60))


@pytest.mark.case("R20")
def test_an_agent_that_had_to_wait_for_the_database_counts_from_when_it_came() -> None:
    now = [1000.0]
    settle = Settle(clock=lambda: now[0])
    settle.connected(uptime_seconds=86_400, losses=3)
    assert settle.quiet_seconds() == 0
    now[0] += 7
    settle.connected(uptime_seconds=86_407, losses=3)
    assert settle.quiet_seconds() == 7
