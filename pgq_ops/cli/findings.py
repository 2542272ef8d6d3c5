"""`pgq-ops findings`: what was wrong then, and whose doing it was."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, JsonOption

# Sentences are broken in a file and a mail too; names, commands and SQL never are.
PIPED_WIDTH = 80

AtOption = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help='What was wrong at this moment: "03:12", "2h" ago, "2026-11-30 03:12".'),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="All that was wrong since then; 24 hours ago if neither.")
]


def findings(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    at: AtOption = None,
    since: SinceOption = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show what was wrong then, how long, with its evidence and remedy, also when the guilty are long gone.

    Agents of either mode write it down for 14 days where the pgq_ops schema is installed (`pgq-ops install`); what
    nobody looked at is said. A time without a zone is one of this machine's, which is named.
    """
    from pgq_ops.cli.findings_report import report_of
    from pgq_ops.cli.setting import load_config
    from pgq_ops.errors import UsageError

    if at is not None and since is not None:
        raise UsageError("--at asks for one moment and --since for all after one: give one of them")
    report = report_of(load_config(config), names or (), at=at, since=since)
    if json:
        from pgq_ops.cli.findings_json import document
        from pgq_ops.cli.printing import print_json

        print_json(document(report))
        return
    from pgq_ops.cli.findings_lines import lines
    from pgq_ops.cli.inspection.terminal import show, standard_output, width_of

    console = standard_output()
    show(console, lines(report, width_of(console) or PIPED_WIDTH))
