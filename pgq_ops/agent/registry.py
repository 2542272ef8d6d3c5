"""Which tasks there are. A new one is a line here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.checks.look import ReapNews
from pgq_ops.tasks.end_transactions import EndTransactions
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_result import ReapResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from pgq_ops.config.job_table import JobTableConfig
    from pgq_ops.config.model import Config
    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.tasks.task import Result, Task

    Settled = Callable[[QueuePolicy], bool]


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A task as the agent runs it: the section that asks for it, how it is made once, and how often it runs."""

    section: str
    make: Callable[[Settled], Task]
    interval: Callable[[JobTableConfig], timedelta]


@dataclass(frozen=True, slots=True)
class DatabaseTaskKind:
    """A task for the whole database, as the agent runs it: once, beside the leadership of one of its job tables.

    `asked_for`: whether the configuration wants it. It is made anew for each configuration.
    """

    section: str
    asked_for: Callable[[Config], bool]
    make: Callable[[Config], Task]
    interval: Callable[[Config], timedelta]


def _reaper_interval(config: JobTableConfig) -> timedelta:
    """The shortest interval of any queue; the reaper itself keeps each queue's own."""
    return min(policy.reaper.every for policy in config.policies() if policy.reaper.enabled)


TASKS = (TaskKind("reaper", lambda settled: Reap(remembers=True, settled=settled), _reaper_interval),)
DATABASE_TASKS = (
    DatabaseTaskKind(
        "transactions",
        lambda config: config.transactions.ends_sessions,
        lambda config: EndTransactions(config.transactions),
        lambda config: config.transactions.every,
    ),
)


def reap_news(result: Result | None) -> ReapNews:
    """What the last run of the reaper met, and which rows it still leaves alone."""
    if not isinstance(result, ReapResult):
        return ReapNews()
    return ReapNews(result.mass_expired, result.still_refused, result.still_swallowed, result.example)
