"""`pgq-ops reap`: one pass of the reaper, by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, YesOption


def reap(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    include_stale: Annotated[
        bool, typer.Option("--include-stale", help="Also take leases that ran out longer ago than max_expired_age.")
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Take back expired leases once: requeue the jobs with backoff, bury those whose attempts reach the cap."""
    from pgq_ops.cli.confirmation import confirm
    from pgq_ops.cli.printing import print_json, print_line
    from pgq_ops.cli.reap_report import lines, reap_tables
    from pgq_ops.cli.setting import load_config

    loaded = load_config(config)
    if not dry_run and not yes:
        plans = reap_tables(loaded, names or (), include_stale=include_stale, dry_run=True)
        planned = sum(plan.requeued + plan.dead_lettered for _, plan in plans)
        confirm(f"Take back {planned} expired leases?", yes=yes)
    report = reap_tables(loaded, names or (), include_stale=include_stale, dry_run=dry_run)
    if json:
        print_json({"job_tables": [{"name": name, **result.as_json()} for name, result in report]})
        return
    for line in lines(report):
        print_line(line)
