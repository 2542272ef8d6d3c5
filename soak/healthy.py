"""`python -m soak.healthy`: the demo's workers with nobody killed, and the agent beside them; anything found is wrong.

A finding that opens here would wake somebody for nothing. The server has PostgreSQL's defaults, autovacuum included.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pgq_ops.demo.crew import Crew
from pgq_ops.demo.environment import forget_libpq_settings
from pgq_ops.demo.producer import Producer
from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.demo.sidecar import Sidecar
from pgq_ops.demo.table import DATABASE, make_database

if TYPE_CHECKING:
    from pathlib import Path

_ENDED = """
SELECT count(*) FILTER (WHERE status = 'done'), count(*) FILTER (WHERE status = 'failed') FROM demo_queue_jobs
"""
_TICK_SECONDS = 0.1
_TELL_EVERY_SECONDS = 60.0
_READY_SECONDS = 30.0


def main() -> int:
    """Run; exit code 1 if any finding opened, or no job was done."""
    parser = argparse.ArgumentParser(prog="python -m soak.healthy", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (30)")
    parser.add_argument("--workers", type=int, default=4, help="worker processes (4)")
    options = parser.parse_args()
    forget_libpq_settings()
    with EmbeddedServer({}) as server, make_database(server) as connection, ExitStack() as stack:
        folder = server.folder.path
        print(
            f"PostgreSQL {server.binaries.version}, {options.workers} workers, {options.minutes:g} minutes", flush=True
        )
        sidecar = Sidecar(server.dsn(DATABASE), folder)
        stack.callback(sidecar.end)
        crew = Crew(options.workers, server.dsn(DATABASE), folder, connection, lambda text: print(text, flush=True))
        stack.callback(crew.dismiss)
        _until_ready(sidecar)
        producer = Producer(connection, options.workers)
        began = before = told = time.monotonic()
        while (now := time.monotonic()) < began + options.minutes * 60:
            crew.tick()
            sidecar.check()
            producer.tick(now - before)
            before = now
            if now - told >= _TELL_EVERY_SECONDS:
                told = now
                print(
                    f"{(now - began) / 60:.0f} min: {producer.enqueued:,} jobs, {len(_opened(folder))} found",
                    flush=True,
                )
            time.sleep(_TICK_SECONDS)
        done, dead = connection.execute(_ENDED).fetchall()[0]
        found = _opened(folder)
    print(f"{producer.enqueued:,} jobs: {done:,} done, {dead:,} dead; {len(found)} findings opened", flush=True)
    print("\n".join(found))
    return 0 if done and not dead and not found else 1


def _until_ready(sidecar: Sidecar) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not sidecar.is_ready() and time.monotonic() < deadline:
        time.sleep(_TICK_SECONDS)


def _opened(folder: Path) -> list[str]:
    """The lines of the agent's log that tell of a finding, or of a probe or a task that failed."""
    log = (folder / "agent.log").read_text(errors="replace").splitlines()
    return [line for line in log if "finding.opened" in line or "probe.failed" in line or "task.failed" in line]


if __name__ == "__main__":
    sys.exit(main())
