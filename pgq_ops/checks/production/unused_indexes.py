"""No index costs each write something and is never read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.checks.wording import indexes
from pgq_ops.stats import index_states
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "unused-indexes"
TITLE = "Every index is used"

# A report that runs weekly needs its index once a week.
_LONG_ENOUGH_SECONDS = 7 * 86_400.0
# Below that the table's other indexes are not used either.
_BUSY_SCANS = 1_000
_PAGE_BYTES = 8_192


def check(examination: Examination) -> Verdict:
    """Info: an index may have been made yesterday, and a standby may use it, which is not seen here."""
    states = examination.fact(index_states.read)
    removable = [index for index in states.indexes if index.valid and not index.needed]
    if not removable:
        return not_applicable("each of its indexes is unique or behind a constraint")
    unused = [index for index in removable if index.scans == 0]
    if not unused:
        return passed(f"{indexes(len(removable))}, that no constraint needs, each read at least once")
    seconds = states.counting_seconds
    if seconds is None or seconds < _LONG_ENOUGH_SECONDS:
        since = "an unknown time" if seconds is None else format_duration(seconds)
        return unknown(
            f"{listed(index.relation.name for index in unused)} not read so far, and the counters have counted for"
            f" {since}: a week tells more"
        )
    if max(index.scans for index in states.indexes) < _BUSY_SCANS:
        return unknown(f"no index of the table has been read {_BUSY_SCANS:,} times yet")
    pages = sum(index.pages for index in unused)
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"{listed(index.relation.name for index in unused)} ({pages * _PAGE_BYTES / 1e6:,.1f} MB) never read since"
            f" the counters began {format_duration(seconds)} ago, or since it was made: each write pays for it",
            {"indexes": [str(index.relation) for index in unused], "counting_seconds": round(seconds)},
            "-- unless a standby, or something that runs rarely, needs it:\n"
            + "\n".join(f"DROP INDEX CONCURRENTLY {quoted(i.relation.schema, i.relation.name)};" for i in unused),
        )
    )
