"""A primary that goes away under the agent, and a standby of it that is promoted; the DSN names both."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import EXPIRED, JOBS, wait_until
from tests.support.standby import caught_up, query, standby_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.agent import Agent

    Start = Callable[..., Agent]

pytestmark = pytest.mark.networks

LOCKS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
# From the promotion on: a tick of 2 s, and a try at each server.
LONGEST = 10


@pytest.fixture
def primary() -> Iterator[EmbeddedServer]:
    with EmbeddedServer({"fsync": "off"}) as server:
        query(server, JOBS.format(name="jobs") + JOBS.format(name="more"))
        yield server


@pytest.fixture
def standby(primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    with standby_of(primary) as server:
        yield server


def uri(*servers: EmbeddedServer) -> str:
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"postgresql://postgres:{quote(servers[0].password)}@{hosts}/postgres"


def keywords(*servers: EmbeddedServer) -> str:
    ports = ",".join(str(server.port) for server in servers)
    hosts = ",".join("127.0.0.1" for _ in servers)
    return (
        f"host={hosts} port={ports} user=postgres dbname=postgres"
        f" password='{servers[0].password}' target_session_attrs=read-write"
    )


def pending(server: EmbeddedServer, table: str) -> int:
    return int(query(server, f"SELECT count(*) FROM {table} WHERE status = 'pending'"))


@pytest.mark.case("A4")
def test_agents_lead_on_the_standby_once_it_is_promoted_and_nowhere_before(
    primary: EmbeddedServer, standby: EmbeddedServer, start: Start
) -> None:
    """Two of them, each with a job table of its own and the two forms that a DSN of two hosts can have."""
    dsns = {"jobs": uri(standby, primary), "more": keywords(standby, primary)}
    agents = {table: start(dsn, table, every="500ms") for table, dsn in dsns.items()}
    for table, agent in agents.items():
        wait_until(lambda agent=agent, table=table: agent.leads(table))  # type: ignore[misc]
        query(primary, EXPIRED.format(name=table))
        wait_until(lambda table=table: pending(primary, table) == 1)  # type: ignore[misc]
    assert query(primary, LOCKS) == 2, "they found the primary, though the standby is named first"
    caught_up(primary, standby)
    primary.kill()
    for table, agent in agents.items():
        wait_until(lambda agent=agent, table=table: not agent.leads(table) and agent.value("pgqops_up") == 0)  # type: ignore[misc]
        assert not agent.series("pgqops_jobs"), "absent, not frozen"
        wait_until(lambda agent=agent: agent.events("database.not_usable"))  # type: ignore[misc]
    ticks = time.monotonic() + 4.5  # two more
    while time.monotonic() < ticks:
        assert query(standby, LOCKS) == 0, "nobody holds a lock on a server in recovery"
        assert not any(agent.leads(table) for table, agent in agents.items())
        time.sleep(0.1)
    promoted = time.monotonic()
    assert query(standby, "SELECT pg_promote()")
    for table, agent in agents.items():
        query(standby, EXPIRED.format(name=table))
        wait_until(lambda table=table: pending(standby, table) == 2, LONGEST, "it reaps there")  # type: ignore[misc]
        print(f"standby promoted -> {table} reaped there: {time.monotonic() - promoted:.1f} s")  # noqa: T201 (a measurement)
        assert agent.leads(table)
        wait_until(lambda agent=agent: agent.value("pgqops_up") == 1 and agent.series("pgqops_jobs"))  # type: ignore[misc]
    the_old_primary_is_no_place_to_lead(primary, standby)


def the_old_primary_is_no_place_to_lead(primary: EmbeddedServer, standby: EmbeddedServer) -> None:
    """It comes back as a standby, and the new primary is away for a moment."""
    (primary.folder.data / "standby.signal").touch()
    primary.start()
    standby.restart()
    wait_until(lambda: query(standby, LOCKS) == 2, LONGEST, "they lead on the new primary")
    assert query(primary, "SELECT pg_is_in_recovery()")
    assert query(primary, LOCKS) == 0
