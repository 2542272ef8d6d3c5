"""What a VACUUM of ours, which gives way to nobody by itself, is ended for."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from pgq_ops.job_table.table import JobTable


class Watched(Protocol):
    """One statement that is watched."""

    def must_end(self) -> str:
        """Why it has to be cancelled now; empty where it may go on. Asked ten times a second while it runs."""
        ...

    def cancelled_for(self) -> str:
        """For whom, or for what, it was cancelled; empty where it was not. To be asked once it is watched no more."""
        ...


class Watch(Protocol):
    """Sees to it that nobody waits for a statement of ours: whoever comes to wait has it cancelled within 500 ms."""

    def over(self, table: JobTable, pid: int) -> AbstractContextManager[Watched]:
        """Watch what the session with that server process runs within; a look that has begun is over with the block."""
        ...


@dataclass(frozen=True, slots=True)
class _Unwatched:
    def must_end(self) -> str:
        return ""

    def cancelled_for(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class NoWatch:
    """Where nothing is run, or nobody else is there: the statement goes on to its end."""

    @contextmanager
    def over(self, table: JobTable, pid: int) -> Iterator[Watched]:
        """As the Protocol has it."""
        del table, pid
        yield _Unwatched()
