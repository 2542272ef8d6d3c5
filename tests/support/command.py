"""The installed command `pgq-ops`, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM = str(Path(sys.executable).with_name("pgq-ops"))


def environment(**variables: str) -> dict[str, str]:
    """The test's environment without settings of ours or libpq's, a terminal of 80 columns, and `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "COLUMNS": "80", "LC_ALL": "C.UTF-8", **variables}


def run(
    *arguments: str, cwd: Path | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, without a terminal."""
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=cwd,
        env=environment(**(variables or {})),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
