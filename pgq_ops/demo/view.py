"""How a run is shown while it goes on: the contract of the live screen and of the plain log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from pgq_ops.demo.look import Look


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment of a run. `members` are the workers alive, by name; those in `hung` are stopped."""

    seconds: float
    total_seconds: float
    phase: str
    look: Look
    members: tuple[str, ...]
    hung: frozenset[str]


class View(Protocol):
    """Shows frames and lines; a context manager around the run."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        ...

    def say(self, seconds: float, text: str) -> None:
        """Tell something that happened, so many seconds after the start."""
        ...

    def draw(self, frame: Frame) -> None:
        """Show the state of things; called several times a second."""
        ...
