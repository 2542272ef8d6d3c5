"""The breaks, as they stand in list.toml beside this file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Break:
    """One break: in `file`, the text `find`, which must be there once, becomes `replace`.

    `breaks` says what is then wrong. `tests` are the files and tests that should notice.
    """

    name: str
    file: str
    find: str
    replace: str
    breaks: str
    tests: tuple[str, ...]

    def occurrences(self, tree: Path = ROOT) -> int:
        """How often the text is in the file."""
        path = tree / self.file
        return path.read_text(encoding="utf-8").count(self.find) if path.is_file() else 0

    def broken(self, text: str) -> str:
        """The file's text with the break in it."""
        return text.replace(self.find, self.replace)


def all_breaks() -> tuple[Break, ...]:
    """Every break of the list, in its order."""
    table = tomllib.loads((Path(__file__).parent / "list.toml").read_text(encoding="utf-8"))
    return tuple(Break(**{**entry, "tests": tuple(entry["tests"])}) for entry in table["break"])
