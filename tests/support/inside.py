"""The command `pgq-ops` run inside the test's process: dozens of runs that would take minutes as processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.main import get_command

from pgq_ops import logs
from pgq_ops.cli.app import app
from pgq_ops.cli.ending import exit_code

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_inside(arguments: Sequence[str]) -> int:
    """Its exit code; what it knew as secrets is forgotten again."""
    try:
        return exit_code(lambda: get_command(app)(list(arguments), prog_name="pgq-ops"))
    finally:
        logs._secrets.clear()
