"""What a queue is called where it is shown: a bounded set of names that stays the same while the process lives."""

from __future__ import annotations

import hashlib
import re
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NULL_QUEUE = "(null)"
# Prometheus takes a label without a value for none at all.
EMPTY_QUEUE = "(empty)"
OTHER_QUEUES = "(other)"
ALL_QUEUES = "(all)"

# Each queue is some twenty series; people watch a few dozen queues one by one, not thousands.
MOST_LABELS = 50
# Long enough for names that people gave, short enough that 4 KB names do not fill the exposition.
_LONGEST = 200
_RESERVED = frozenset({NULL_QUEUE, EMPTY_QUEUE, OTHER_QUEUES, ALL_QUEUES})
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


class QueueLabels:
    """The labels of one job table's queues: the first `most` get their own, later ones share `(other)`.

    A queue that was given a label keeps it. Safe to use from several threads.
    """

    def __init__(self, most: int = MOST_LABELS) -> None:
        self._most = most
        self._own: dict[str | None, str] = {}
        self._lock = Lock()

    def configure(self, queues: Iterable[str]) -> None:
        """Give queues that the config names a label of their own, whatever their number."""
        with self._lock:
            for queue in queues:
                self._own.setdefault(queue, shown(queue))

    def admit(self, sizes: Mapping[str | None, int]) -> None:
        """Give labels to queues while there is room: those with the most jobs first, then by name."""
        for queue in sorted(sizes, key=lambda queue: (-sizes[queue], queue is None, queue or "")):
            self.label(queue)

    def label(self, queue: str | None) -> str:
        """The label of a queue; one seen for the first time gets its own where there is room."""
        with self._lock:
            own = self._own.get(queue)
            if own is None and len(self._own) < self._most:
                own = self._own[queue] = shown(queue)
            return OTHER_QUEUES if own is None else own

    def known(self) -> tuple[str | None, ...]:
        """The queues that have a label of their own, the earliest first."""
        with self._lock:
            return tuple(self._own)


_labels: dict[tuple[str, str], QueueLabels] = {}
_labels_lock = Lock()


def queue_labels(database: str, job_table: str) -> QueueLabels:
    """The labels of a job table, the same ones for everything in this process."""
    with _labels_lock:
        return _labels.setdefault((database, job_table), QueueLabels())


def queue_label(database: str, job_table: str, queue: str | None) -> str:
    """The label of a job table's queue."""
    return queue_labels(database, job_table).label(queue)


def shown(queue: str | None) -> str:
    """A queue's name for people: `(null)`, `(empty)`, or its text without control characters, at most 200 long.

    Whatever had to be changed ends in a digest of the original, so that two queues never share a name by chance.
    """
    if not queue:
        return NULL_QUEUE if queue is None else EMPTY_QUEUE
    clean = _CONTROLS.sub("\ufffd", queue)
    if clean == queue and len(queue) <= _LONGEST and queue not in _RESERVED:
        return queue
    digest = hashlib.sha256(queue.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{clean[: _LONGEST - 9]}#{digest}"
