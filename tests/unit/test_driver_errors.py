"""The driver's errors in our words."""

from __future__ import annotations

import psycopg
import pytest

from pgq_ops.db.failures import driver_errors, is_connection_loss
from pgq_ops.errors import DatabaseFailed, DatabaseUnreachable

REFUSED = (
    'connection to server at "127.0.0.1", port 1 failed: Connection refused\n'
    "\tIs the server running on that host and accepting TCP/IP connections?\n"
)


def told(error: psycopg.Error) -> str:
    with pytest.raises(DatabaseUnreachable) as caught, driver_errors("connect"):
        raise error
    return str(caught.value)


def test_the_lines_of_libpq_are_told_from_each_other() -> None:
    assert told(psycopg.OperationalError(REFUSED)).endswith(
        "Connection refused; Is the server running on that host and accepting TCP/IP connections?"
    )


def test_who_gave_no_password_is_told_where_one_goes() -> None:
    message = told(psycopg.OperationalError("connection failed: fe_sendauth: no password supplied"))
    assert "set PGPASSWORD, or write a line for this server into ~/.pgpass" in message
    assert "PGPASSWORD" not in told(psycopg.OperationalError(REFUSED))


def test_what_the_database_cannot_carry_out_is_neither_usage_nor_a_lost_connection() -> None:
    with pytest.raises(DatabaseFailed, match="could not read: invalid byte sequence") as caught, driver_errors("read"):
        raise psycopg.errors.CharacterNotInRepertoire("invalid byte sequence")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "kind",
    [
        psycopg.errors.AdminShutdown,
        psycopg.errors.CannotConnectNow,
        psycopg.errors.ProtocolViolation,
        psycopg.errors.TooManyConnections,
        psycopg.errors.ReadOnlySqlTransaction,
        psycopg.errors.InvalidPassword,
        psycopg.errors.InvalidCatalogName,
    ],
)
def test_somebody_between_who_tells_no_severity_is_taken_at_the_sqlstate(kind: type[psycopg.Error]) -> None:
    assert is_connection_loss(kind("gone"))


@pytest.mark.parametrize("kind", [psycopg.errors.DeadlockDetected, psycopg.errors.DiskFull, psycopg.ProgrammingError])
def test_an_error_that_leaves_the_session_as_it_was_is_no_loss(kind: type[psycopg.Error]) -> None:
    assert not is_connection_loss(kind("no"))


def test_a_message_of_any_length_is_told_in_part() -> None:
    with pytest.raises(DatabaseFailed) as caught, driver_errors("read"):
        raise psycopg.errors.RaiseException("x" * 1_000_000)
    assert len(str(caught.value)) == len("could not read: ") + 2_000
    assert str(caught.value).endswith("x...")
