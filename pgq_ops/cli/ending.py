"""How a command ends: with an exit code, and where it failed with one message and no traceback."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from pgq_ops.cli.terminal_safe import terminal_safe

if TYPE_CHECKING:
    from collections.abc import Callable

INTERNAL_ERROR = 4
NOT_WRITTEN = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
DEBUG_VARIABLE = "PGQ_OPS_DEBUG"


def exit_code(command: Callable[[], object]) -> int:
    """Run a command and return its exit code; what went wrong is told on stderr, without secrets."""
    try:
        try:
            command()
        finally:
            if sys.stdout is not None:  # closed by whoever started us: a service needs none
                sys.stdout.flush()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _not_written(error)
    except Exception as error:  # noqa: BLE001 (whatever it is, no traceback reaches a user)
        return _failed(error)
    return 0


def _not_written(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        code = BROKEN_PIPE
    elif error.errno in _NO_ROOM:
        tell(f"Error: the output could not be written: {error.strerror}")
        code = NOT_WRITTEN
    else:
        return _failed(error)
    # Else the interpreter would flush once more at its end, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _failed(error: Exception) -> int:
    # Only a failed command pays for these.
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.logs import masked

    if isinstance(error, PgqOpsError):
        tell(f"Error: {masked(str(error))}")
        return error.exit_code
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        tell(masked("".join(traceback.format_exception(error))).rstrip())
    what = " ".join(masked(str(error)).split())
    kind = type(error).__name__
    hint = "" if os.environ.get(DEBUG_VARIABLE) else f" (set {DEBUG_VARIABLE}=1 for details)"
    tell(f"internal error: {kind}{': ' if what else ''}{what}{hint}")
    return INTERNAL_ERROR


def tell(message: str) -> None:
    """Write a line for the person, on stderr: stdout belongs to the command's result."""
    if sys.stderr is not None:  # else print() would take stdout
        print(terminal_safe(message, sys.stderr), file=sys.stderr)  # noqa: T201 (this is what print is for)
