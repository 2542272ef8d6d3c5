"""`pgq-ops why`: the life of one job."""

from __future__ import annotations

from typing import Annotated

import typer

from pgq_ops.cli.options import ConfigOption, JsonOption


def why(
    job: Annotated[str, typer.Argument(metavar="ID", help="The job's id, as the mapped column has it.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Job tables; all if none.")] = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Tell the life of one job: who runs it, what becomes of it and when, or why nobody claims it.

    Only reads, and never a payload. What the reaper did before is told where the schema pgq_ops is installed. Ends
    with 2 where neither a job nor the reap log has the id.
    """
    from pgq_ops.cli.dead_options import dead_filter
    from pgq_ops.cli.setting import load_config
    from pgq_ops.cli.why_report import explain
    from pgq_ops.errors import UsageError

    dead_filter(ids=[job], ids_by="ID")  # refuses what no id can be
    report = explain(load_config(config), names or (), job)
    if json:
        from pgq_ops.cli.printing import print_json
        from pgq_ops.cli.why_document import document

        print_json(document(report))
    else:
        from pgq_ops.cli.inspection.terminal import show, standard_output, width_of
        from pgq_ops.cli.why_lines import lines

        console = standard_output()
        show(console, lines(report, width_of(console)))
    failure = report.failure()
    if failure is not None:
        raise failure
    if not report.known:
        raise UsageError(f"no job has the id {job!r}, and the reap log does not know it")
