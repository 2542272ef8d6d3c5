"""Looks that are known to come: made in one message before they are asked for, which spares a round trip for each.

What a probe asked twice in a row it most likely asks again. A look that turns out otherwise, or was dear, is made when
it is asked for, as if nothing had been foreseen.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import psycopg

from pgq_ops.db.kept_plans import kept_plans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pgq_ops.db.connection import Connection

    Rows = list[tuple[Any, ...]]
    # Looks without parameters.
    Message = tuple[bytes, ...]

# By far the most take less. What takes longer is measured by itself, so that it is made as seldom as it has to be.
_CHEAP_SECONDS = 0.01
# A look among them that is cut off costs all of them their time.
_AFTER_FAILURE_SECONDS = 60.0


@dataclass(slots=True)
class Foreseen:
    """What the probes of one job table are expected to ask. `clock()` is monotonic seconds."""

    clock: Callable[[], float] = time.monotonic
    cheap_seconds: float = _CHEAP_SECONDS
    """What takes longer is made by itself."""
    _expected: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    _before: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    _asked: list[Message] = field(default_factory=list)
    _answers: dict[Message, list[Rows]] = field(default_factory=dict)
    _not_before: float = 0.0

    @contextmanager
    def made(self, connection: Connection, probes: Sequence[str]) -> Iterator[dict[str, float]]:
        """Make what these probes are to ask; within, they get it. Gives the seconds that it took for each of them.

        Raises nothing that a database can cause: then nothing is foreseen.
        """
        plans = kept_plans(connection)
        plans.foreseen = self
        try:
            yield self._make(connection, probes)
        finally:
            plans.foreseen = None
            self._answers.clear()

    @contextmanager
    def asking(self, probe: str) -> Iterator[None]:
        """Within, it is this probe that asks; where it fails nothing is expected of it."""
        self._asked = []
        try:
            yield
        except BaseException:
            self._expected.pop(probe, None)
            self._before.pop(probe, None)
            raise
        asked = tuple(self._asked)
        if asked == self._before.get(probe):
            self._expected[probe] = asked
        self._before[probe] = asked

    def answer(self, message: Message) -> list[Rows] | None:
        """The results of each statement of the message, if they are there."""
        answer = self._answers.pop(message, None)
        if answer is not None:
            self._asked.append(message)
        return answer

    def took(self, message: Message, seconds: float) -> None:
        """Note a message that was sent by itself."""
        if seconds < self.cheap_seconds:
            self._asked.append(message)

    def _make(self, connection: Connection, probes: Sequence[str]) -> dict[str, float]:
        by_probe = {probe: expected for probe in probes if (expected := self._expected.get(probe))}
        messages = [message for expected in by_probe.values() for message in expected]
        if len(messages) < 2 or self.clock() < self._not_before:  # noqa: PLR2004 (one alone spares nothing)
            return {}
        began = self.clock()
        try:
            self._answers = dict(zip(messages, _answers(connection, messages), strict=True))
        except psycopg.Error:
            self._not_before = self.clock() + _AFTER_FAILURE_SECONDS
        seconds = self.clock() - began
        if seconds > self.cheap_seconds * len(by_probe):
            self._expected.clear()
            self._before.clear()
        return dict.fromkeys(by_probe, seconds / len(by_probe))


def _answers(connection: Connection, messages: Sequence[Message]) -> Iterator[list[Rows]]:
    """The results of each message's statements. Settings that one has in common with the one before are made once."""
    settings = [message[0] for message in messages]
    same = [False, *(one == before for before, one in pairwise(settings))]
    looks = [look for message, settled in zip(messages, same, strict=True) for look in message[settled:]]
    cursor = connection.execute(kept_plans(connection).message(looks))
    results: list[Rows] = []
    for message, settled in zip(messages, same, strict=True):
        results = results[:1] if settled else []
        for _ in message[settled:]:
            results.append(cursor.fetchall())
            cursor.nextset()
        yield results
