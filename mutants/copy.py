"""A copy of the working tree in a folder of its own, in which one file at a time is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mutants.breaks import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mutants.breaks import Break

# What the tests need; pgq_ops/assets are links to dashboards and alerts.
_COPIED = ("pgq_ops", "tests", "mutants", "dashboards", "alerts", "pyproject.toml", "pgq-ops.example.toml")
_WHERE = "import pgq_ops; print(pgq_ops.__file__)"
# A break may make a test wait for what never comes; pytest's own timeout is shorter for each test.
_MOST_SECONDS = 300.0


class NotTheCopy(Exception):
    """Python would import another package than the copy, so that nothing would be tried."""


class Copy:
    """The copy in `folder`. Raises NotTheCopy if its processes would not import it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, self.folder / name, symlinks=True, ignore=ignored)
            else:
                shutil.copy(source, self.folder / name)
        # Also for the processes that tests start, of which some have another working folder.
        self._environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-P", "-c", _WHERE]
        asked = subprocess.run(command, cwd="/", env=self._environment, capture_output=True, text=True, check=True)
        if Path(asked.stdout.strip()).parents[1] != self.folder:
            raise NotTheCopy(asked.stdout)

    @contextmanager
    def broken(self, one: Break) -> Iterator[None]:
        """With one break in it, and whole again afterwards."""
        path = self.folder / one.file
        whole = path.read_text(encoding="utf-8")
        path.write_text(one.broken(whole), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(whole, encoding="utf-8")

    def test(self, tests: Sequence[str], *, stop_at_first: bool) -> tuple[int | None, str]:
        """Run tests of the copy on the copy; pytest's exit code (None: too long) and what it wrote.

        `mutants.witness` ends the run with code 4 if it is not the copy that is imported.
        """
        options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "mutants.witness"]
        command = [sys.executable, "-m", "pytest", *options, *(["-x"] if stop_at_first else []), *tests]
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=self._environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=_MOST_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return None, f"longer than {_MOST_SECONDS:.0f} s"
        return ended.returncode, ended.stdout + ended.stderr
