"""`pgq-ops grants`: the least privileges of the role that pgq-ops runs as."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, SqlOption, YesOption
from pgq_ops.schema.tier import Tier

RoleArgument = Annotated[str, typer.Argument(help="The role that pgq-ops runs as; it must exist.")]
TierOption = Annotated[
    list[Tier], typer.Option("--tier", help="How much the role may do. Each holds observe; give several to combine.")
]
PayloadOption = Annotated[bool, typer.Option("--payload", help="Let the role read the mapped payload too.")]


def grants(
    role: RoleArgument,
    tier: TierOption = [Tier.OBSERVE],  # noqa: B006 (Typer copies it)
    payload: PayloadOption = False,
    config: ConfigOption = None,
    sql: SqlOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Grant a role the least that pgq-ops needs, by tier, on every configured job table.

    Run it as the tables' owner or as a superuser: set PGQ_OPS_DSN to connect as one.
    """
    from pgq_ops.cli.confirmation import confirm
    from pgq_ops.cli.printing import print_json, print_line
    from pgq_ops.cli.setting import bind_tables, load_config, session
    from pgq_ops.schema.grants import apply, plan, script

    loaded = load_config(config)
    only_look = sql or dry_run
    with session(loaded.config, "grant privileges", changes=not only_look) as connection:
        tables = [bound.table for bound in bind_tables(connection, loaded)]
        planned = plan(connection, role, tables, tier, payload=payload)
        if not json:
            print_line(script(planned).rstrip())
        if not only_look:
            confirm(f"Run these statements as {connection.info.user}?", yes=yes)
            apply(connection, planned)
    if json:
        statements = [{"statement": grant.statement or None, "why": grant.why} for grant in planned]
        document = {"role": role, "tiers": [str(one) for one in tier], "grants": statements}
        print_json(document | ({"dry_run": True} if only_look else {}))
