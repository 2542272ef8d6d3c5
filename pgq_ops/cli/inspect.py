"""`pgq-ops inspect`: one look shows the queue."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, JsonOption

NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")]
EveryOption = Annotated[float, typer.Option("--every", min=0.2, max=3600, help="Seconds between looks of --watch.")]


def inspect(
    names: NamesArgument = None,
    watch: WatchOption = False,
    every: EveryOption = 2.0,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show queues, leases, the agent's last runs, and what is wrong, with the remedy to paste.

    Only reads. Numbers marked ~ are estimates. What could not be read is said, and ends the command with 3 only if
    nothing at all could be.
    """
    if not watch:
        # The process ends in half a second; collecting what its imports allocate would be a tenth of it.
        gc.disable()
    from pgq_ops.cli.inspection.inspector import Inspector
    from pgq_ops.cli.setting import load_config
    from pgq_ops.errors import UsageError

    if watch and json:
        raise UsageError("--watch shows a screen and --json prints one document: give one of them")
    with Inspector(load_config(config), names or (), repeatedly=watch) as inspector:
        if watch:
            from pgq_ops.cli.inspection.watch import watch as watching

            watching(inspector, every)
            return
        seen = inspector.look()
    if json:
        from pgq_ops.cli.inspection.document import document
        from pgq_ops.cli.printing import print_json

        print_json(document(seen))
    elif any(view.error is None for view in seen.tables):
        from pgq_ops.cli.inspection.screen import screen
        from pgq_ops.cli.inspection.terminal import show, standard_output, width_of

        console = standard_output()
        show(console, screen(seen, width_of(console), reasons=False))
    failure = seen.failure()
    if failure is not None:
        raise failure
