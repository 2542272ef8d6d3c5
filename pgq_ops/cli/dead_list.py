"""`pgq-ops dead list`: which jobs died, how many, and of what."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.dead_options import (
    ErrorOption,
    IdsOption,
    KindOption,
    NewerThanOption,
    OlderThanOption,
    QueueOption,
    dead_filter,
)
from pgq_ops.cli.options import ConfigOption, JsonOption


def list_dead(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    queue: QueueOption = None,
    kind: KindOption = None,
    older_than: OlderThanOption = None,
    newer_than: NewerThanOption = None,
    error: ErrorOption = None,
    ids: IdsOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, max=10_000, metavar="N", help="Show so many of each job table.")
    ] = 50,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List the jobs that died last, and what most died of.

    Before them how many there are, how old they are and how many came lately; of each job its error's first line.
    Only reads, and never a payload. Where both a dead state and a dead-letter table are configured, both are read.
    An age counts from finished_at; where that is not mapped or not known from created_at, and is said to.
    """
    from pgq_ops.cli.dead_report import list_tables
    from pgq_ops.cli.setting import load_config

    wanted = dead_filter(queue=queue, kind=kind, older_than=older_than, newer_than=newer_than, error=error, ids=ids)
    report = list_tables(load_config(config), names or (), wanted, limit)
    if json:
        from pgq_ops.cli.printing import print_json

        print_json(report.as_json())
    else:
        from pgq_ops.cli.dead_lines import lines
        from pgq_ops.cli.inspection.terminal import show, standard_output, width_of

        console = standard_output()
        show(console, lines(report, width_of(console)))
    failure = report.failure()
    if failure is not None:
        raise failure
