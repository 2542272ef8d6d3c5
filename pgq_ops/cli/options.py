"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The configuration file; else PGQ_OPS_CONFIG names it, else pgq-ops.toml."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Act without asking.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL instead of running it.")]
