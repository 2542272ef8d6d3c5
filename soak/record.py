"""The workers' record: a file a worker, only ever added to, one line an event, outside the database.

An attempt leaves two lines. The intent is written before the statement is sent, the outcome once its commit was
answered. A worker that is killed in between, or loses its connection, leaves an intent alone: what it wanted may have
happened or not, and either is right.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Pen:
    """Writes one worker's file. Each line is one write, so that a kill leaves it whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._numbers = count(1)

    def intent(self, table: str, action: str, job: int | None = None, version: int | None = None, jobs: int = 0) -> int:
        """Write down what is about to be tried; returns the attempt's number. `jobs`: how many are to be enqueued."""
        number = next(self._numbers)
        self._write({"n": number, "table": table, "do": action, "job": job, "version": version, "jobs": jobs})
        return number

    def outcome(self, number: int, rows: list[tuple[Any, ...]]) -> None:
        """Write down the rows that the committed statement returned."""
        self._write({"n": number, "rows": rows})

    def unknown(self, number: int, error: str) -> None:
        """Write down that the statement was answered by an error."""
        self._write({"n": number, "error": error})

    def _write(self, entry: dict[str, Any]) -> None:
        os.write(self._file, (json.dumps(entry, separators=(",", ":")) + "\n").encode())


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a worker; `rows` is what was returned, None where the outcome is unknown."""

    worker: str
    table: str
    action: str
    job: int
    version: int
    jobs: int
    rows: tuple[tuple[int, ...], ...] | None
    error: str = ""


def read(folder: Path) -> Iterator[Attempt]:
    """Every attempt in the folder's files, of each worker in its order."""
    for path in sorted(folder.glob("*.record")):
        intents: dict[int, dict[str, Any]] = {}
        outcomes: dict[int, dict[str, Any]] = {}
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            (intents if "do" in entry else outcomes)[entry["n"]] = entry
        for number, intent in intents.items():
            outcome = outcomes.get(number, {})
            rows = outcome.get("rows")
            yield Attempt(
                path.stem,
                intent["table"],
                intent["do"],
                intent["job"] or 0,
                intent["version"] or 0,
                intent["jobs"],
                None if rows is None else tuple(tuple(row) for row in rows),
                outcome.get("error", ""),
            )
