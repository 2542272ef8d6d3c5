"""A plan as a script for psql, for whoever may change the tables: each statement stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.job_table.pasting import in_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.tasks.autovacuum.tune_result import TunedLeaf, TuneResult

# Below PostgreSQL's deadlock_timeout by its default, and on a server where that is shorter below it too.
_LOCK_TIMEOUT = (
    "SELECT set_config('lock_timeout',"
    " least(300, extract(epoch FROM current_setting('deadlock_timeout')::interval) * 500)::int || 'ms', false);"
)
HEAD = f"""\
-- Storage parameters of job tables. Each statement stands alone, and one that fails on its lock has met a vacuum, which
-- goes on: run it again later. A longer wait would make PostgreSQL cancel that vacuum.
-- What is set like this is not remembered: `pgq-ops autovacuum revert` does not undo it.
{_LOCK_TIMEOUT}"""


def script(name: str, result: TuneResult) -> Iterator[str]:
    """The lines for one job table, each ALTER TABLE behind its reasons."""
    yield ""
    yield f"-- {in_one_line(name)}"
    if not any(one.plan.changes for one in result.leaves):
        yield "-- nothing to change"
    for one in result.leaves:
        yield from _leaf(one)


def _leaf(one: TunedLeaf) -> Iterator[str]:
    if one.plan.changes:
        yield f"-- {in_one_line(str(one))}"
        for wanted in one.plan.changes:
            was = "not set" if wanted.now is None else wanted.now
            yield f"--   {wanted.parameter} {in_one_line(f'(now: {was}): {wanted.reason}')}"
        yield one.statement
    for advice in one.plan.advice:
        yield f"-- advice: {in_one_line(advice.text)}"
        if advice.statement:
            yield f"--   {in_one_line(advice.statement)}"
