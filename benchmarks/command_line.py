"""How long a person waits for the command, beside an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psycopg

from benchmarks.agent_process import COMMAND, environment
from benchmarks.bound import CONFIG
from benchmarks.figures import Figures, Series, Target
from benchmarks.history import insert_working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.stage import Stage

_REPETITIONS = 11
# The numbers to reach were set where the bare interpreter takes 0.02 s; here they are scaled by what it takes.
_BARE_SECONDS = 0.02
_LIMITS = {"--help": 0.15, "inspect": 0.5}


def run(stage: Stage) -> Figures:
    """Measure `--help`, and `inspect` of a job table with a long history."""
    with (
        stage.database(stage.scale.rows) as dsn,
        psycopg.connect(dsn, autocommit=True) as admin,
        TemporaryDirectory() as folder,
    ):
        insert_working(admin, stage.scale.rows)
        (Path(folder) / "pgq-ops.toml").write_text(CONFIG, encoding="utf-8")
        commands: dict[str, Sequence[str | Path]] = {
            "bare interpreter": [sys.executable, "-c", "pass"],
            "--help": [COMMAND, "--help"],
            "inspect": [COMMAND, "inspect"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(stage.scale.repetitions(_REPETITIONS)):
            for name, command in commands.items():
                seconds[name].append(_seconds(command, dsn, folder))
    series = {name: Series.of(name, "s", values) for name, values in seconds.items()}
    scale = series["bare interpreter"].median / _BARE_SECONDS
    targets = tuple(Target(name, series[name].median, limit * scale, "s") for name, limit in _LIMITS.items())
    about = f"the installed command in turn; limits are {scale:.2g} times those for an interpreter of {_BARE_SECONDS} s"
    return Figures(about, tuple(series.values()), targets)


def _seconds(command: Sequence[str | Path], dsn: str, folder: str) -> float:
    """How long the command takes. Raises CalledProcessError where it fails."""
    began = time.perf_counter()
    subprocess.run(command, check=True, cwd=folder, env=environment(dsn), stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
