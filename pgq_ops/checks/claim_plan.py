"""Claims found jobs by a better plan before, or will lose it once their statement is planned without its values."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.index_advice import pending_index
from pgq_ops.checks.pasted_sql import as_regclass, plain
from pgq_ops.checks.wording import counted
from pgq_ops.stats.claim_text import passes_as_parameter
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.claim_cost import ClaimCost, ClaimPlan

# So many times the rows read for a job: a plan that filters out a few is no worse than another.
_TIMES_THE_ROWS = 100
# So many times the pages, and so many at least: about 1 ms.
_TIMES_THE_PAGES, _PAGES = 10, 100

CLAIM_PLAN_CHANGED, CLAIM_PLAN_GENERIC = IDS = ("claim-plan-changed", "claim-plan-generic")
NEEDS = ("claim",)


def check(look: Look) -> Iterator[Finding]:
    """Warnings; `claim-plan-generic` is info while it is not known that the workers pass the state as a parameter."""
    if look.claim is None or look.claim.plan is None:
        return
    if look.best_claim is not None and look.best_claim.plan is not None:
        yield from _changed(look, look.claim.plan, look.best_claim.plan)
    if look.claim.if_generic is not None:
        yield from _generic(look, look.claim, look.claim.if_generic)


def _changed(look: Look, plan: ClaimPlan, best: ClaimPlan) -> Iterator[Finding]:
    what = _worse(plan, best)
    if not what or _rows_for_one(plan) < _TIMES_THE_ROWS * _rows_for_one(best):
        return
    yield Finding(
        CLAIM_PLAN_CHANGED,
        Severity.WARNING,
        f"a claim of {look.table} reads {counted(plan.rows_read, 'row')} by {plan.node}, {what};"
        f" it read {best.rows_read:,} by {best.node}",
        {
            "plan": plan.node,
            "rows_read": plan.rows_read,
            "rows_returned": plan.rows_returned,
            "best_plan": best.node,
            "best_rows_read": best.rows_read,
        },
        _remedy(look),
    )


def _worse(plan: ClaimPlan, best: ClaimPlan) -> str:
    """What the plan has that the best one had not; empty for nothing. A leaf that only one read tells nothing."""
    if plan.scans_table and not best.scans_table:
        return "a scan of the whole table"
    if plan.sorts and not best.sorts:
        return "a sort of all jobs that are due"
    indexes: dict[str, set[str]] = defaultdict(set)
    for table, index in best.scans:
        indexes[table].add(index)
    return (
        "another index" if any(table in indexes and index not in indexes[table] for table, index in plan.scans) else ""
    )


def _rows_for_one(plan: ClaimPlan) -> float:
    """Rows read for a job; for none where none was found."""
    return max(plan.rows_read, 1) / max(plan.rows_returned, 1)


def _remedy(look: Look) -> str:
    """The index, if none leads to pending jobs in their order; else a look at those that are there."""
    support = look.support
    if support is not None and Question.PENDING_IN_ORDER not in support.serving:
        advice = pending_index(look.table, support.tree)
        if advice:
            return advice
    table = plain(look.table.relation.sql)
    return (
        f"ANALYZE {table};\n-- is an index gone, or invalid?\n"
        "SELECT indexrelid::regclass, indisvalid, pg_get_indexdef(indexrelid) FROM pg_index"
        f" WHERE indrelid = {as_regclass(look.table.relation)};"
    )


def _generic(look: Look, claim: ClaimCost, generic: ClaimCost) -> Iterator[Finding]:
    if claim.buffers is None or not _much_dearer(claim.buffers, generic):
        return
    state = look.table.fields.get("state")
    queries = look.claim_statements.queries if look.claim_statements is not None else ()
    known = state is not None and state.name is not None and passes_as_parameter(queries, state.name)
    cost = f"{generic.buffers:,} pages" if generic.buffers is not None else f"more than {generic.timeout_seconds:g} s"
    which = "the workers' claims, which" if known else "claims that"
    yield Finding(
        CLAIM_PLAN_GENERIC,
        Severity.WARNING if known else Severity.INFO,
        f"{which} get their state as a parameter may come to cost {cost} each ({generic.planned}) instead of"
        f" {claim.buffers:,}: PostgreSQL plans a prepared statement without its values after five executions",
        {
            "buffers": claim.buffers,
            "generic_buffers": generic.buffers,
            "generic_plan": generic.planned,
            "parameter_seen": known,
        },
        "-- write the state into the statement as a constant, or for the workers' role:\n"
        "ALTER ROLE your_workers_role SET plan_cache_mode = 'force_custom_plan';",
    )


def _much_dearer(buffers: int, generic: ClaimCost) -> bool:
    return generic.buffers is None or generic.buffers >= max(_PAGES, _TIMES_THE_PAGES * buffers)
