"""Options that the commands of `pgq-ops autovacuum` share."""

from __future__ import annotations

from typing import Annotated

import typer

NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")]
MeasureOption = Annotated[
    str, typer.Option("--measure", metavar="DURATION", help="How long to watch how fast rows die; 0s: not at all.")
]
MEASURED = "5s"


def seconds_of(measure: str) -> float:
    """The option's value in seconds. Raises UsageError."""
    from pgq_ops.errors import UsageError
    from pgq_ops.units import parse_duration

    try:
        return parse_duration(measure).total_seconds()
    except ValueError as error:
        raise UsageError(f"--measure: {error}") from error
