"""`pgq-ops transactions`: the clients' open transactions, and how to end one."""

from __future__ import annotations

from pgq_ops.cli.lazy_group import subcommands
from pgq_ops.cli.transactions_end import end
from pgq_ops.cli.transactions_list import list_transactions

app = subcommands("List the clients' open transactions, or end some.")

app.command("list")(list_transactions)
app.command("end")(end)
