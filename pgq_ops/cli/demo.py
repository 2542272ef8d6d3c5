"""`pgq-ops demo`: everything at work, on a throw-away server."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import JsonOption


def demo(
    seconds: Annotated[
        float, typer.Option(min=10, max=3600, help="How long it runs, from the start to the empty queue.")
    ] = 30,
    workers: Annotated[int, typer.Option(min=2, max=64, help="How many workers run at a time.")] = 4,
    agent: Annotated[bool, typer.Option("--agent/--no-agent", help="Without it, see what becomes of the jobs.")] = True,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep server and agent running afterwards, until Ctrl-C.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Watch dead workers' jobs come back.

    Starts an embedded PostgreSQL, workers of which some are killed, hang or meet poison jobs, and the agent beside
    them. The summary is checked against the job table and the workers' own record: exit code 0 if all of it holds,
    1 if not, 130 if interrupted.
    """
    from pgq_ops.cli.printing import print_json
    from pgq_ops.demo.show import Options, show

    options = Options(seconds=seconds, workers=workers, agent=agent, keep=keep)
    raise typer.Exit(show(options, publish=print_json if json else None))
