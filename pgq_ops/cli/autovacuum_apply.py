"""`pgq-ops autovacuum apply`: sets what the plan says, once."""

from __future__ import annotations

from pgq_ops.cli.autovacuum_options import MEASURED, MeasureOption, NamesArgument, seconds_of
from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, YesOption


def apply(
    names: NamesArgument = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    measure: MeasureOption = MEASURED,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Set what `plan` tells, and keep the old values for `revert`.

    Only what differs is set, partition by partition. It waits for nobody: a table that is being vacuumed is busy, and
    left for another time.
    """
    from pgq_ops.cli.autovacuum_lines import lines, question
    from pgq_ops.cli.autovacuum_report import apply_tables, look
    from pgq_ops.cli.confirmation import confirm, require_answer
    from pgq_ops.cli.printing import print_report
    from pgq_ops.cli.setting import load_config

    loaded = load_config(config)
    if not dry_run:
        require_answer(yes=yes)
    report = look(loaded, names or (), seconds=seconds_of(measure), acting=not dry_run)
    if not dry_run:
        if report.parameters and not yes:
            confirm(question(report), yes=yes)
        report = apply_tables(loaded, names or (), report)
    print_report(report, lines(report), as_json=json)
