"""Runs probes, each in its time, and keeps what they say in the store; measures how long each takes and whether it did.

A probe that took t is not run again before 100 t, nor before its own interval is over; its values stand until then.
One that failed on a lock or the connection is tried again at the next call. A failed probe's values are gone at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pgq_ops.db.answers import pause
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.exporter import health
from pgq_ops.exporter.pace import Pace
from pgq_ops.stats.foreseen import Foreseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.db.session import Session
    from pgq_ops.exporter.store import Store
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.probe import AnyProbe

    P = TypeVar("P", bound=AnyProbe)


@dataclass(frozen=True, slots=True)
class ProbeFailure:
    """A probe that failed: to be logged once by the caller. `lost`: the connection was to blame."""

    probe: str
    error: Exception
    lost: bool


@dataclass(slots=True)
class Runs:
    """The runs of some probes. `key` is what the store keeps them under: a job table's name, or empty.

    `forget` is called with the name of a probe that failed. `clock()` is monotonic seconds.
    """

    session: Session
    store: Store
    key: str
    clock: Callable[[], float]
    forget: Callable[[str], None]
    pace: Pace = field(init=False)
    duration: dict[str, float] = field(default_factory=dict)
    success: dict[str, bool] = field(default_factory=dict)
    _foreseen: Foreseen = field(init=False)

    def __post_init__(self) -> None:
        """Everything is due."""
        self.pace = Pace(self.clock)
        self._foreseen = Foreseen(self.clock)

    def run_due(
        self,
        connection: Connection,
        probes: Sequence[P],
        collect: Callable[[P], Iterable[Sample]],
    ) -> list[ProbeFailure]:
        """Run what is due, up to a failure that the connection is to blame for."""
        failures: list[ProbeFailure] = []
        due = [probe for probe in probes if self.pace.is_due(probe.name)]
        with self._foreseen.made(connection, [probe.name for probe in due]) as seconds:
            for probe in due:
                self._pause()
                if not (failures and failures[-1].lost):
                    failures += self._run(probe, collect, seconds.get(probe.name, 0.0))
        return failures

    def not_reached(self, probes: Sequence[AnyProbe]) -> None:
        """Note that none of the probes could look, since the database was not reached."""
        for probe in probes:
            self._failed(probe)
            self.pace.blocked(probe.name)
        self.duration.clear()

    def samples(self, database: str) -> Iterator[Sample]:
        """Duration and success of each probe."""
        for probe, success in self.success.items():
            yield health.SUCCESS.sample(success, database, self.key, probe)
        for probe, seconds in self.duration.items():
            yield health.DURATION.sample(seconds, database, self.key, probe)

    def _run(self, probe: P, collect: Callable[[P], Iterable[Sample]], before_seconds: float) -> Iterator[ProbeFailure]:
        """One probe, measured, with what was done for it before; yields its failure, if it failed."""
        began = self.clock() - before_seconds
        blocked = False
        try:
            with self._foreseen.asking(probe.name):
                self.store.put(self.key, probe.name, collect(probe))
            self.success[probe.name] = True
        except Exception as error:  # noqa: BLE001  # one probe's failure never stops the others
            self._failed(probe)
            connection = self.session.current
            lost = is_connection_loss(error) or connection is None or connection.closed
            if lost:
                self.session.discard()
            yield ProbeFailure(probe.name, error, lost)
            blocked = lost or is_busy(error)
        self.duration[probe.name] = self.clock() - began
        if blocked:
            self.pace.blocked(probe.name)
        else:
            self.pace.looked(probe.name, self.duration[probe.name], probe.every_seconds)

    def _pause(self) -> None:
        if self.session.current is not None:
            pause(self.session.current)

    def _failed(self, probe: AnyProbe) -> None:
        self.success[probe.name] = False
        self.store.remove(self.key, probe.name)
        self.forget(probe.name)
