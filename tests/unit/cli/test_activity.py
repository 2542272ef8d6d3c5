"""What the agents last did, as lines of the screen."""

from __future__ import annotations

from pgq_ops.cli.inspection.activity import task_lines
from pgq_ops.cli.inspection.view import TableView
from pgq_ops.stats.task_runs import TaskRun

GRANT = 'GRANT UPDATE ("status") ON "public"."jobs" TO "agent";'


def test_the_statement_that_helps_a_failed_run_stands_whole_on_a_line_of_its_own() -> None:
    message = f"permission denied for table jobs\n  {GRANT}"
    run = TaskRun("reaper", 3.0, None, "2026-01-01T00:00:00Z", "failed", 0.1, message, "host", 7)
    lines = [line.plain for line in task_lines(TableView("jobs", "public.jobs", runs=(run,)), 40)]
    assert lines[-1] == f"  {GRANT}"
    assert "permission denied" in " ".join(lines[:-1])
    assert not any("\\n" in line for line in lines)
