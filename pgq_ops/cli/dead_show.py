"""`pgq-ops dead show`: one dead letter, whole."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, JsonOption


def show(
    job: Annotated[str, typer.Argument(metavar="ID", help="The job's id as `dead list` shows it.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    payload: Annotated[bool, typer.Option("--payload", help="With the payload.")] = False,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show one dead letter with its whole error.

    All that is mapped is shown, the payload only if asked for. Ends with 2 where no dead letter has the id.
    """
    from pgq_ops.cli.dead_options import dead_filter
    from pgq_ops.cli.dead_records import find
    from pgq_ops.cli.printing import print_line, print_text
    from pgq_ops.cli.setting import load_config
    from pgq_ops.errors import UsageError

    found = find(load_config(config), names or (), dead_filter(ids=[job], ids_by="ID"), payload=payload)
    if json:
        print_line('{"dead_letters": [')
        print_text(",\n".join(found.records))
        print_line("]}")
    elif found.records:
        from pgq_ops.cli.dead_record_lines import lines
        from pgq_ops.cli.inspection.terminal import show as show_lines
        from pgq_ops.cli.inspection.terminal import standard_output

        show_lines(standard_output(), lines(found.records))
    if found.error is not None:
        raise found.error
    if not found.records:
        raise UsageError(f"no dead letter has the id {job!r}")
