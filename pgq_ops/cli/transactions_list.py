"""`pgq-ops transactions list`: which transactions are open, what they hold back and whom they block."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, JsonOption


def list_transactions(
    queries: Annotated[bool, typer.Option("--queries", help="Show each session's statement, values included.")] = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """List the clients' open transactions, the longest first.

    Those of this database, each with its PID@START, which `pgq-ops transactions end` takes. Left out are sessions of
    pgq-ops, replication, autovacuum, VACUUM and CREATE INDEX CONCURRENTLY. Only reads.
    """
    from pgq_ops.cli.setting import load_config
    from pgq_ops.cli.transactions_report import look

    report = look(load_config(config))
    if json:
        from pgq_ops.cli.printing import print_json

        print_json(report.as_json(queries=queries))
        return
    from pgq_ops.cli.inspection.terminal import show, standard_output, width_of
    from pgq_ops.cli.transactions_lines import lines

    console = standard_output()
    show(console, lines(report, width_of(console), queries=queries))
