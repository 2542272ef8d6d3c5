"""`pgq-ops agent`: the sidecar."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption

ModeOption = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="[observe|manage]",
        help="observe: look and tell; manage: also run the tasks that are asked for.",
    ),
]
ListenOption = Annotated[
    str | None, typer.Option("--listen", metavar="HOST:PORT", help="Where /metrics, /livez and /readyz are served.")
]
LogFormatOption = Annotated[
    str | None, typer.Option("--log-format", metavar="[text|json]", help="How logs are written.")
]


def agent(
    config: ConfigOption = None,
    mode: ModeOption = None,
    listen: ListenOption = None,
    log_format: LogFormatOption = None,
) -> None:
    """Run beside your workers: give back the jobs of dead ones, and export what is going on.

    It ends in order on SIGTERM and SIGINT, and takes over a changed configuration on SIGHUP or when the file changes.
    """
    from pgq_ops.agent.process import AgentProcess
    from pgq_ops.cli.setting import load_config

    AgentProcess(
        lambda: load_config(config, agent__mode=mode, agent__listen=listen, agent__log_format=log_format)
    ).run()
