"""`pgq-ops transactions end`: ends sessions that are still in the same transaction."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, YesOption


def end(
    sessions: Annotated[
        list[str], typer.Argument(metavar="PID@START", help="Sessions as `pgq-ops transactions list` prints them.")
    ],
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """End sessions that are still in the same transaction.

    Their work is rolled back. One whose transaction is over is left alone, which is no failure. Never ended are
    sessions of superusers and of pgq-ops, replication and autovacuum.
    """
    from dataclasses import replace

    from pgq_ops.cli.confirmation import confirm, require_answer
    from pgq_ops.cli.printing import print_json, print_line
    from pgq_ops.cli.setting import load_config
    from pgq_ops.cli.transactions_ending import end_sessions, failure, lines, parsed, question
    from pgq_ops.tasks.end_session import Fate

    wanted = parsed(sessions)
    loaded = load_config(config)
    if not dry_run:
        require_answer(yes=yes)
    planning = dry_run or not yes
    result = end_sessions(loaded, wanted, dry_run=planning)
    if planning and not dry_run:
        going = result.with_fate(Fate.ENDED)
        if going:
            confirm(question(going), yes=yes)
            result = end_sessions(loaded, wanted, dry_run=False)
        else:
            result = replace(result, dry_run=False)
    if json:
        print_json(result.as_json())
    else:
        for line in lines(result):
            print_line(line)
    if error := failure(result):
        raise error
