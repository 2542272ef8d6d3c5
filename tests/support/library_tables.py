"""The job tables of well-known libraries as these make them, each with a mapping written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_SCHEMAS = Path(__file__).parent / "library_schemas"


@dataclass(frozen=True, slots=True)
class Library:
    """A library's `schema` (SQL), the mapping of its job table as TOML, and jobs at rest and in good hands (SQL)."""

    name: str
    mapping: str
    jobs: str

    @property
    def schema(self) -> str:
        return (_SCHEMAS / f"{self.name}.sql").read_text(encoding="utf-8")


PROCRASTINATE = Library(
    "procrastinate",
    """
[job_tables.jobs]
table = "procrastinate_jobs"
[job_tables.jobs.columns]
id = "id"
state = "status"
available_at = "scheduled_at"
heartbeat_at = { sql = "(SELECT w.last_heartbeat FROM procrastinate_workers AS w WHERE w.id = worker_id)" }
attempts = "attempts"
queue = "queue_name"
kind = "task_name"
priority = "priority"
[job_tables.jobs.states]
pending = ["todo"]
running = ["doing"]
done = ["succeeded"]
dead = ["failed"]
cancelled = ["cancelled", "aborting", "aborted"]
[job_tables.jobs.claim]
order = ["priority desc", "id"]
[job_tables.jobs.lease]
timeout = "30s"
""",
    """
INSERT INTO procrastinate_workers DEFAULT VALUES;
INSERT INTO procrastinate_jobs (queue_name, task_name, status, worker_id, attempts)
VALUES ('mail', 'send', 'todo', NULL, 0), ('mail', 'send', 'doing', 1, 0), ('mail', 'send', 'succeeded', NULL, 1)
""",
)

PGQUEUER = Library(
    "pgqueuer",
    """
[job_tables.jobs]
table = "pgqueuer"
[job_tables.jobs.columns]
id = "id"
state = "status"
available_at = "execute_after"
heartbeat_at = "heartbeat"
owner = "queue_manager_id"
attempts = "attempts"
queue = "entrypoint"
priority = "priority"
created_at = "created"
[job_tables.jobs.states]
pending = ["queued"]
running = ["picked"]
done = ["successful"]
dead = ["failed"]
cancelled = ["canceled"]
[job_tables.jobs.claim]
order = ["priority desc", "id"]
[job_tables.jobs.lease]
timeout = "30s"
""",
    """
INSERT INTO pgqueuer (priority, status, entrypoint, queue_manager_id)
VALUES (0, 'queued', 'send', NULL), (0, 'picked', 'send', '00000000-0000-0000-0000-000000000001')
""",
)

GRAPHILE_WORKER = Library(
    "graphile_worker",
    """
[job_tables.jobs]
table = "graphile_worker._private_jobs"
[job_tables.jobs.columns]
id = "id"
available_at = "run_at"
leased_at = "locked_at"
owner = "locked_by"
attempts = "attempts"
max_attempts = "max_attempts"
priority = "priority"
created_at = "created_at"
error = "last_error"
[job_tables.jobs.states]
pending = { where = "is_available", set = { locked_at = "NULL", locked_by = "NULL" } }
running = { where = "locked_at IS NOT NULL" }
dead = { where = "locked_at IS NULL AND attempts >= max_attempts", set = { attempts = "max_attempts" } }
[job_tables.jobs.claim]
order = ["priority", "run_at"]
[job_tables.jobs.lease]
timeout = "4h"
""",
    """
INSERT INTO graphile_worker._private_jobs (task_id, attempts, locked_at, locked_by)
VALUES (1, 0, NULL, NULL), (1, 1, now(), 'worker-1')
""",
)

LIBRARIES = (PROCRASTINATE, PGQUEUER, GRAPHILE_WORKER)
