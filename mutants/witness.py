"""A plug-in for pytest that refuses to run on any other package than the one in pytest's own folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pgq_ops

if TYPE_CHECKING:
    from _pytest.config import Config


def pytest_configure(config: Config) -> None:
    """Raise a usage error (exit code 4) if `pgq_ops` comes from somewhere else."""
    found = Path(pgq_ops.__file__).parents[1]
    if found != config.rootpath:
        raise pytest.UsageError(f"pgq_ops is imported from {found}, not from {config.rootpath}")
