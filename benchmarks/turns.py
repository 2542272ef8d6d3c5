"""Several ways measured in turn, so that what disturbs the machine disturbs all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def in_turn(times: int, *ways: Callable[[], T]) -> tuple[list[T], ...]:
    """Call each so many times, another one first each time; returns what each gave, in the order of the ways."""
    found: tuple[list[T], ...] = tuple([] for _ in ways)
    for number in range(times):
        for place in range(len(ways)):
            way = (number + place) % len(ways)
            found[way].append(ways[way]())
    return found
