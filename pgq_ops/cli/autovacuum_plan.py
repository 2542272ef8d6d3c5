"""`pgq-ops autovacuum plan`: what the settings of each table ought to be, and why."""

from __future__ import annotations

from pgq_ops.cli.autovacuum_options import MEASURED, MeasureOption, NamesArgument, seconds_of
from pgq_ops.cli.options import ConfigOption, JsonOption, SqlOption


def plan(
    names: NamesArgument = None,
    sql: SqlOption = False,
    measure: MeasureOption = MEASURED,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Tell what each table's storage parameters ought to be, and why.

    Of each partition, and why in numbers. Only reads. It watches for some seconds how fast rows die; an agent, which
    watches for ten minutes, knows better. With --sql it prints a script for whoever may change the tables.
    """
    from pgq_ops.cli.autovacuum_lines import lines
    from pgq_ops.cli.autovacuum_report import look
    from pgq_ops.cli.printing import print_report
    from pgq_ops.cli.setting import load_config
    from pgq_ops.errors import UsageError

    if json and sql:
        raise UsageError("--json and --sql exclude each other: the document has each statement too")
    report = look(load_config(config), names or (), seconds=seconds_of(measure), discovering=True)
    print_report(report, report.script() if sql else lines(report), as_json=json)
