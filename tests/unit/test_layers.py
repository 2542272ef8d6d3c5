"""The architecture: imports run down the layers that pyproject.toml lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

if TYPE_CHECKING:
    import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_imports_run_down_the_layers_only(capsys: pytest.CaptureFixture[str]) -> None:
    status = lint_imports(config_filename=str(PROJECT), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
