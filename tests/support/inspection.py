"""`inspect` over a test's database, as the command calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.inspection.document import document
from pgq_ops.cli.inspection.inspector import Inspector
from pgq_ops.cli.inspection.screen import screen
from pgq_ops.config.load import load
from tests.support.collecting import PATIENT

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from pgq_ops.cli.inspection.view import Round
    from pgq_ops.config.load import LoadedConfig


def loaded(folder: Path, toml: str, dsn: str) -> LoadedConfig:
    """The config in `toml`, with the DSN from the environment."""
    path = folder / "pgq-ops.toml"
    path.write_text(toml, encoding="utf-8")
    return load(path, {"PGQ_OPS_DSN": dsn}, {})


def looked(folder: Path, toml: str, dsn: str, *names: str) -> Round:
    """One look of a person's."""
    with Inspector(loaded(folder, toml, dsn), names, limits=PATIENT) as inspector:
        return inspector.look()


def as_json(seen: Round) -> list[dict[str, Any]]:
    """The job tables of `--json`."""
    tables: list[dict[str, Any]] = document(seen)["job_tables"]
    return tables


def as_text(seen: Round, width: int | None = 80) -> str:
    """The screen without its colours."""
    return "\n".join(line.plain for line in screen(seen, width))
