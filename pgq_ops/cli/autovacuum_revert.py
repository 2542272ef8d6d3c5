"""`pgq-ops autovacuum revert`: puts back what was set before."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.autovacuum_options import NamesArgument
from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, YesOption

ParameterOption = Annotated[
    list[str] | None, typer.Option("--parameter", "-p", metavar="PARAMETER", help="Only this one; may be repeated.")
]
TableOption = Annotated[
    list[str] | None, typer.Option("--table", "-t", metavar="TABLE", help="Only this partition; may be repeated.")
]


def revert(
    names: NamesArgument = None,
    parameters: ParameterOption = None,
    tables: TableOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Put back the storage parameters that pgq-ops set, and no others.

    What somebody else has set since stays as it is, and is told. Partitions that were detached since are put back too.
    """
    from pgq_ops.cli.autovacuum_revert_lines import lines, question
    from pgq_ops.cli.autovacuum_reverting import Only, revert_tables
    from pgq_ops.cli.confirmation import confirm, require_answer
    from pgq_ops.cli.printing import print_report
    from pgq_ops.cli.setting import load_config

    only = Only.of(parameters or (), tables or ())
    loaded = load_config(config)
    if not dry_run:
        require_answer(yes=yes)
    planning = dry_run or not yes
    report = revert_tables(loaded, names or (), only, dry_run=planning)
    if planning and not dry_run:
        if report.parameters:
            confirm(question(report), yes=yes)
        report = revert_tables(loaded, names or (), only, dry_run=False)
    print_report(report, lines(report), as_json=json)
