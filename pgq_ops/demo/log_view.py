"""The run as plain lines, for pipes, files and dumb terminals."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pgq_ops.demo.view import Frame

_COUNTS_EVERY_SECONDS = 5.0


class LogView:
    """Writes each event, and the counts now and then."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._next_counts = 0.0

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to leave."""

    def say(self, seconds: float, text: str) -> None:
        """Write a line."""
        print(f"{seconds:5.1f} s  {text}", file=self._stream, flush=True)

    def draw(self, frame: Frame) -> None:
        """Write the counts if it is time."""
        if frame.seconds < self._next_counts:
            return
        self._next_counts = frame.seconds + _COUNTS_EVERY_SECONDS
        counts = ", ".join(f"{count} {state}" for state, count in frame.look.counts.items())
        self.say(frame.seconds, f"{frame.phase}: {counts}; {len(frame.members)} workers")
