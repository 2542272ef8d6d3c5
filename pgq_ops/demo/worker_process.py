"""One worker as a process: `python -m pgq_ops.demo.worker_process NAME LEASE_SECONDS PARENT`, DSN in PGQ_OPS_DSN.

The work is pretended, the failures are not: a poison job kills the process that runs it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import psycopg

from pgq_ops.demo.statements import statement
from pgq_ops.demo.tether import tie_to
from pgq_ops.demo.worker import Claim, Worker

# How long an idle worker waits before it asks again.
_POLL_SECONDS = 0.1


def main(name: str, lease_seconds: float, parent: int) -> None:
    """Work until killed."""
    tie_to(parent)

    def record(connection: psycopg.Connection[Any], event: str, claim: Claim) -> None:
        entry = {"event": event, "worker": name, "job": claim.job, "version": claim.version}
        connection.execute(statement("note"), entry)

    dsn = os.environ["PGQ_OPS_DSN"]
    with psycopg.connect(dsn, autocommit=True, application_name=name) as connection:
        worker = Worker(name, dsn, connection, timedelta(seconds=lease_seconds), record)
        while True:
            if not worker.run_next(_work):
                time.sleep(_POLL_SECONDS)


def _work(claim: Claim) -> None:
    time.sleep(claim.payload["work_seconds"])
    if claim.payload["poison"]:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
