"""`pgq-ops config`: check the configuration, or show what is in effect."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.lazy_group import subcommands
from pgq_ops.cli.options import ConfigOption, JsonOption

app = subcommands("Check or show the configuration.")

OfflineOption = Annotated[bool, typer.Option("--offline", help="Do not look at the database.")]


@app.command()
def check(config: ConfigOption = None, offline: OfflineOption = False, json: JsonOption = False) -> None:
    """Check the configuration, and its job tables against the database.

    Ends with 2 if something is wrong, with 3 if the database cannot be reached.
    """
    from pgq_ops.cli.config_check import checked
    from pgq_ops.cli.printing import print_json, print_line

    report = checked(config, offline=offline)
    if json:
        print_json(report.as_json())
    else:
        for line in report.lines():
            print_line(line)
    if report.error is not None:
        raise report.error


@app.command()
def show(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Print every setting in effect and where it comes from. Secrets are masked."""
    from pgq_ops.cli.printing import print_json, print_line
    from pgq_ops.cli.setting import load_config
    from pgq_ops.config.show import document, rows

    loaded = load_config(config)
    if json:
        path = None if loaded.path is None else str(loaded.path)
        print_json({"path": path, "config": document(loaded), "origins": dict(loaded.origins)})
        return
    for row in rows(loaded):
        print_line(f"{row.key} = {_written(row.value)}  # {row.origin}")


def _written(value: object) -> str:
    """A value much as TOML has it; `off` stands for none."""
    from json import dumps

    if value is None:
        return "off"
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {_written(part)}" for key, part in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return dumps(value, ensure_ascii=False)
