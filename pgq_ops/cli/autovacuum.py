"""`pgq-ops autovacuum`: settings that let vacuum keep up with the queue, and the way back."""

from __future__ import annotations

from pgq_ops.cli.autovacuum_apply import apply
from pgq_ops.cli.autovacuum_plan import plan
from pgq_ops.cli.autovacuum_revert import revert
from pgq_ops.cli.lazy_group import subcommands

app = subcommands("Plan, apply or take back autovacuum settings that keep up with the queue.")

app.command("plan")(plan)
app.command("apply")(apply)
app.command("revert")(revert)
