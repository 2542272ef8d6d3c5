"""`python -m soak`: kill agents, their sessions and their server under load, then say whether any job was harmed."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp

from pgq_ops.demo.binaries import find_binaries
from pgq_ops.demo.environment import forget_libpq_settings
from pgq_ops.demo.server import EmbeddedServer
from soak.plan import Plan
from soak.run import Run

# Durable as by default: what a worker was told is committed must be there after a crash.
_SETTINGS: dict[str, str | int] = {"max_connections": 60, "fsync": "on", "shared_buffers": "256MB", "TimeZone": "UTC"}


def main() -> int:
    """Run once; the exit code is 1 if anything was violated. The record is kept then."""
    options = _options()
    plan = Plan(**{name: value for name, value in vars(options).items() if name != "json"})
    forget_libpq_settings()
    binaries = find_binaries()
    folder = Path(mkdtemp(prefix="pgq-ops-soak-"))
    print(f"PostgreSQL {binaries.version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {plan}", flush=True)
    passed = False
    try:
        with EmbeddedServer(_SETTINGS, binaries) as server:
            result = Run(server, folder, plan, lambda line: print(line, flush=True)).run()
        print("\n".join(result.lines()), flush=True)
        if options.json:
            options.json.write_text(json.dumps(result.as_json(), indent=2) + "\n", encoding="utf-8")
        passed = not result.violations
    finally:
        if passed:
            shutil.rmtree(folder)
        else:
            print(f"the record and the agents' log are kept in {folder}", file=sys.stderr)
    return 0 if passed else 1


def _options() -> argparse.Namespace:
    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    add = parser.add_argument
    add("--seconds", type=float, default=usual.seconds, help=f"length of the storm ({usual.seconds:.0f})")
    add("--calm-seconds", type=float, default=usual.calm_seconds, help=f"and of the calm ({usual.calm_seconds:.0f})")
    add("--kills", type=int, default=usual.kills, help=f"kill -9 of an agent ({usual.kills})")
    add("--terminations", type=int, default=usual.terminations, help=f"of agents' sessions ({usual.terminations})")
    add("--restarts", type=int, default=usual.restarts, help=f"of the server, one of them a crash ({usual.restarts})")
    add("--workers", type=int, default=usual.workers, help=f"worker processes, for two job tables ({usual.workers})")
    add("--poison-share", type=float, default=usual.poison_share, help=f"jobs that kill ({usual.poison_share})")
    add("--slack-seconds", type=float, default=usual.slack_seconds, help=f"beyond every bound ({usual.slack_seconds})")
    add("--seed", type=int, default=random.randrange(10**6), help="of what happens when")
    add("--json", type=Path, metavar="FILE", help="also write every number and violation to this file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
