"""The command `pgq-ops`: which commands there are, and how each of them ends."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.main import get_command

from pgq_ops import __version__
from pgq_ops.cli.ending import exit_code
from pgq_ops.cli.lazy_group import Entry, LazyGroup

COMMANDS = (
    Entry("demo", "pgq_ops.cli.demo:demo", "Watch dead workers' jobs come back, on a throw-away server."),
    Entry("agent", "pgq_ops.cli.agent:agent", "Run beside your workers and give back the jobs of dead ones."),
    Entry("inspect", "pgq_ops.cli.inspect:inspect", "Show the queue, and what is wrong with it, in one screen."),
    Entry("why", "pgq_ops.cli.why:why", "Tell the life of one job, and what becomes of it."),
    Entry("doctor", "pgq_ops.cli.doctor:doctor", "Go through the production checklist."),
    Entry("findings", "pgq_ops.cli.findings:findings", "Show what was wrong some time ago, and whose doing it was."),
    Entry("reap", "pgq_ops.cli.reap:reap", "Take back expired leases once."),
    Entry("dead", "pgq_ops.cli.dead:app", "List, show, retry, purge or export dead letters."),
    Entry("transactions", "pgq_ops.cli.transactions:app", "List the clients' open transactions, or end some."),
    Entry("autovacuum", "pgq_ops.cli.autovacuum:app", "Plan, apply or take back settings that let vacuum keep up."),
    Entry("metrics", "pgq_ops.cli.metrics:metrics", "Print the metrics once."),
    Entry("config", "pgq_ops.cli.config:app", "Check or show the configuration."),
    Entry("install", "pgq_ops.cli.install:install", "Install or upgrade the pgq_ops schema in the database."),
    Entry("grants", "pgq_ops.cli.grants:grants", "Grant a role the least that pgq-ops needs, by tier."),
)


class Commands(LazyGroup):
    """The commands of `pgq-ops`."""

    entries = COMMANDS


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pgq-ops {__version__}")  # noqa: T201 (this is the command's output)
        raise typer.Exit


@app.callback()
def pgq_ops(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Operate and watch a PostgreSQL job table that your own workers use."""


def main() -> None:
    """Run the command that was typed and end the process with its exit code."""
    sys.exit(exit_code(lambda: get_command(app)(prog_name="pgq-ops")))
