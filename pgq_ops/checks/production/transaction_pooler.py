"""The connection leads to a server process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.leader.pooler import SharedServerProcess, refuse_shared_process

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "transaction-pooler"
TITLE = "pgq-ops reaches the server past any pooler"


def check(examination: Examination) -> Verdict:
    """A warning where transactions are handed to whatever process is free. What workers connect through is not seen."""
    try:
        refuse_shared_process(examination.connection)
    except SharedServerProcess:
        if examination.config.database.direct_dsn is not None:
            return passed("database.dsn leads through a transaction pooler, and database.direct_dsn past it")
        return found(
            Finding(
                ID,
                Severity.WARNING,
                "database.dsn leads through a transaction pooler: the agent can hold no leadership there, and commands'"
                " settings land on other sessions",
                {"direct_dsn": False},
                '# in pgq-ops.toml, to the server itself:\n[database]\ndirect_dsn = "..."',
            )
        )
    return passed("a server process of its own answers; what the workers connect through is not seen from here")
