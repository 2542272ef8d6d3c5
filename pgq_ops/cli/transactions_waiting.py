"""Who waits for whom as lines of `transactions list`, and the prepared transactions, which are in nobody's session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.stats.blocking import PREPARED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.transactions_report import Report
    from pgq_ops.stats.blocking import Waiter
    from pgq_ops.stats.transactions import Transaction

# A pool of a hundred connections may wait behind one.
_MOST_NAMED = 5


def waits(report: Report, one: Transaction) -> Iterator[Text]:
    """What its session waits for, and behind whom; nothing where it does not wait."""
    wait = report.wait_of(one)
    if wait is not None:
        lasting = "" if wait.seconds is None else f" {ago(wait.seconds)}"
        behind = f" behind {_listed([_named(report, pid) for pid in wait.blocked_by])}" if wait.blocked_by else ""
        yield Text(f"  waits{lasting} for {printable(wait.what)} ({wait.mode}){behind}", "red")


def blocks(blocked: tuple[Waiter, ...]) -> Iterator[Text]:
    """Who waits for it; nothing where nobody does."""
    if blocked:
        yield Text(f"  blocks {_listed([f'{one.pid} ({one.application_name or one.user})' for one in blocked])}")


def prepared(report: Report) -> Iterator[Text]:
    """The prepared transactions: each holds vacuum back, and keeps its locks, until it is ended by its gid."""
    if not report.prepared:
        return
    many = len(report.prepared) > 1
    number = (
        f"{len(report.prepared):,} prepared transactions, of no session, hold" if many else "1 prepared transaction"
    )
    yield Text()
    yield Text(f"{number} vacuum back" if many else f"{number}, of no session, holds vacuum back")
    for one in report.prepared:
        since = "" if one.seconds is None else f", prepared {ago(one.seconds)} ago"
        yield Text.assemble((f'"{printable(one.name)}"', "bold"), printable(f" of user {one.user}{since}"))
        yield from blocks(report.blocked_by_prepared(one))
        for line in one.remedy.splitlines():
            yield Text(f"  {printable(line)}", "" if line.startswith("--") else "bold")


def _named(report: Report, pid: int) -> str:
    """`4242 (report-job)`."""
    if pid == PREPARED:
        return "a prepared transaction"
    name = next((one.application_name or one.user for one in report.blocking.blockers if one.pid == pid), "")
    return f"{pid} ({name})" if name else str(pid)


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return printable(", ".join(names[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")
