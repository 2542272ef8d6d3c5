from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load, Refused

BASE = """
[job_tables.a]
table = "a"
{table}
[job_tables.a.columns]
state = "s"
{columns}
[job_tables.a.states]
running = ["r"]
{states}
{more}
"""
PENDING = 'pending = ["p"]'
DEAD = 'dead = ["d"]'


def job_table(columns: str = "", states: str = f"{PENDING}\n{DEAD}", more: str = "", table: str = "") -> str:
    return BASE.format(columns=columns, states=states, more=more, table=table)


def test_a_table_without_any_lease_can_be_observed(load_text: Load) -> None:
    assert not load_text(job_table()).config.job_tables["a"].columns.has_lease


@pytest.mark.parametrize("column", ["heartbeat_at", "leased_at"])
def test_a_timeout_is_needed_where_nothing_else_ends_a_lease(refused: Refused, load_text: Load, column: str) -> None:
    told = refused(job_table(f'{column} = "x"'))
    assert told.startswith("pgq-ops.toml: job_tables.a.lease.timeout: is needed")
    load_text(job_table(f'{column} = "x"', more='[job_tables.a.lease]\ntimeout = "5m"'))
    load_text(job_table(f'{column} = "x"\nlease_expires_at = "y"'))


@pytest.mark.parametrize("columns", ["", 'lease_expires_at = "y"'])
def test_a_timeout_that_counts_from_nothing_is_refused(refused: Refused, columns: str) -> None:
    told = refused(job_table(columns, more='[job_tables.a.lease]\ntimeout = "5m"'))
    assert "job_tables.a.lease.timeout: has no effect" in told


def test_a_missing_lease_is_judged_by_an_age(refused: Refused, load_text: Load) -> None:
    missing = '[job_tables.a.lease]\nmissing_after = "1h"'
    assert "lease.missing_after: needs columns.leased_at or columns.created_at" in refused(job_table(more=missing))
    load_text(job_table('created_at = "c"', more=missing))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (DEAD, 'states.pending: is needed (such as ["pending"])'),
        (PENDING, 'states.dead: is needed (such as ["failed"], or set reaper.dead_letter_table)'),
    ],
)
def test_the_states_that_every_job_passes_are_needed(refused: Refused, states: str, message: str) -> None:
    assert message in refused(job_table(states=states))


def test_a_dead_letter_table_stands_for_a_dead_state(load_text: Load) -> None:
    load_text(job_table('lease_expires_at = "x"', PENDING, '[job_tables.a.reaper]\ndead_letter_table = "dead"'))


def test_values_need_the_column_they_are_values_of(refused: Refused, load_text: Load) -> None:
    text = job_table('kind = "k"').replace('state = "s"', "")
    assert "columns.state: is needed" in refused(text)
    predicates = 'running = { where = "r" }\npending = { where = "p" }\ndead = { where = "d" }'
    load_text(text.replace('running = ["r"]', "").replace(f"{PENDING}\n{DEAD}", predicates))


def test_a_reaper_that_was_asked_for_needs_a_lease(refused: Refused, load_text: Load) -> None:
    told = refused(job_table(more="[job_tables.a.reaper]"))
    assert "job_tables.a.reaper: no lease is mapped" in told
    load_text(job_table(more="[job_tables.a.reaper]\nenabled = false"))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (f'pending = {{ where = "x" }}\n{DEAD}', "states.pending: is a predicate without `set`"),
        (f'dead = {{ where = "x" }}\n{PENDING}', "states.dead: is a predicate without `set`"),
    ],
)
def test_a_reaper_must_be_able_to_write_the_states(
    refused: Refused, load_text: Load, states: str, message: str
) -> None:
    lease = 'lease_expires_at = "x"'
    assert message in refused(job_table(lease, states, "[job_tables.a.reaper]"))
    load_text(job_table(lease, states))
    load_text(job_table(lease, states.replace('"x"', '"x", set = { s = "1" }'), "[job_tables.a.reaper]"))


def test_a_reaper_cannot_write_an_expression(refused: Refused) -> None:
    text = job_table('lease_expires_at = "x"', more="[job_tables.a.reaper]").replace('"s"', '{ sql = "s::text" }')
    assert "states.pending: is a value of an SQL expression, which the reaper cannot write" in refused(text)


def test_queues_need_a_queue_column(refused: Refused) -> None:
    told = refused(job_table(more='[job_tables.a.queues.video]\nslo.oldest_ready = "1h"'))
    assert "job_tables.a.queues: needs columns.queue" in told


def test_one_table_has_one_dead_letter_table(refused: Refused) -> None:
    told = refused(job_table('queue = "q"', more='[job_tables.a.queues.video]\nreaper.dead_letter_table = "d"'))
    assert "queues.video.reaper.dead_letter_table: cannot differ by queue" in told
