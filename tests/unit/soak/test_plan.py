from __future__ import annotations

import random
from collections import Counter

from soak.plan import CYCLE_SECONDS, Kind, Plan
from soak.terms import EVERY_SECONDS, SETTLE_SECONDS, TAKEOVER_SECONDS


def test_each_trouble_comes_as_often_as_asked_and_each_storm_is_followed_by_a_rest() -> None:
    troubles = Plan().troubles(random.Random(1))
    assert Counter(kind for _, kind in troubles) == {
        Kind.KILL: 200,
        Kind.TERMINATE: 200,
        Kind.RESTART: 2,
        Kind.CRASH: 1,
    }
    assert troubles == sorted(troubles)
    assert all(at % CYCLE_SECONDS <= CYCLE_SECONDS / 2 for at, _ in troubles)
    assert len({at // CYCLE_SECONDS for at, _ in troubles}) == Plan().seconds / CYCLE_SECONDS


def test_a_rest_is_longer_than_what_agents_may_need_to_take_over() -> None:
    assert CYCLE_SECONDS / 2 > TAKEOVER_SECONDS + SETTLE_SECONDS + EVERY_SECONDS
