"""A chain is one finding, not four: what one finding tells already is not told again link by link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops.checks.blocked import BLOCKED_SESSIONS
from pgq_ops.checks.claim_plan import CLAIM_PLAN_CHANGED
from pgq_ops.checks.claim_timeout import CLAIM_TIMEOUT
from pgq_ops.checks.claims_costly import CLAIMS_COSTLY
from pgq_ops.checks.dead_rows import DEAD_ROWS
from pgq_ops.checks.finding import Severity
from pgq_ops.checks.horizon_held import HORIZON_HELD
from pgq_ops.checks.idle_in_transaction import IDLE_IN_TRANSACTION
from pgq_ops.checks.long_transactions import LONG_TRANSACTIONS
from pgq_ops.checks.missing_indexes import NO_PENDING_INDEX
from pgq_ops.checks.session_words import MOST_NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.checks.finding import Finding

_WORST_FIRST = tuple(Severity)
# The chain's own first two links.
LINKS = frozenset({CLAIM_TIMEOUT, DEAD_ROWS})
# What is said of sessions that do nothing worse than keep VACUUM from its work.
OF_SESSIONS = frozenset({IDLE_IN_TRANSACTION, LONG_TRANSACTIONS})
# The chain's last link, unless they name anybody else too.
NAMING_THE_HOLDER = OF_SESSIONS | {HORIZON_HELD}


def told_once(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that say nothing but a link of the chain, where the chain is among them.

    Those about sessions are left out of which `horizon-held`, or `blocked-sessions` at its end, names each one. Of a
    changed plan and a missing index the worse is told, where that index mends both.
    """
    findings = _without_the_milder(findings)
    told = {name for one in findings if one.id in {HORIZON_HELD, BLOCKED_SESSIONS} for name in _named(one)}
    findings = [one for one in findings if not (one.id in OF_SESSIONS and _names_all(one) and _named(one) <= told)]
    chain = next((one for one in findings if one.id == CLAIMS_COSTLY), None)
    if chain is None:
        return findings
    holder = chain.evidence.get("holder")
    guilty = None if holder is None else {_identity(holder)}
    return [
        one
        for one in findings
        if one.id not in LINKS and not (one.id in NAMING_THE_HOLDER and guilty is not None and _named(one) == guilty)
    ]


def _without_the_milder(findings: Sequence[Finding]) -> list[Finding]:
    """Of a changed plan and a missing index, both mended by one statement, the worse; of equals that it is missing."""
    pair = [one for one in findings if one.id in {CLAIM_PLAN_CHANGED, NO_PENDING_INDEX}]
    if len({one.remedy for one in pair}) != 1:
        return list(findings)
    told = min(pair, key=lambda one: (_WORST_FIRST.index(one.severity), one.id == CLAIM_PLAN_CHANGED))
    return [one for one in findings if one is told or one not in pair]


def _names_all(finding: Finding) -> bool:
    """Whether the evidence names all that it is about; it holds so many at most."""
    return len(finding.evidence.get("sessions", ())) < MOST_NAMED


def _named(finding: Finding) -> set[str]:
    listed = [one for key in ("holders", "sessions") for one in finding.evidence.get(key, ())]
    return {_identity(one) for one in (*listed, finding.evidence.get("end")) if one}


def _identity(one: dict[str, Any]) -> str:
    """A session by its transaction, where that is known; another holder by its kind and name."""
    return str(one.get("session") or (one.get("kind"), one.get("pid"), one.get("name")))
