"""Which file a purge exports a job table's dead letters to."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgq_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

# A name in the config may be anything; a file name of 255 bytes is the longest that there is.
_LONGEST = 60


def export_files(names: Sequence[str], export: Path | None) -> dict[str, Path]:
    """The file of each job table, in the working folder unless one is named.

    Raises UsageError where one file was named for several job tables.
    """
    if export == Path("-"):
        raise UsageError("--export needs a file: what is on stdout is not yet safe when the jobs are deleted")
    if export is not None:
        if len(names) > 1:
            raise UsageError(f"--export names one file, and there are {len(names)} job tables: name one of them")
        return dict.fromkeys(names, export.absolute())
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    files: dict[str, Path] = {}
    for name in dict.fromkeys(names):
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:_LONGEST]
        path = Path(f"dead-{plain}-{now}.jsonl").absolute()
        # Names that differ only in what a file name does not keep.
        number = sum(other.name.startswith(path.stem) for other in files.values())
        files[name] = path.with_stem(f"{path.stem}-{number + 1}") if number else path
    return files
