"""`pgq-ops doctor`: the production checklist, point by point."""

from __future__ import annotations

import gc
from enum import StrEnum
from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, JsonOption


class FailOn(StrEnum):
    """The least severity of a finding with which the command ends with 1."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="End with 1 for findings so severe, or worse.")]
AllOption = Annotated[bool, typer.Option("--all", "-a", help="Say of each point what was seen, also where it passed.")]


def doctor(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    fail_on: FailOnOption = FailOn.CRITICAL,
    everything: AllOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Go through the production checklist: the workers, the table, the server, and what is wrong just now.

    Each point passed, is a finding with the remedy to paste, or could not be checked, and why. Ends with what the
    agent would do now in mode manage. Only reads, and takes two seconds at most for a table.
    """
    # The process ends in a second; collecting what its imports allocate would be a tenth of it.
    gc.disable()
    from pgq_ops.cli.doctor_report import examine
    from pgq_ops.cli.setting import load_config

    report = examine(load_config(config), names or ())
    if json:
        from pgq_ops.cli.printing import print_json

        print_json(report.as_json())
    else:
        from pgq_ops.cli.doctor_lines import lines
        from pgq_ops.cli.inspection.terminal import show, standard_output, width_of

        console = standard_output()
        show(console, lines(report, width_of(console), everything=everything))
    failure = report.failure()
    if failure is not None:
        raise failure
    if any(report.counted(severity) for severity in _at_or_above(fail_on)):
        raise typer.Exit(1)


def _at_or_above(least: FailOn) -> list[str]:
    severities = [str(one) for one in FailOn if one is not FailOn.NEVER]
    return severities[: severities.index(least) + 1] if least in severities else []
