"""No trigger slows down or discards what workers write for each job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.production.naming import listed
from pgq_ops.checks.production.verdict import found, not_applicable, passed
from pgq_ops.checks.wording import counted
from pgq_ops.job_table.quoting import literal
from pgq_ops.stats import row_triggers as triggers

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.row_triggers import RowTrigger

ID = "row-triggers"
TITLE = "No trigger is in the way of the workers"


def check(examination: Examination) -> Verdict:
    """Warnings for what may discard a change, or sends NOTIFY at each heartbeat; info for all else at each one."""
    table, known = examination.table, examination.fact(triggers.read)
    if not known:
        return not_applicable("the table has no row triggers")
    judgements: tuple[tuple[Callable[[RowTrigger], bool], Severity, str], ...] = (
        (
            lambda trigger: trigger.discards and (trigger.on_insert or trigger.on_update),
            Severity.WARNING,
            "may return NULL before the change, which discards it without an error, be it a claim or a completion",
        ),
        (
            lambda trigger: trigger.notifies and _fires_at_heartbeats(table, trigger),
            Severity.WARNING,
            "sends NOTIFY at each heartbeat of each job, and commits that notify wait for each other",
        ),
        (
            lambda trigger: _fires_at_heartbeats(table, trigger),
            Severity.INFO,
            "fires at each heartbeat of each job, not only when a job changes its state",
        ),
    )
    for holds, severity, what in judgements:
        guilty = [trigger for trigger in known if holds(trigger)]
        if guilty:
            return found(_finding(guilty, severity, what))
    return passed(
        f"{counted(len(known), 'row trigger')} ({listed(trigger.name for trigger in known)}), none at heartbeats"
    )


def _fires_at_heartbeats(table: JobTable, trigger: RowTrigger) -> bool:
    written = [table.fields[name].name for name in ("heartbeat_at", "lease_expires_at") if name in table.fields]
    columns = [name for name in written if name is not None]
    if not columns or not trigger.on_update or trigger.conditional:
        return False
    return not trigger.columns or any(name in trigger.columns for name in columns)


def _finding(guilty: list[RowTrigger], severity: Severity, what: str) -> Finding:
    names = listed(trigger.name for trigger in guilty)
    quoted_names = ", ".join(plain(literal(trigger.name)) for trigger in guilty)
    return Finding(
        ID,
        severity,
        f"{'trigger' if len(guilty) == 1 else 'each of the triggers'} {names} {what}",
        {"triggers": {trigger.name: trigger.function for trigger in guilty}},
        "SELECT t.tgrelid::regclass, pg_get_triggerdef(t.oid), p.prosrc FROM pg_trigger AS t"  # noqa: S608  # text for a person; quoted above
        f" JOIN pg_proc AS p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal AND t.tgname IN ({quoted_names});",
    )
