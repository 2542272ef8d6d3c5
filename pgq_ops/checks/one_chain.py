"""A chain is one finding, not four: what `claims-costly` tells already is not told again link by link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.checks.claim_timeout import CLAIM_TIMEOUT
from pgq_ops.checks.claims_costly import CLAIMS_COSTLY
from pgq_ops.checks.dead_rows import DEAD_ROWS
from pgq_ops.checks.horizon_held import HORIZON_HELD
from pgq_ops.checks.idle_in_transaction import IDLE_IN_TRANSACTION
from pgq_ops.checks.long_transactions import LONG_TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.checks.finding import Finding

# The chain's own first two links.
LINKS = frozenset({CLAIM_TIMEOUT, DEAD_ROWS})
# Its last one, unless they name anybody else too.
NAMING_THE_HOLDER = frozenset({HORIZON_HELD, IDLE_IN_TRANSACTION, LONG_TRANSACTIONS})


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that say nothing but a link of the chain, where the chain is among them."""
    chain = next((one for one in findings if one.id == CLAIMS_COSTLY), None)
    if chain is None:
        return list(findings)
    holder = chain.evidence.get("holder")
    guilty = None if holder is None else {_identity(holder)}
    return [
        one
        for one in findings
        if one.id not in LINKS and not (one.id in NAMING_THE_HOLDER and guilty is not None and _named(one) == guilty)
    ]


def _named(finding: Finding) -> set[str]:
    return {_identity(one) for key in ("holders", "sessions") for one in finding.evidence.get(key, ())}


def _identity(one: dict[str, Any]) -> str:
    """A session by its transaction, where that is known; another holder by its kind and name."""
    return str(one.get("session") or (one.get("kind"), one.get("pid"), one.get("name")))
