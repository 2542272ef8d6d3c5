"""The network between an agent and the server swallows packets: neither side is told of anything."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import EXPIRED, JOBS, wait_until
from tests.support.agent_tasks import ACTED
from tests.support.cut import OTHER_ADDRESS, cut, needs_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.agent import Agent

    Start = Callable[..., Agent]

pytestmark = [needs_cut, pytest.mark.networks]

PROMISED = 30  # seconds until another one leads
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgq-ops/leader'"
YOUNG = (
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgq-ops/leader' AND state = 'active'"
    " AND query LIKE '%pg_sleep(29)%' AND clock_timestamp() - query_start < interval '1 s'"
)


class Reached(EmbeddedServer):
    """A server at two addresses of this machine."""

    def near(self) -> str:
        return self.dsn()

    def far(self) -> str:
        """By the address that can be cut off."""
        return make_conninfo(self.dsn(), host=OTHER_ADDRESS)

    def value(self, query: str) -> int:
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            return int(connection.execute(query.encode()).fetchall()[0][0])


@pytest.fixture
def own() -> Iterator[Reached]:
    with Reached({"fsync": "off", "listen_addresses": f"127.0.0.1,{OTHER_ADDRESS}"}) as own:
        with psycopg.connect(own.dsn(), autocommit=True) as connection:
            connection.execute((JOBS.format(name="jobs") + ACTED).encode())
        yield own


def acted(own: Reached, agent: Agent) -> int:
    return own.value(f"SELECT count(*) FROM acted WHERE agent = {agent.pid}")


def answers_at_once(agent: Agent) -> None:
    for path in ("/metrics", "/livez", "/readyz") * 5:
        began = time.monotonic()
        assert agent.get(path)[0] == 200
        assert time.monotonic() - began < 1


@pytest.mark.parametrize(("task", "promised"), [("leaves", PROMISED), ("sleeps_long", 22)])
def test_another_agent_leads_in_time_and_the_one_that_is_cut_off_no_longer_says_it_does(
    own: Reached, start: Start, task: str, promised: int
) -> None:
    """Between statements, and in one that takes 29 s on the server, which does not carry it on to its end."""
    old = start(own.far(), tasks=task, every="500ms")
    wait_until(lambda: old.leads() and acted(own, old))
    new = start(own.near(), tasks="leaves", every="500ms")
    wait_until(lambda: new.get("/readyz")[0] == 200 and old.value("pgqops_up") == 1)
    wait_until(lambda: task == "leaves" or own.value(YOUNG), 35, "a statement has just begun")
    with cut(own.port):
        began = time.monotonic()
        wait_until(lambda: new.leads() and acted(own, new), promised + 20, "the other one leads and acts")
        took = time.monotonic() - began
        print(f"cut off in {task} -> the next one acted: {took:.1f} s")  # noqa: T201 (a measurement)
        assert took <= promised
        wait_until(lambda: not old.leads(), PROMISED, "the old one no longer says that it leads")
        print(f"the old one stopped saying so after {time.monotonic() - began:.1f} s")  # noqa: T201 (a measurement)
        wait_until(lambda: old.value("pgqops_up") == 0)
        assert not old.series("pgqops_jobs"), "absent, not frozen"
        answers_at_once(old)
        before = acted(own, old)
    wait_until(lambda: own.value(SESSIONS) == 2, 20, "once the network is back, so is its session")
    assert new.leads()
    assert not old.leads()
    assert acted(own, old) == before
    new.signal(signal.SIGKILL)
    wait_until(lambda: old.leads() and acted(own, old) > before, 10)


def test_an_agent_that_is_cut_off_ends_within_ten_seconds(own: Reached, start: Start) -> None:
    agent = start(own.far())
    wait_until(agent.leads)
    with cut(own.port):
        time.sleep(3)  # its next tick waits for an answer by now
        began = time.monotonic()
        agent.signal(signal.SIGTERM)
        assert agent.ended(12) == 0
        assert time.monotonic() - began < 10
        wait_until(lambda: own.value(SESSIONS) == 0, PROMISED, "the server notices without a goodbye")


def test_an_agent_that_cannot_reach_the_server_from_the_start_says_so_and_leads_once_it_can(
    own: Reached, start: Start
) -> None:
    with psycopg.connect(own.dsn(), autocommit=True) as connection:
        connection.execute(EXPIRED.format(name="jobs").encode())
    with cut(own.port):
        agent = start(own.far(), every="500ms")
        began = time.monotonic()
        assert "timeout" in agent.told("database.not_usable", 15)["error"]
        assert time.monotonic() - began < 8
        wait_until(lambda: agent.get("/readyz")[0] == 200)
        assert agent.value("pgqops_up") == 0
        answers_at_once(agent)
        other = start(own.far())
        other.told("agent.started")  # it connects now, and gives that up after 5 s
        began = time.monotonic()
        other.signal(signal.SIGTERM)
        assert other.ended(12) == 0
        assert time.monotonic() - began < 10
    wait_until(lambda: own.value("SELECT count(*) FROM jobs WHERE status = 'pending'"), 10)
    assert agent.leads()


def test_of_two_hosts_the_first_of_which_answers_nothing_the_second_one_is_used(own: Reached, start: Start) -> None:
    both = make_conninfo(own.near(), host=f"{OTHER_ADDRESS},127.0.0.1", port=f"{own.port},{own.port}")
    with cut(own.port):
        agent = start(both)
        wait_until(agent.leads, 15)
        wait_until(lambda: agent.value("pgqops_up") == 1, 15)
