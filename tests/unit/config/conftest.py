from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from pgq_ops.config.load import LoadedConfig, load
from pgq_ops.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# A job table that needs nothing more; tests append what they are about.
EMAILS = """
[job_tables.emails]
table = "jobs"
preset = "lease"
"""


class Load(Protocol):
    def __call__(
        self, text: str = "", environment: Mapping[str, str] | None = None, **flags: object
    ) -> LoadedConfig: ...


class Refused(Protocol):
    def __call__(self, text: str = "", environment: Mapping[str, str] | None = None) -> str: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def load_text(folder: Path) -> Load:
    """Load a configuration from this text of pgq-ops.toml."""

    def call(text: str = "", environment: Mapping[str, str] | None = None, **flags: object) -> LoadedConfig:
        if text:
            (folder / "pgq-ops.toml").write_text(text)
        return load(None, environment or {}, {key.replace("__", "."): value for key, value in flags.items()})

    return call


@pytest.fixture
def refused(load_text: Load) -> Refused:
    """Return the message with which this text is refused."""

    def call(text: str = "", environment: Mapping[str, str] | None = None) -> str:
        with pytest.raises(ConfigError) as caught:
            load_text(text, environment)
        assert caught.value.__cause__ is None
        return str(caught.value)

    return call


@pytest.fixture
def emails() -> str:
    return EMAILS
