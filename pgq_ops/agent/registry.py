"""Which tasks there are. A new one is a line here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pgq_ops.checks.look import ReapNews, UpkeepNews
from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.stats.observed import Observations
from pgq_ops.tasks.autovacuum.tuning import Tune
from pgq_ops.tasks.end_transactions import EndTransactions
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_result import ReapResult
from pgq_ops.tasks.upkeep import upkeep
from pgq_ops.tasks.upkeep.result import UpkeepResult
from pgq_ops.tasks.upkeep.yielding import NoWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.config.job_table import JobTableConfig
    from pgq_ops.config.model import Config
    from pgq_ops.config.policy import QueuePolicy
    from pgq_ops.tasks.task import Result, Task
    from pgq_ops.tasks.upkeep.yielding import Watch

LEADER, PROBES, MAINTENANCE = "leader", "probes", "maintenance"
"""The threads, each with a session of its own; tasks run on the first and the last one."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a task may ask of the agent, at any time and without the database.

    `settled`: whether the database has been undisturbed for long enough. `autovacuum`: that section of a job table, by
    name, as the configuration has it now (None: none). `database`: the name of the one that is led in. `owner_role`: as
    the configuration has it.
    """

    settled: Callable[[QueuePolicy], bool]
    observations: Observations
    autovacuum: Callable[[str], Autovacuum | None]
    watch: Watch
    database: Callable[[], str]
    owner_role: Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class TaskKind:
    """A task as the agent runs it: the section that asks for it, how it is made once, and how often it runs.

    `name`: the task's own, where its section asks for more than one. `thread`: where it runs. `watches`: it judges by
    what was seen over a time, so that a single look tells nothing.
    """

    section: str
    make: Callable[[Surroundings], Task]
    interval: Callable[[JobTableConfig], timedelta]
    name: str = ""
    thread: str = LEADER
    watches: bool = False

    @property
    def key(self) -> str:
        """The task's name."""
        return self.name or self.section


@dataclass(frozen=True, slots=True)
class DatabaseTaskKind:
    """A task for the whole database, as the agent runs it: once, beside the leadership of one of its job tables.

    `asked_for`: whether the configuration wants it. It is made anew for each configuration.
    """

    section: str
    asked_for: Callable[[Config], bool]
    make: Callable[[Config], Task]
    interval: Callable[[Config], timedelta]


def without_agent(config: Config) -> Surroundings:
    """Those of a command, around which nothing was observed and nothing is disturbed."""
    return Surroundings(
        settled=lambda _: True,
        observations=Observations(),
        autovacuum=lambda name: config.job_tables[name].autovacuum,
        watch=NoWatch(),
        database=lambda: "",
        owner_role=lambda: config.database.owner_role,
    )


def _reaper_interval(config: JobTableConfig) -> timedelta:
    """The shortest interval of any queue; the reaper itself keeps each queue's own."""
    return min(policy.reaper.every for policy in config.policies() if policy.reaper.enabled)


def _tuning_interval(config: JobTableConfig) -> timedelta:
    return (config.autovacuum or Autovacuum()).every


def _upkeep_interval(config: JobTableConfig) -> timedelta:
    """A look takes no statement, so it need not wait for the next plan of the settings."""
    return min(timedelta(seconds=upkeep.EVERY_SECONDS), _tuning_interval(config))


def _tune(agent: Surroundings) -> Task:
    return Tune(agent.autovacuum, agent.observations, agent.owner_role)


def _upkeep(agent: Surroundings) -> Task:
    return upkeep.Upkeep(agent.observations, agent.autovacuum, agent.watch, agent.database, agent.owner_role)


TASKS = (
    TaskKind("reaper", lambda agent: Reap(remembers=True, settled=agent.settled), _reaper_interval),
    TaskKind("autovacuum", _tune, _tuning_interval, thread=MAINTENANCE),
    TaskKind("autovacuum", _upkeep, _upkeep_interval, name="upkeep", thread=MAINTENANCE, watches=True),
)
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


def upkeep_news(result: Result | None) -> UpkeepNews:
    """What the last look of upkeep came to."""
    if not isinstance(result, UpkeepResult):
        return UpkeepNews()
    return UpkeepNews(result.outpaced, result.acts, result.refused)
