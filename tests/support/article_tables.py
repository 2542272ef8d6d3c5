"""The job tables of the two articles, with the statements that their workers run.

`lease` is the demo's own table and SQL; `started-at` is written here. Each is used as
`database.execute(STARTED_AT_TABLE)`, the statements with the parameters named in their comments.
"""

from __future__ import annotations

from pgq_ops import sql


def _text(name: str) -> str:
    return sql.text(f"sql/{name}", "pgq_ops.demo")


LEASE_TABLE = ";\n".join(map(_text, ("create_jobs", "create_pending_index", "create_running_index")))

# worker, lease_seconds. Returns id, claim_version, payload; no row where nothing is due.
LEASE_CLAIM = _text("claim")

# job, version, lease_seconds. No row: the claim is somebody else's by now.
LEASE_HEARTBEAT = _text("extend_lease")

# job, version. No row: the claim is somebody else's by now.
LEASE_COMPLETE = _text("complete")

STARTED_AT_TABLE = """
CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL DEFAULT 'work',
    payload jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'dead')),
    priority integer NOT NULL DEFAULT 0,
    run_after timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_claim ON jobs (priority DESC, run_after) WHERE status = 'pending';
"""

# No parameters. Returns id, kind, payload, attempts.
STARTED_AT_CLAIM = """
UPDATE jobs SET status = 'running', started_at = now(), attempts = attempts + 1
WHERE id = (
    SELECT id FROM jobs
    WHERE status = 'pending' AND run_after <= now()
    ORDER BY priority DESC, run_after
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING id, kind, payload, attempts
"""

# job. Nothing fences it: a worker that was given up can still finish the job.
STARTED_AT_COMPLETE = "UPDATE jobs SET status = 'done' WHERE id = %(job)s AND status = 'running'"

# job. How an operator looks whether a job is held: 55P03 at once if it is.
STARTED_AT_NOWAIT = "SELECT id, status, started_at FROM jobs WHERE id = %(job)s FOR UPDATE NOWAIT"
