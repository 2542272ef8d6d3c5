"""Two ways measured in turn, so that what disturbs the machine disturbs both."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def alternately(times: int, one: Callable[[], T], other: Callable[[], T]) -> tuple[list[T], list[T]]:
    """Call both so many times, the other one first every second time; returns what each gave."""
    ones: list[T] = []
    others: list[T] = []
    for number in range(times):
        if number % 2 == 0:
            ones.append(one())
            others.append(other())
        else:
            others.append(other())
            ones.append(one())
    return ones, others
