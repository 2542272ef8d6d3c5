"""What must fit together within a job table.

Each check names the sections it reads; where one of them is itself broken, the check is left out, so that
one mistake is not told twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pgq_ops.config.states import StatePredicate, StateValues
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pgq_ops.config.job_table import JobTableConfig
    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.config.schema import KeyPath


class Contradiction(NamedTuple):
    """The key within the job table, what is wrong there, and what would be right."""

    path: KeyPath
    what: str
    hint: str = ""


@dataclass(frozen=True)
class Check:
    """A check and the sections it reads."""

    find: Callable[[JobTableConfig], Iterator[Contradiction]]
    reads: frozenset[str]


def _at(policy: QueuePolicy, *path: str) -> KeyPath:
    return path if policy.queue is None else ("queues", policy.queue, *path)


def missing_states(table: JobTableConfig) -> Iterator[Contradiction]:
    """Every job is pending and running at some time, and a poisonous one must go somewhere."""
    for name in ("pending", "running"):
        if getattr(table.states, name) is None:
            yield Contradiction(("states", name), "is needed", f'such as ["{name}"]')
    if table.states.dead is None and table.reaper.dead_letter_table is None:
        yield Contradiction(("states", "dead"), "is needed", 'such as ["failed"], or set reaper.dead_letter_table')


def missing_state_column(table: JobTableConfig) -> Iterator[Contradiction]:
    """Values are values of a column."""
    if table.columns.state is None and any(isinstance(s, StateValues) for s in table.states.mapped().values()):
        yield Contradiction(("columns", "state"), "is needed", "the states are lists of its values")


def lease_timeout(table: JobTableConfig) -> Iterator[Contradiction]:
    """A timeout counts from a heartbeat or a claim, and is needed where nothing else ends a lease."""
    columns = table.columns
    counted = columns.heartbeat_at or columns.leased_at
    for policy in table.policies():
        if policy.lease.timeout is None:
            if counted and not columns.lease_expires_at:
                what = "is needed: columns.heartbeat_at and columns.leased_at alone do not tell when a lease ends"
                yield Contradiction(_at(policy, "lease", "timeout"), what, 'such as "5m"')
                return
        elif not counted:
            what = "has no effect: it counts from columns.heartbeat_at or columns.leased_at, and neither is mapped"
            yield Contradiction(_at(policy, "lease", "timeout"), what, "leave it out, or map one of them")
            return


def missing_after(table: JobTableConfig) -> Iterator[Contradiction]:
    """A missing lease is judged by the age of the claim or of the job."""
    if table.columns.leased_at or table.columns.created_at:
        return
    for policy in table.policies():
        if policy.lease.missing_after is not None:
            yield Contradiction(_at(policy, "lease", "missing_after"), "needs columns.leased_at or columns.created_at")
            return


def backoff_order(table: JobTableConfig) -> Iterator[Contradiction]:
    """The first delay is not longer than the longest."""
    for policy in table.policies():
        base, longest = policy.reaper.backoff.base, policy.reaper.backoff.max
        inherited = policy.queue is not None and policy.reaper.backoff == table.reaper.backoff
        if base > longest and not inherited:
            what = f'"{format_duration(base)}" is more than backoff.max, which is "{format_duration(longest)}"'
            yield Contradiction(_at(policy, "reaper", "backoff", "base"), what)


def queue_column(table: JobTableConfig) -> Iterator[Contradiction]:
    """A queue is told by its column."""
    if table.queues and table.columns.queue is None:
        yield Contradiction(("queues",), "needs columns.queue", "without it all jobs are one queue")


def one_dead_letter_table(table: JobTableConfig) -> Iterator[Contradiction]:
    """Counts and the `dead` commands read one dead-letter table a job table."""
    for queue, override in table.queues.items():
        for key in ("dead_letter_table", "dead_letter_cascade"):
            if key in override.reaper.model_fields_set:
                what = "cannot differ by queue: a job table has one dead-letter table"
                yield Contradiction(("queues", queue, "reaper", key), what, "set it in the job table's reaper section")


def can_reap(table: JobTableConfig) -> Iterator[Contradiction]:
    """A reaper needs leases to judge, and states that can be written."""
    if "reaper" not in table.requested_tasks:
        return
    if not table.columns.has_lease:
        hint = "map columns.lease_expires_at, heartbeat_at or leased_at, or set enabled = false"
        yield Contradiction(("reaper",), "no lease is mapped, so nothing tells which jobs to take back", hint)
    written = ("pending",) if table.reaper.dead_letter_table else ("pending", "dead")
    for name in written:
        state = getattr(table.states, name)
        if isinstance(state, StatePredicate) and not state.set:
            hint = 'add set = { column = "expression" }'
            yield Contradiction(("states", name), "is a predicate without `set`, so the reaper cannot write it", hint)
        elif isinstance(state, StateValues) and table.columns.state and table.columns.state.name is None:
            hint = 'use { where = "...", set = { column = "expression" } }'
            yield Contradiction(
                ("states", name), "is a value of an SQL expression, which the reaper cannot write", hint
            )


def _reading(find: Callable[[JobTableConfig], Iterator[Contradiction]], *sections: str) -> Check:
    return Check(find, frozenset(sections))


CHECKS = (
    _reading(missing_states, "states", "reaper"),
    _reading(missing_state_column, "columns", "states"),
    _reading(lease_timeout, "columns", "lease", "queues"),
    _reading(missing_after, "columns", "lease", "queues"),
    _reading(backoff_order, "reaper", "queues"),
    _reading(queue_column, "columns", "queues"),
    _reading(one_dead_letter_table, "queues"),
    _reading(can_reap, "columns", "states", "reaper"),
)


def contradictions(table: JobTableConfig, broken: frozenset[str] = frozenset()) -> Iterator[Contradiction]:
    """Yield what does not fit together; checks of `broken` sections are left out."""
    for check in CHECKS:
        if not check.reads & broken:
            yield from check.find(table)
