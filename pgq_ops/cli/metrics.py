"""`pgq-ops metrics`: what the agent would export, once."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption

NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")]


def metrics(names: NamesArgument = None, config: ConfigOption = None) -> None:
    """Look at the job tables once and print the metrics in Prometheus' text format.

    Only reads. What could not be collected is absent, and told on stderr.
    """
    from pgq_ops.cli.ending import tell
    from pgq_ops.cli.metrics_report import collect
    from pgq_ops.cli.printing import print_line
    from pgq_ops.cli.setting import load_config

    text, failures = collect(load_config(config), names or ())
    print_line(text.rstrip())
    for failure in failures:
        tell(failure)
