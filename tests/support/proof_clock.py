"""A clock that only moves when it is told to, and dice that show what they are told, inside the database.

In the one database, `pg_catalog.now()`, `clock_timestamp()` and `random()` are functions of the proof's, and
PostgreSQL's own have other names: each database has its own catalog of functions. So the database's clock still decides
everything, in every session and in the product's own statements, to the microsecond; rows that an open transaction has
locked grow older too; and a run can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.database import Database

# Second 0: later than any server can have been started, since the agent asks how long it has been up.
BEGINNING = datetime(2100, 6, 1, tzinfo=UTC)

_SCHEMA = """
CREATE SCHEMA proof;
CREATE TABLE proof.clock (moment timestamptz NOT NULL, dice double precision NOT NULL);
INSERT INTO proof.clock VALUES ('{beginning}', 0);
ALTER FUNCTION pg_catalog.now() RENAME TO now_of_the_server;
ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO clock_timestamp_of_the_server;
ALTER FUNCTION pg_catalog.random() RENAME TO random_of_the_server;
CREATE FUNCTION pg_catalog.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT moment FROM proof.clock';
CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT moment FROM proof.clock';
CREATE FUNCTION pg_catalog.random() RETURNS double precision LANGUAGE sql VOLATILE AS 'SELECT dice FROM proof.clock';
"""


@dataclass(slots=True)
class ProofClock:
    """The database's time in seconds since `BEGINNING`, and what its dice show (0 to 1)."""

    database: Database
    seconds: float = 0.0
    dice: float = 0.0

    def install(self) -> None:
        """Put the clock into the database; sessions that are opened from now on go by it."""
        self.database.execute(_SCHEMA.format(beginning=BEGINNING.isoformat()))

    def set(self, seconds: float, dice: float) -> None:
        """Make it so late."""
        self.seconds, self.dice = seconds, dice
        self.database.execute(
            "UPDATE proof.clock SET moment = %(beginning)s + make_interval(secs => %(seconds)s), dice = %(dice)s",
            {"beginning": BEGINNING, "seconds": seconds, "dice": dice},
        )

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.set(self.seconds + seconds, self.dice)


def moment(seconds: float) -> datetime:
    """A moment of the clock."""
    return BEGINNING + timedelta(seconds=seconds)


def seconds_of(text: str) -> float:
    """The seconds of a time as `to_jsonb` writes it."""
    return (datetime.fromisoformat(text) - BEGINNING).total_seconds()
