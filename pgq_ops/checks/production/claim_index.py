"""A claim without a fitting index sorts the backlog, or reads through finished jobs, for each job that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks import missing_indexes
from pgq_ops.checks.finding import Finding
from pgq_ops.checks.index_advice import pending_index
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import claim_fit, partition_tree

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.claim_fit import ClaimFit

ID = "claim-index-unfit"
COVERS = missing_indexes.NO_PENDING_INDEX
"""The ordinary finding that this one says more of."""
TITLE = "An index fits the claim"


def check(examination: Examination) -> Verdict:
    """A warning; critical where claims are slow now, info while the table may be read whole and they are cheap."""
    table, look = examination.table, examination.look
    fit = examination.fact(claim_fit.read)
    if fit.fits:
        return passed(fit.node)
    return found(
        Finding(
            ID,
            missing_indexes.severity_of_claims(look),
            f"no index fits the claim of {table}: {_what(fit)} ({fit.node})",
            {"plan": fit.node, "sorts": fit.sorts, "scans_table": fit.scans, "past_other_states": fit.past_others},
            pending_index(table, examination.fact(partition_tree.read)),
        )
    )


def _what(fit: ClaimFit) -> str:
    if fit.scans or (fit.sorts and fit.past_others):
        return "each one reads a whole table"
    return "each one sorts all that are due" if fit.sorts else "each one reads through jobs in other states"
