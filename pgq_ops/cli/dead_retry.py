"""`pgq-ops dead retry`: dead jobs become pending again."""

from __future__ import annotations

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


def retry(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    queue: QueueOption = None,
    kind: KindOption = None,
    older_than: OlderThanOption = None,
    newer_than: NewerThanOption = None,
    error: ErrorOption = None,
    ids: IdsOption = None,
    limit: LimitOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every dead job, where no filter is given.")] = False,
    extra_attempts: Annotated[
        int | None,
        typer.Option(
            "--extra-attempts",
            min=1,
            metavar="N",
            help="Leave so many runs, not as many as a new job has; never more than the job's cap allows.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            min=0,
            max=1_000_000,
            metavar="N",
            help="So many come back each second, 50 if not given; 0: at once. All within 30 days.",
        ),
    ] = None,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Even if foreign keys to the dead-letter table change other tables.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Make dead jobs pending again, with fresh attempts and their own ids, in place or from the dead-letter table.

    They are spread over time, each at random within its share of it. What the table's own constraints refuse is told
    job by job and does not stop the others; what is locked is passed over. Running it again changes nothing.
    An age counts from finished_at; where that is not mapped or not known from created_at.
    """
    from pgq_ops.cli.dead_acting import act
    from pgq_ops.cli.dead_acting_lines import lines_of_retry, question_of_retry
    from pgq_ops.cli.setting import load_config
    from pgq_ops.errors import UsageError
    from pgq_ops.tasks.dead_retry import DEFAULT_RATE, DeadRetry

    wanted = dead_filter(queue=queue, kind=kind, older_than=older_than, newer_than=newer_than, error=error, ids=ids)
    if wanted.is_empty and limit is None and not everything:
        raise UsageError("nothing says which dead jobs: give a filter, or --all for every one")
    task = DeadRetry(
        wanted=wanted,
        limit=limit,
        extra_attempts=extra_attempts,
        rate=DEFAULT_RATE if rate is None else rate,
        cascade=cascade,
    )
    act(
        task,
        load_config(config),
        names or (),
        dry_run=dry_run,
        yes=yes,
        json=json,
        lines=lines_of_retry,
        question=question_of_retry,
    )
