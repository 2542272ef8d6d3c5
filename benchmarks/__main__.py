"""`python -m benchmarks`: run the benchmarks on a throw-away server and print what they found."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.printing import print_figures, print_total
from benchmarks.registry import BENCHMARKS
from benchmarks.scale import Scale
from benchmarks.stage import SETTINGS, Stage

if TYPE_CHECKING:
    from benchmarks.figures import Figures


def main() -> int:
    """Run what was asked for. Numbers that were not reached are said, and no error: a machine may be busy.

    A benchmark that fails does not stop the others; the exit code is then 1.
    """
    options = _options()
    scale = Scale(options.rows, options.effort)
    failed = 0
    found: dict[str, Figures] = {}
    with Stage(scale, options.folder) as stage:
        version = stage.server.binaries.version
        print(f"PostgreSQL {version}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {_settings()}")
        for name in options.only or BENCHMARKS:
            began = time.monotonic()
            try:
                found[name] = BENCHMARKS[name](stage)
            except Exception:  # noqa: BLE001 (whatever it is, the others are still wanted)
                failed += 1
                print(f"\n{name}: FAILED\n{traceback.format_exc()}", flush=True)
            else:
                print_figures(name, found[name], time.monotonic() - began)
    print_total(list(found.values()))
    if options.json:
        document = {
            "postgresql": version,
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "settings": SETTINGS,
            "rows": scale.rows,
            "effort": scale.effort,
            "benchmarks": {name: figures.as_json() for name, figures in found.items()},
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "only", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=f"of: {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--rows", type=int, default=Scale().rows, help="finished jobs in the large table (10 million)")
    parser.add_argument("--effort", type=float, default=1.0, help="share of the usual repetitions and seconds (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every value to this file")
    parser.add_argument("--folder", type=Path, help="where the server keeps its data: 5 GB for 10 million rows")
    return parser.parse_args()


def _settings() -> str:
    return ", ".join(f"{name} {value}" for name, value in SETTINGS.items())


if __name__ == "__main__":
    sys.exit(main())
