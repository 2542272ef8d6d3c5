"""`pgq-ops dead purge`: dead letters are exported and deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, YesOption


def purge(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    queue: QueueOption = None,
    kind: KindOption = None,
    older_than: OlderThanOption = None,
    newer_than: NewerThanOption = None,
    error: ErrorOption = None,
    ids: IdsOption = None,
    limit: LimitOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Of any age; else --older-than is needed.")] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="The new file to export to; else dead-NAME-TIME.jsonl, here."),
    ] = None,
    no_export: Annotated[bool, typer.Option("--no-export", help="Export nothing: they are gone for good.")] = False,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Even if foreign keys delete or change rows of other tables.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Delete dead letters for good, once every column of them, payload included, is safe in a file.

    The file has a JSON object a line, as `dead export --whole-row` writes it. What the table's own constraints refuse
    is told row by row and does not stop the others; what is locked is passed over. An age counts from finished_at
    alone: where that is not mapped no age can be asked for, and a job for which it is not known has none.
    """
    from pgq_ops.cli.dead_acting import act
    from pgq_ops.cli.dead_acting_lines import lines_of_purge, question_of_purge
    from pgq_ops.cli.dead_export_names import export_files
    from pgq_ops.cli.setting import load_config
    from pgq_ops.errors import UsageError
    from pgq_ops.tasks.dead_purge import DeadPurge

    wanted = dead_filter(queue=queue, kind=kind, older_than=older_than, newer_than=newer_than, error=error, ids=ids)
    if wanted.older_than is None and not everything:
        raise UsageError("how old must they be? Give --older-than, or --all for dead letters of any age")
    if no_export and export is not None:
        raise UsageError("--export and --no-export exclude each other")
    loaded = load_config(config)
    files = None if no_export else export_files(names or tuple(loaded.config.job_tables), export)
    task = DeadPurge(wanted=wanted, limit=limit, export=files, cascade=cascade)
    act(
        task,
        loaded,
        names or (),
        dry_run=dry_run,
        yes=yes,
        json=json,
        lines=lines_of_purge,
        question=question_of_purge,
    )
