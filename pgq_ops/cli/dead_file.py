"""Where records go: stdout, or a new file that has its name only once it is whole."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pgq_ops.cli.ending import tell
from pgq_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

STDOUT = "-"
_OPENING = '{"dead_letters": [\n'


@dataclass(slots=True)
class RecordFile:
    """Writes records (JSON texts of one line): as JSON lines, or as the list of one document."""

    stream: TextIO
    as_document: bool
    records: int = 0

    def write(self, record: str) -> None:
        """Write one record."""
        if self.as_document:
            self.stream.write(f",\n{record}" if self.records else f"{_OPENING}{record}")
        else:
            self.stream.write(f"{record}\n")
        self.records += 1

    def end(self) -> None:
        """Write what stands after the last record."""
        if self.as_document:
            self.stream.write("\n]}\n" if self.records else f"{_OPENING}]}}\n")
        self.stream.flush()


@contextmanager
def destination(output: str, form: str) -> Iterator[RecordFile]:
    """A file that is made, readable by its owner alone, or stdout for `-`.

    What ends in an error is left under the name with `.part` behind it, if anything was written. Raises UsageError
    where there is such a file already, or none can be made.
    """
    if output == STDOUT:
        file = RecordFile(sys.stdout, as_document=form == "json")
        yield file
        file.end()
        return
    path, part = Path(output), Path(f"{output}.part")
    if path.exists():
        raise UsageError(f"{output} is there already: name a new file")
    try:
        stream = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")
    except FileExistsError:
        raise UsageError(f"{part} is there already, from an export that was cut short: move it away") from None
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    file = RecordFile(stream, as_document=form == "json")
    try:
        with stream:
            yield file
            file.end()
            os.fsync(stream.fileno())
        part.rename(path)
    except BaseException:
        if file.records:
            tell(f"what was written until then is in {part}")
        else:
            part.unlink()
        raise
