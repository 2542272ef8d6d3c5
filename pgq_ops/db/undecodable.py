"""Text that is not UTF-8: shown with escapes, and sent back as the very bytes that came.

A database without an encoding (SQL_ASCII) takes and hands out any bytes, and names that are made in one (of databases,
roles, prepared transactions) are seen from every other database of the cluster.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg import sql as composing
from psycopg.adapt import Loader
from psycopg.types.array import ListDumper
from psycopg.types.json import set_json_loads
from psycopg.types.string import StrDumperUnknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.abc import Buffer, DumperKey, Query
    from psycopg.adapt import PyFormat
    from psycopg.types.array import BaseListDumper

    Connection = psycopg.Connection[tuple[Any, ...]]

NO_ENCODING = "SQL_ASCII"

# What a value of an unknown type (0: an enum, an extension's) is read as too.
_TEXTS = (0, "text", "varchar", "bpchar", "name", '"char"')
# What stands for a byte that is not UTF-8 (PEP 383).
_SURROGATE = re.compile("[\udc80-\udcff]")


class Undecodable(str):
    r"""Text in which `\xe9` stands for a byte that is not UTF-8; `raw` are the bytes.

    As a parameter it is the bytes, so that it never finds a row whose text really has a backslash there; a server that
    takes no such bytes refuses it. What is made of it (formatted, cut, joined) is a plain str.
    """

    __slots__ = ("raw",)
    raw: bytes

    @classmethod
    def of(cls, raw: bytes) -> Self:
        """The bytes as text."""
        text = cls(raw.decode(errors="backslashreplace"))
        text.raw = raw
        return text

    @property
    def pasted(self) -> str:
        """The text as a literal of SQL, for a session in a database that takes such bytes."""
        shown = (chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in self.raw)  # noqa: PLR2004 (ASCII)
        return f"E'{''.join(shown)}'"


def text_of(raw: bytes) -> str:
    """The bytes as text, whatever they are."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return Undecodable.of(raw)


def read_any_text(connection: Connection) -> None:
    """Have the connection read text of any bytes. Without it one such name fails the statement that meets it.

    Where the database has no encoding, the session is to have none either, or the server refuses the text itself.
    """
    for name in _TEXTS:
        connection.adapters.register_loader(name, _TextLoader)
    connection.adapters.register_dumper(Undecodable, _RawDumper)
    connection.adapters.register_dumper(list, _RawListDumper)
    set_json_loads(_json, connection)
    if has_no_encoding(connection):
        connection.cursor_factory = _Cursor


def has_no_encoding(connection: Connection) -> bool:
    """Whether its database has none."""
    return connection.info.parameter_status("server_encoding") == NO_ENCODING


def client_cursor(connection: Connection) -> psycopg.ClientCursor[tuple[Any, ...]]:
    """A cursor that puts the values in by itself."""
    return _ClientCursor(connection) if has_no_encoding(connection) else psycopg.ClientCursor(connection)


class AnyTextInfo(psycopg.ConnectionInfo):
    """What is known of a connection: its names are in UTF-8 where its database has no encoding."""

    @property
    def encoding(self) -> str:
        """The codec's name."""
        encoding = super().encoding
        return "utf-8" if encoding == "ascii" else encoding


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return text_of(bytes(data))


class _RawDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return obj.raw if isinstance(obj, Undecodable) else super().dump(obj)


class _RawListDumper(ListDumper):
    """The driver takes no lists of several types."""

    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:  # noqa: A002 (the driver's own name)
        return super().get_key(_of_one_type(obj), format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> BaseListDumper:  # noqa: A002 (the driver's own name)
        return super().upgrade(_of_one_type(obj), format)

    def dump(self, obj: list[Any]) -> Buffer | None:
        return super().dump(_of_one_type(obj))


class _InBytes:
    """A session without an encoding is taken to be ASCII by the driver, which then writes no other character."""

    def execute(self, query: Query, *args: Any, **options: Any) -> Any:  # noqa: ANN401 (the driver's own)
        return super().execute(_in_bytes(query), *args, **options)  # type: ignore[misc]


class _Cursor(_InBytes, psycopg.Cursor[Any]):
    pass


class _ClientCursor(_InBytes, psycopg.ClientCursor[Any]):
    pass


def _in_bytes(query: Query) -> Query:
    if isinstance(query, composing.Composable):
        return query.as_bytes(None)
    return query.encode() if isinstance(query, str) else query


def _of_one_type(values: Sequence[Any]) -> list[Any]:
    if not any(isinstance(value, Undecodable) for value in values):
        return list(values)
    return [
        Undecodable.of(value.encode()) if isinstance(value, str) and not isinstance(value, Undecodable) else value
        for value in values
    ]


def _json(data: str | bytes) -> Any:  # noqa: ANN401 (what the JSON holds)
    text = data if isinstance(data, str) else bytes(data).decode(errors="surrogateescape")
    # Within JSON, a backslash is written as two.
    return json.loads(_SURROGATE.sub(lambda found: rf"\\x{ord(found[0]) - 0xDC00:02x}", text))
