"""`pgq-ops install`: the small schema in which pgq-ops remembers things."""

from __future__ import annotations

from pgq_ops.cli.options import ConfigOption, DryRunOption, JsonOption, SqlOption, YesOption


def install(
    config: ConfigOption = None,
    sql: SqlOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Install or upgrade the pgq_ops schema in the database.

    Running it again changes nothing. With --sql the whole script is printed for psql; no database is needed then.
    """
    from pgq_ops.cli.confirmation import confirm
    from pgq_ops.cli.printing import print_json, print_line, print_text
    from pgq_ops.cli.setting import load_config, session
    from pgq_ops.schema import versions

    if sql:
        print_text(versions.script().rstrip())
        return
    loaded = load_config(config)
    with session(loaded, "install the schema pgq_ops", changes=not dry_run) as connection:
        before = versions.installed(connection)
        missing = versions.pending(connection)
        if missing and not dry_run:
            confirm(f"Install version {versions.newest()} of the schema pgq_ops?", yes=yes)
            versions.install(connection)
    applied = [f"{version.number:04d}_{version.name}" for version in missing]
    if json:
        after = before if dry_run else versions.newest()
        document = {"schema": "pgq_ops", "version_before": before, "version": after, "applied": applied}
        print_json(document | ({"dry_run": True} if dry_run else {}))
    elif not missing:
        print_line(f"the schema pgq_ops is there in version {before}: nothing to do")
    else:
        print_line(f"{'would apply' if dry_run else 'applied'} {', '.join(applied)} of the schema pgq_ops")
