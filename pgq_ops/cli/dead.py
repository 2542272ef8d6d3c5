"""`pgq-ops dead`: what to do with jobs that will not be tried again by themselves."""

from __future__ import annotations

from pgq_ops.cli.dead_export import export
from pgq_ops.cli.dead_list import list_dead
from pgq_ops.cli.dead_purge import purge
from pgq_ops.cli.dead_retry import retry
from pgq_ops.cli.dead_show import show
from pgq_ops.cli.lazy_group import subcommands

app = subcommands("List, show, retry, purge or export dead letters.")

app.command("list")(list_dead)
app.command("show")(show)
app.command("retry")(retry)
app.command("export")(export)
app.command("purge")(purge)
