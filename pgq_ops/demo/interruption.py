"""Ctrl-C and its relatives as a flag, so that a run ends in order."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """While entered, the first such signal only sets `requested`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.requested = False

    def __enter__(self) -> Self:
        """Listen to the signals."""
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was there."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt(signal.Signals(number).name)
        self.requested = True
