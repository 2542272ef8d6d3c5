"""No two indexes serve the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.checks.wording import indexes
from pgq_ops.stats import index_states

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.index_states import IndexState

ID = "duplicate-indexes"
TITLE = "No index is there twice"


def check(examination: Examination) -> Verdict:
    """A warning: each claim and completion writes to both. The one behind a constraint, or the unique one, is kept."""
    known = [index for index in examination.fact(index_states.read).indexes if index.valid]
    by_kind: dict[str, list[IndexState]] = {}
    for index in sorted(known, key=lambda index: (not index.constraint, not index.unique, index.relation.oid)):
        by_kind.setdefault(index.kind, []).append(index)
    pairs = [(kept, extra) for kept, *others in by_kind.values() for extra in others if not extra.constraint]
    if not pairs:
        return passed(f"{indexes(len(known))}, all different")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{listed(f'{extra.relation.name} serves the same as {kept.relation.name}' for kept, extra in pairs)}: each"
            " write pays twice",
            {"indexes": {str(extra.relation): str(kept.relation) for kept, extra in pairs}},
            "\n".join(_drop(extra) for _, extra in pairs),
        )
    )


def _drop(index: IndexState) -> str:
    return f"DROP INDEX CONCURRENTLY {quoted(index.relation.schema, index.relation.name)};"
