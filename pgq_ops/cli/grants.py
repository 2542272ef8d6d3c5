"""`pgq-ops grants`: the least privileges of the role that pgq-ops runs as."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, SqlOption, YesOption
from pgq_ops.schema.tier import Tier

RoleArgument = Annotated[str, typer.Argument(help="The role that pgq-ops runs as; it must exist.")]
TierOption = Annotated[
    list[Tier],
    typer.Option(
        "--tier",
        metavar=f"[{'|'.join(Tier)}]",
        help="How much the role may do. Each holds observe; give several to combine.",
    ),
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
    from pgq_ops.cli.job_tables import bind_tables
    from pgq_ops.cli.printing import print_json, print_line, print_text
    from pgq_ops.cli.setting import load_config, session
    from pgq_ops.cli.several import united
    from pgq_ops.schema.grants import apply, plan, script

    loaded = load_config(config)
    only_look = sql or dry_run
    with session(loaded, "grant privileges", changes=not only_look) as connection:
        tables = bind_tables(connection, loaded)
        failure = united(tables.errors.values())
        if failure is not None and not tables.bound:
            raise failure
        planned = plan(connection, role, [one.table for one in tables.bound.values()], tier, payload=payload)
        if not json:
            print_text(script(planned).rstrip())
        outcome = None
        if not only_look:
            confirm(f"Run these statements as {connection.info.user}?", yes=yes)
            outcome = apply(connection, planned)
    done = [grant.statement for grant in outcome.granted] if outcome else []
    if not json:
        for statement in done:
            print_line(f"granted: {statement}")
    if outcome is not None and outcome.error is not None:
        failure = united([error for error in (failure, outcome.error) if error is not None])
    if json:
        statements = [{"statement": grant.statement or None, "why": grant.why} for grant in planned]
        errors = {name: str(tables.errors[name]) if name in tables.errors else None for name in tables.found}
        named = [{"name": name, "error": error} for name, error in errors.items()]
        document = {"role": role, "tiers": [str(one) for one in tier], "grants": statements, "job_tables": named}
        if outcome is None:
            print_json(document | {"dry_run": True})
        else:
            refused = [{"statement": one.grant.statement, "error": str(one.error)} for one in outcome.refused]
            print_json(document | {"granted": done, "refused": refused})
    if failure is not None:
        raise failure
