"""One part of what is shown: its value, or why there is none. A failure in one leaves the others alone."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import psycopg
from psycopg import errors

from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.errors import NotPermitted
from pgq_ops.exporter.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

NO_TIME = "there was no time left"
TOO_LONG = "took too long"

# SQLSTATE class 42: something named in the statement is not there, or not permitted.
_NAMES_OR_RIGHTS = "42"


@dataclass(slots=True)
class Section(Generic[T]):
    """A look that is repeated in its time: one that took t not before 100 t. `clock()` is monotonic seconds.

    `why` says why there is no value; `busy`, that a lock stood in the way; `outdated`, that the table is not
    (or no longer) as the statement took it to be. Once `clock()` has passed `until` nothing more is read.
    """

    name: str
    clock: Callable[[], float] = time.monotonic
    value: T | None = None
    why: str = ""
    busy: bool = False
    outdated: bool = False
    until: float = math.inf
    _pace: Pace = field(init=False)
    _read_at: float = 0.0

    def __post_init__(self) -> None:
        self._pace = Pace(self.clock)

    @property
    def age_seconds(self) -> float:
        """How long ago the value was read."""
        return self.clock() - self._read_at if self.value is not None else 0.0

    def look(self, read: Callable[[], T]) -> None:
        """Read it if it is due. Raises the driver's error only where the connection is lost."""
        if not self._pace.is_due(self.name):
            return
        began = self.clock()
        if began >= self.until:
            self.skip(NO_TIME)
            return
        try:
            value = read()
        except NotPermitted as error:
            self.skip(str(error))
        except psycopg.Error as error:
            if is_connection_loss(error):
                raise
            self.skip(reason(error))
            self.busy = is_busy(error)
            self.outdated = (error.sqlstate or "").startswith(_NAMES_OR_RIGHTS)
        else:
            self.skip("")
            self.value = value
        self._read_at = self.clock()
        if not self.busy:
            self._pace.looked(self.name, self._read_at - began)

    def hold(self, value: T) -> None:
        """Have a value that follows from another look."""
        self.skip("")
        self.value, self._read_at = value, self.clock()

    def skip(self, why: str) -> None:
        """Have no value, and say why."""
        self.value, self.why, self.busy, self.outdated = None, why, False, False


def reason(error: psycopg.Error) -> str:
    """Why a look failed, in a few words."""
    if is_busy(error):
        return "locked by another session just now"
    if isinstance(error, errors.QueryCanceled):
        return TOO_LONG
    return " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())
