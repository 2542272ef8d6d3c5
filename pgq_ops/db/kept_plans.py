"""Looks that a session makes again and again: the server parses and plans them once.

A plan without parameters is the one that planning it anew would give: PostgreSQL drops it when the table, its indexes
or its statistics change (plancache.c). Behind a transaction pooler a session is one server process for a message only:
there, no plan is kept once one was not found.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, ref

import psycopg
from psycopg import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection

# A command makes its looks once or twice, and an agent for days.
_WORTH_IT = 3
# So many at most, some 100 kB each in the server's process; those of further looks are made each time. Texts are ours.
_MOST, _MOST_TEXTS = 96, 2_000
_PLANNED_EACH_TIME = b"EXPLAIN"
_PARAMETER = re.compile(r"%\((\w+)\)s")
# A table may grow much without an ANALYZE, and the planner would see it by the size of the file.
_FRESH_SECONDS = 600.0


@dataclass(slots=True)
class _Look:
    times: int = 0
    name: str = ""
    until: float = 0.0
    used_at: float = 0.0


class Answers(Protocol):
    """What messages that are known to come have brought."""

    def answer(self, message: tuple[bytes, ...]) -> list[list[tuple[Any, ...]]] | None:
        """The results of each statement of the message, if they are there."""
        ...

    def took(self, message: tuple[bytes, ...], seconds: float) -> None:
        """Note a message that was sent by itself."""
        ...


@dataclass(slots=True)
class KeptPlans:
    """Those of one session, which is `session()`. `clock()` is monotonic seconds."""

    session: Callable[[], Connection | None]
    clock: Callable[[], float] = time.monotonic
    foreseen: Answers | None = None
    _lost: bool = False
    # Somebody else's plan, in a server process that is shared, must not be taken for ours.
    _prefix: str = field(default_factory=lambda: f"pgq_ops_{secrets.token_hex(4)}_")
    _texts: dict[tuple[Any, ...], bytes] = field(default_factory=dict)
    _looks: dict[bytes, _Look] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def connection(self) -> Connection:
        """The session's connection: whoever asks has it at hand, and it is not kept alive by its plans."""
        connection = self.session()
        if connection is None:
            raise ReferenceError("the session is gone")
        return connection

    def text(self, look: composing.Composable, parameters: Mapping[str, Any]) -> bytes:
        """The look with the values of its parameters in their places; to put them there takes as long as to plan."""
        statement = look.as_string(None)
        # By value: looks are put together anew each minute, and the agent lives for months.
        key = (statement, *(_hashable(parameters.get(name)) for name in _names(statement)))
        text = self._texts.get(key)
        if text is None:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            mogrified = psycopg.ClientCursor(self.connection).mogrify(statement, parameters)
            text = self._texts[key] = mogrified.encode(self.connection.info.encoding)
        return text

    def statement(self, look: bytes) -> bytes:
        """What to send for the look, which has no parameters left. Raises the driver's errors."""
        if self._lost or look.startswith(_PLANNED_EACH_TIME):
            return look
        known = self._looks.get(look)
        if known is None:
            if len(self._looks) >= _MOST and not self._drop_unused():
                return look
            known = self._looks[look] = _Look()
        known.used_at = self.clock()
        if known.name and known.used_at >= known.until:
            self.forget([look])
            return look
        known.times += 1
        if not known.name:
            if known.times < _WORTH_IT:
                return look
            name = f"{self._prefix}{next(self._numbers)}"
            self.connection.execute(b"PREPARE " + name.encode() + b" AS " + look)
            known.name, known.until = name, self.clock() + _FRESH_SECONDS
        return b"EXECUTE " + known.name.encode()

    def message(self, looks: Iterable[bytes]) -> bytes:
        """What to send for several of them, in one message. Raises the driver's errors."""
        return b";\n".join(map(self.statement, looks))

    def _drop_unused(self) -> bool:
        """Drop what is asked no longer, as after a change of the configuration; says whether there is room now.

        Never one that was asked lately: it may be in the message that is being put together.
        """
        before = self.clock() - _FRESH_SECONDS
        self.forget([look for look, known in self._looks.items() if known.used_at < before])
        return len(self._looks) < _MOST

    def forget(self, looks: Iterable[bytes]) -> bool:
        """Drop the plans of these looks; says whether there were any."""
        dropped = [known.name for look in looks if (known := self._looks.pop(look, None)) is not None and known.name]
        for name in dropped:
            try:
                self.connection.execute(b"DEALLOCATE " + name.encode())
            except errors.InvalidSqlStatementName:
                self._lost = True
            except psycopg.Error:
                return True
        return bool(dropped)


_BY_CONNECTION: WeakKeyDictionary[Connection, KeptPlans] = WeakKeyDictionary()


def kept_plans(connection: Connection) -> KeptPlans:
    """The plans that the session keeps."""
    plans = _BY_CONNECTION.get(connection)
    if plans is None:
        plans = _BY_CONNECTION[connection] = KeptPlans(ref(connection))
    return plans


@lru_cache(maxsize=_MOST_TEXTS)
def _names(statement: str) -> tuple[str, ...]:
    """The parameters that the statement has."""
    return tuple(dict.fromkeys(_PARAMETER.findall(statement)))


def _hashable(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
