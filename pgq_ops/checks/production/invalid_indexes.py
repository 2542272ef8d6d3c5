"""Every index that writes pay for can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.leftover_indexes import way_out
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.checks.wording import indexes
from pgq_ops.stats import index_states

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.index_states import IndexState

ID = "invalid-indexes"
TITLE = "All indexes are valid"


def check(examination: Examination) -> Verdict:
    """A warning. One that somebody makes now is not valid yet, and left out."""
    known = examination.fact(index_states.read).indexes
    invalid = [index for index in known if not index.valid and not index.building]
    if not invalid:
        made = sum(index.building for index in known if not index.valid)
        return passed(f"{indexes(len(known))}" + (f", {made} being made" if made else ""))
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{listed(index.relation.name for index in invalid)} {'is' if len(invalid) == 1 else 'are'} invalid: no"
            " query can use it, and every write maintains it",
            {"indexes": [str(index.relation) for index in invalid]},
            "\n".join(map(_way_out, invalid)),
        )
    )


def _way_out(index: IndexState) -> str:
    if index.attachable:
        name = quoted(index.relation.schema, index.relation.name)
        return f"-- it waits for an index on each partition: make and ATTACH those, or\nDROP INDEX {name};"
    return way_out(index)
