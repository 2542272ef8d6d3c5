"""`pgq-ops dead export`: dead letters as JSON, one by one, however many there are."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pgq_ops.cli.dead_options import (
    ErrorOption,
    IdsOption,
    KindOption,
    LimitOption,
    NewerThanOption,
    OlderThanOption,
    QueueOption,
    dead_filter,
)
from pgq_ops.cli.options import ConfigOption

Format = Annotated[
    Literal["jsonl", "json"], typer.Option("--format", help="An object on each line, or one document with a list.")
]


def export(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    queue: QueueOption = None,
    kind: KindOption = None,
    older_than: OlderThanOption = None,
    newer_than: NewerThanOption = None,
    error: ErrorOption = None,
    ids: IdsOption = None,
    limit: LimitOption = None,
    payload: Annotated[bool, typer.Option("--payload", help="With the mapped payload.")] = False,
    whole_row: Annotated[
        bool, typer.Option("--whole-row", help="With every column, the payload too, as a restore needs them.")
    ] = False,
    form: Format = "jsonl",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A new file; - is stdout.")] = "-",
    config: ConfigOption = None,
) -> None:
    """Write dead letters as JSON, in the order of their key.

    Only reads; how many there were is told on stderr. No snapshot is held longer than a page takes. What is retried or
    purged meanwhile may be left out. An age counts from finished_at, where that is not mapped or not known from
    created_at: age_since says which.
    """
    from pgq_ops.cli.dead_file import destination
    from pgq_ops.cli.dead_records import export_tables
    from pgq_ops.cli.ending import tell
    from pgq_ops.cli.setting import load_config
    from pgq_ops.cli.several import united

    wanted = dead_filter(queue=queue, kind=kind, older_than=older_than, newer_than=newer_than, error=error, ids=ids)
    loaded = load_config(config)
    with destination(output, form) as file:
        tables = export_tables(
            loaded, names or (), wanted, file.write, payload=payload, whole_row=whole_row, limit=limit
        )
        failure = united(table.error for table in tables if table.error is not None)
        without = "" if payload or whole_row else ", without their payload (--payload or --whole-row adds it)"
        for table in tables:
            if table.jobs or table.error is None:
                many = "1 dead letter" if table.jobs == 1 else f"{table.jobs:,} dead letters"
                until = "" if table.error is None else " until it failed"
                tell(f"{table.name}: {many} exported{until}{without}")
        if failure is not None:
            raise failure
