"""A probe that always fails: what is not judged by it closes all the same, in the log and in the record."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pgq_ops.agent.collecting import Collecting
from pgq_ops.agent.recording import Recorder
from pgq_ops.probes.registry import DATABASE_PROBES, PROBES
from pgq_ops.schema.versions import install
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.probes.probe import DatabaseProbe, Probe
    from tests.support.collecting import Collection
    from tests.support.database import Database

EXPIRED = "INSERT INTO jobs (queue, status, lease_until) VALUES ('a', 'running', now() - interval '1 h')"
ROWS = "SELECT finding, closed_at IS NULL FROM pgq_ops.finding WHERE severity = 'critical'"


class Broken:
    """A probe that fails at every look."""

    families = ()
    every_seconds = 0.0

    def __init__(self, name: str) -> None:
        self.name = name

    def collect(self, *_: object) -> list[Any]:
        raise RuntimeError(f"{self.name} is broken")


def breaking(seen: Collection, name: str) -> None:
    broken: Any = Broken(name)
    seen.collector.probes = cast("tuple[Probe, ...]", tuple(broken if one.name == name else one for one in PROBES))
    seen.collector.database_probes = cast(
        "tuple[DatabaseProbe, ...]", tuple(broken if one.name == name else one for one in DATABASE_PROBES)
    )


def agent_over(seen: Collection, recorder: Recorder) -> Collecting:
    """What the agent's probes' thread runs, with everything else left out."""
    name = seen.table.name
    others: Any = SimpleNamespace(
        led=lambda: frozenset({name}),
        holds=lambda _: True,
        tables=lambda: {name: seen.table},
        names=lambda: (name,),
        rebind=lambda _: None,
        is_asked_for=lambda *_: False,
        result=lambda *_: None,
        is_set=lambda: False,
    )
    return Collecting(seen.collector.session, seen.collector, others, others, others, recorder, others)


@pytest.fixture
def seen(database: Database) -> Collection:
    create_field_table(database)
    install(database.connect())
    database.execute("INSERT INTO jobs DEFAULT VALUES")
    return collection_of(database, FIELD)


@pytest.mark.parametrize(
    ("broken", "closes"),
    [("claim", True), ("horizon", True), ("table", True), ("transactions", True), ("slo", True), ("leases", False)],
)
def test_a_finding_closes_unless_a_probe_that_it_is_judged_by_fails(
    database: Database,
    seen: Collection,
    caplog: pytest.LogCaptureFixture,
    broken: str,
    closes: bool,  # noqa: FBT001
) -> None:
    recorder = Recorder("observe")
    agent, connection = agent_over(seen, recorder), database.connect()
    if broken != "leases":
        breaking(seen, broken)
    database.execute(EXPIRED)
    with caplog.at_level(logging.INFO):
        agent.round()
        recorder.write(connection, {"jobs"})
        assert ("not-reaped", True) in database.rows(ROWS)
        breaking(seen, broken)
        database.execute("DELETE FROM jobs WHERE status = 'running'")
        seen.clock.seconds += 600
        agent.round()
        recorder.write(connection, {"jobs"})
    assert ("not-reaped", not closes) in database.rows(ROWS)
    closed = [vars(record) for record in caplog.records if record.msg == "finding.closed"]
    assert (len(closed) == 1) is closes


def test_a_database_that_is_not_reached_judges_nothing(seen: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> None:
        raise OSError

    assert seen.collect().unjudged == frozenset()
    monkeypatch.setattr(type(seen.collector.session), "connection", lambda _: unreachable())
    assert {"not-reaped", "claims-costly", "idle-in-transaction"} <= seen.collect().unjudged
