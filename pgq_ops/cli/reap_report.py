"""Reaps, or plans to, for the command, and says in words what came of it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from pgq_ops.cli.setting import bind_tables, session
from pgq_ops.db.connection import WRITE_LIMITS
from pgq_ops.errors import ActionFailed
from pgq_ops.logs import masked
from pgq_ops.tasks.reap import Reap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.tasks.reap_result import ReapResult

Report = list[tuple[str, "ReapResult"]]


def reap_tables(loaded: LoadedConfig, names: Sequence[str], *, include_stale: bool, dry_run: bool) -> Report:
    """One pass, or one plan, for each named job table (all if none), in the config's order.

    Raises what binding and reaping raise, the driver's errors as ours; ActionFailed, with what was done, once
    something was.
    """
    task = Reap(include_stale=include_stale)
    with session(loaded.config, "reap", changes=not dry_run, limits=WRITE_LIMITS) as connection:
        tables = [bound.table for bound in bind_tables(connection, loaded, names)]
        if dry_run:
            return [(table.name, task.plan(connection, table)) for table in tables]
        try:
            return [(table.name, task.run(connection, table, lambda: True)) for table in tables]
        except (Exception, KeyboardInterrupt) as error:
            if not any(result.requeued or result.dead_lettered for result in task.done.values()):
                raise
            done = "\n".join(lines(list(task.done.items())))
            reason = " ".join(masked(str(error) or "interrupted").split())
            raise ActionFailed(f"stopped part way: {reason}\n{done}") from error


def lines(report: Report) -> Iterator[str]:
    """What was done to each table, and what there is left to do."""
    for name, result in report:
        done = "would be" if result.dry_run else "were"
        yield f"{name}: {result.requeued} {done} requeued, {result.dead_lettered} {done} buried"
        if result.conflicts:
            yield f"  {result.conflicts} could not be written: {result.example}"
        if result.busy:
            yield f"  locked by somebody else just now: {', '.join(result.busy)}"
        if result.remaining and not result.dry_run:
            yield f"  {result.remaining} are still expired: locked or refused; the next pass tries them again"
        if result.stale:
            asking = f"pgq-ops reap {quote(name)} --include-stale"
            yield f"  {result.stale} are stale (expired too long ago to be taken unasked): {asking}"
