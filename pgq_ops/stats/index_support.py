"""Which questions about a job table an index answers, so that they may be asked of a table with a long history.

The planner is asked, with the looks' own statements: it knows which partial index a predicate proves.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.stats import bounded, estimates, finished_jobs, job_count, job_sample, leases, partition_tree, plans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.partition_tree import Branch
    from pgq_ops.stats.plans import Plan


class Question(StrEnum):
    """What is asked of the table."""

    PENDING_IN_ORDER = "pending by available_at"
    PENDING = "pending"
    RUNNING = "running"
    DEAD = "dead"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    EXPIRED = "expired leases"
    EXPIRED_IN_ORDER = "expired leases by lease column"
    FINISHED = "finished since"


STATES = (Question.RUNNING, Question.DEAD, Question.BLOCKED, Question.CANCELLED)
"""The questions that are about a state other than pending."""

_BRIEF = composing.SQL("%(brief)s")
# Up to seven questions, four of which are planned twice, took 6.5 s for 2,500 partitions: seven of the longest.
_PLANS = 7
# For the looks that are planned; none of them is run.
_PARAMETERS = {"limit": job_sample.CAP + 1, "since": 0.0, "lag": 0.0, "longest": 0.0}


@dataclass(frozen=True, slots=True)
class Serving:
    """The indexes (one a leaf) that answer a question.

    `look`: the statement that asks it. `whole`: they hold the rows asked for and no others. `alone`: the look of
    `job_count`, where it reads these indexes without the table, and `brief` the same look at `%(brief)s` jobs.
    """

    indexes: tuple[str, ...]
    oids: tuple[int, ...]
    whole: bool
    look: composing.SQL
    alone: composing.SQL | None = None
    brief: composing.SQL | None = None

    def counting(self, *, brief: bool) -> composing.SQL:
        """The cheapest look at up to `CAP` jobs, or at up to `BRIEF_CAP` where there is such a one."""
        return (self.brief if brief else None) or self.alone or self.look

    def cap(self, *, brief: bool) -> int:
        """How many jobs `counting` counts at most."""
        return job_count.BRIEF_CAP if brief and self.brief is not None else job_sample.CAP


@dataclass(frozen=True, slots=True)
class IndexSupport:
    """What may be asked, and how.

    `small`: the table may be read whole, so anything may; `whole` does so. `leases`: the looks at them. `tree`: the
    tables to index.
    """

    serving: Mapping[Question, Serving]
    small: bool
    leases: leases.Looks
    tree: tuple[Branch, ...]
    whole: composing.SQL | None = None

    def is_cheap(self, question: Question | str) -> bool:
        """Whether the question costs no scan of a long history."""
        return self.small or Question(question) in self.serving


@dataclass(frozen=True, slots=True)
class _Index:
    oid: int
    partial: bool
    first: re.Pattern[str]


def read(connection: Connection, table: JobTable, *, within_seconds: float = math.inf) -> IndexSupport:
    """Ask the planner; runs none of the statements. Worth remembering for minutes. Raises the driver's errors.

    QueryCanceled where, by the number of partitions, it would take longer than `within_seconds`.
    """
    serving: dict[Question, Serving] = {}
    tree = partition_tree.read(connection, table)
    if plans.planning_seconds(len(tree)) * _PLANS > within_seconds:
        raise errors.QueryCanceled(f"to plan for {len(tree):,} tables takes too long")
    with bounded.transaction(connection, table):
        for question, statement in _statements(table):
            plan = plans.explain(connection, statement, _PARAMETERS)
            if question in (Question.PENDING_IN_ORDER, Question.EXPIRED_IN_ORDER) and plans.sorts(plan):
                continue
            found = _serving(connection, plan, bounded.composed_once(statement))
            if found is not None:
                alone = _alone(connection, table, question, found.indexes)
                serving[question] = replace(found, alone=alone, brief=_brief(table, question) if alone else None)
    small = estimates.is_small(connection, table)
    whole = bounded.composed_once(job_sample.all_jobs(table)) if small else None
    return IndexSupport(serving, small, leases.looks(table), tree, whole)


def _alone(
    connection: Connection, table: JobTable, question: Question, indexes: tuple[str, ...]
) -> composing.SQL | None:
    """The look of `job_count`, if it reads no other indexes, and without the table."""
    look = _counting(table, question, job_count.LIMIT)
    if look is None:
        return None
    plan = plans.explain(connection, look, _PARAMETERS)
    used = [node for scan in plans.job_scans(plan) for node in plans.nodes(scan) if "Index Name" in node]
    known = frozenset(indexes)
    same = all(node["Index Name"] in known for node in used)
    only = any(node["Node Type"] == "Index Only Scan" for node in used)
    return bounded.composed_once(look) if same and only and not plans.sorts(plan) else None


def _brief(table: JobTable, question: Question) -> composing.SQL | None:
    look = _counting(table, question, _BRIEF)
    return None if look is None else bounded.composed_once(look)


def _counting(table: JobTable, question: Question, limit: composing.SQL) -> composing.Composed | None:
    """The look of `job_count` at up to so many jobs; None where there is none."""
    if question is Question.PENDING_IN_ORDER:
        return job_count.pending(table, limit=limit)
    return job_count.state(table, question.value, limit=limit) if question in STATES else None


def _statements(table: JobTable) -> Iterator[tuple[Question, composing.Composed]]:
    if "available_at" in table.fields and "pending" in table.states:
        yield Question.PENDING_IN_ORDER, job_sample.jobs_in(table, "pending", ordered=True)
    for question in (Question.PENDING, *STATES):
        if question.value in table.states:
            yield question, job_sample.jobs_in(table, question.value)
    if table.has_lease and "running" in table.states:
        terms = LeaseTerms(table, table.policies)
        fragments = {"table": table.relation.sql, "is_running": table.is_state("running"), "ran_out": terms.ran_out()}
        yield Question.EXPIRED, sql.statement("stats/expired_rows", fragments)
        if (column := terms.column()) is not None:
            ordered = fragments | {"lease": column.value}
            yield Question.EXPIRED_IN_ORDER, sql.statement("stats/expired_rows_in_order", ordered)
    finished = finished_jobs.look(table)
    if finished is not None:
        yield Question.FINISHED, finished


def _serving(connection: Connection, plan: Plan, look: composing.SQL) -> Serving | None:
    """The indexes of a plan, if each of its scans is narrowed by one."""
    scans = list(plans.job_scans(plan))
    used = [(scan, node) for scan in scans for node in plans.nodes(scan) if "Index Name" in node]
    if not scans or {id(scan) for scan, _ in used} != {id(scan) for scan in scans}:
        return None
    facts = _facts(connection, [(scan["Schema"], node["Index Name"]) for scan, node in used])
    indexes = [facts[scan["Schema"], node["Index Name"]] for scan, node in used]
    narrowed = [_narrows(index, node) for index, (_, node) in zip(indexes, used, strict=True)]
    if not _every_scan_is_narrowed(scans, used, narrowed):
        return None
    whole = all(index.partial for index in indexes) and not any("Filter" in scan for scan in scans)
    names = tuple(dict.fromkeys(str(node["Index Name"]) for _, node in used))
    oids = tuple(index.oid for index in indexes)
    return Serving(names, oids, whole and len(used) == len(scans), look)


def _every_scan_is_narrowed(scans: list[Plan], used: list[tuple[Plan, Plan]], narrowed: list[bool]) -> bool:
    """Of several bitmaps that are ORed each must narrow; of those that are ANDed one is enough."""
    by_scan: dict[int, list[bool]] = {}
    for narrows, (owner, _) in zip(narrowed, used, strict=True):
        by_scan.setdefault(id(owner), []).append(narrows)
    for scan in scans:
        mine = by_scan[id(scan)]
        anded = any(node["Node Type"] == "BitmapAnd" for node in plans.nodes(scan))
        if not (any(mine) if anded else all(mine)):
            return False
    return True


def _narrows(index: _Index, node: Plan) -> bool:
    """Whether the index leads to the rows rather than merely being gone through.

    A partial index does, since the planner has proven its predicate. Of a full one the first column must be
    in the condition: without it the whole index is read.
    """
    condition: Any = node.get("Index Cond", "")
    return index.partial or index.first.search(re.sub(r"\bj(_\d+)?\.", "", condition)) is not None


def _facts(connection: Connection, names: list[tuple[str, str]]) -> dict[tuple[str, str], _Index]:
    parameters = {"schemas": [schema for schema, _ in names], "names": [name for _, name in names]}
    rows = connection.execute(sql.statement("stats/index_facts"), parameters).fetchall()
    return {
        (schema, name): _Index(oid, partial, re.compile(rf'(?<![\w$"]){re.escape(first)}(?![\w$"])'))
        for schema, name, oid, partial, first in rows
    }
