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
    from pgq_ops.cli.confirmation import confirm, require_answer
    from pgq_ops.cli.printing import print_report
    from pgq_ops.cli.reap_lines import lines, question
    from pgq_ops.cli.reap_report import reap_tables
    from pgq_ops.cli.setting import load_config

    loaded = load_config(config)
    if not dry_run:
        require_answer(yes=yes)
    planning = dry_run or not yes
    report = reap_tables(loaded, names or (), include_stale=include_stale, dry_run=planning)
    if planning and not dry_run:
        if report.changed:
            confirm(question(report), yes=yes)
            report = reap_tables(loaded, names or (), include_stale=include_stale, dry_run=False)
        else:
            report = report.as_done()
    print_report(report, lines(report), as_json=json)
