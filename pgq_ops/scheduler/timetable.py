"""Jobs at intervals, each on one of a few named threads, on which one job runs at a time."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apscheduler.events import JobExecutionEvent

    Action = Callable[[], float | None]


class Timetable:
    """Runs each job at its interval: never two runs of one at once, and one run for all that were missed.

    A job's action returns the seconds after which it wants to run again, None for its usual time; what it raises
    goes to `on_error` with the job's name, and it runs again at its usual time.
    """

    def __init__(self, threads: Iterable[str], on_error: Callable[[str, Exception], None]) -> None:
        self._on_error = on_error
        self._stopping = threading.Event()
        self._running: set[str] = set()
        self._scheduler = BackgroundScheduler(
            executors={name: ThreadPoolExecutor(1, {"thread_name_prefix": name}) for name in threads},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=UTC,
        )
        self._scheduler.add_listener(self._again, EVENT_JOB_EXECUTED)

    def every(self, interval: timedelta, name: str, thread: str, action: Action, *, spread: bool = False) -> None:
        """Run `action` now and then every `interval`; replaces a job of this name.

        With `spread` the first run comes at a random time within the interval.
        """
        wait = interval * random.random() if spread else timedelta(0)  # noqa: S311 (no secret)
        self._scheduler.add_job(
            self._run,
            IntervalTrigger(seconds=interval.total_seconds(), timezone=UTC),
            args=(name, action),
            id=name,
            executor=thread,
            replace_existing=True,
            next_run_time=datetime.now(UTC) + wait,
        )

    def soon(self, name: str, seconds: float = 0.0) -> None:
        """Run a job in so many seconds instead of at its usual time; a run that lasts then counts as that one."""
        with suppress(JobLookupError):
            self._scheduler.modify_job(name, next_run_time=datetime.now(UTC) + timedelta(seconds=seconds))

    def all_soon(self) -> None:
        """Run every job now: after the wall clock was set back, their times are too far ahead."""
        for job in self._scheduler.get_jobs():
            self.soon(job.id)

    def drop(self, name: str) -> None:
        """Run a job no more; a run that lasts is not interrupted."""
        with suppress(JobLookupError):
            self._scheduler.remove_job(name)

    def start(self) -> None:
        """Begin to run the jobs."""
        self._scheduler.start()

    def stop(self) -> None:
        """Begin no further run; those that last go on. Returns at once."""
        self._stopping.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def running(self) -> frozenset[str]:
        """The names of the jobs that run now."""
        return frozenset(self._running)

    def _run(self, name: str, action: Action) -> float | None:
        self._running.add(name)  # before the flag is looked at: who set it and sees nothing running can rely on that
        try:
            return None if self._stopping.is_set() else action()
        except Exception as error:  # noqa: BLE001 (whatever a job does, the others go on)
            self._on_error(name, error)
            return None
        finally:
            self._running.discard(name)

    def _again(self, event: JobExecutionEvent) -> None:
        """Called once a run is over: only now would an early next one not be left out as an overlap."""
        if event.retval is not None:
            self.soon(event.job_id, event.retval)
