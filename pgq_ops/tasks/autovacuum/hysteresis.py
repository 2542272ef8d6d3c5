"""Leaving alone what is nearly right, so that settings do not follow every breath of the queue."""

from __future__ import annotations

# Churn that is measured over ten minutes differs by some ten percent from one time to the next; a threshold that is a
# third off changes nothing that anybody notices, while each change waits for a running vacuum (postgres-facts.md).
FACTOR = 1.5


def is_near(now: float, wanted: float) -> bool:
    """Whether two values differ by less than the factor, either way."""
    if now <= 0 or wanted <= 0:
        return now == wanted
    return 1 / FACTOR < now / wanted < FACTOR
