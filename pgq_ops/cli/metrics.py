"""`pgq-ops metrics`: what the agent would export, once."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption

NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")]


def metrics(names: NamesArgument = None, config: ConfigOption = None) -> None:
    """Look at the job tables once and print the metrics in Prometheus' text format.

    Only reads. What could not be collected is absent, and told on stderr; a job table that cannot be looked at does
    not keep the others back, and ends the command with 2 or 3.
    """
    from pgq_ops.cli.ending import tell
    from pgq_ops.cli.metrics_report import collect
    from pgq_ops.cli.printing import print_text
    from pgq_ops.cli.setting import load_config

    report = collect(load_config(config), names or ())
    if report.text:
        print_text(report.text.rstrip())
    for absent in report.absent:
        tell(absent)
    if report.error is not None:
        raise report.error
