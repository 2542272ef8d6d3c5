"""The Markdown pages of the repository: their code blocks, and what is quoted in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
# docs/design tells what the whole of pgq-ops is to be, so it names what no version has yet.
_DESIGN = ROOT / "docs" / "design"
PAGES = tuple(
    page
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "alerts").rglob("*.md"))
    if page.parent != _DESIGN
)

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
# Also durations such as 2m50s, and dates: whatever differs from run to run.
_NUMBER = re.compile(r"\b\d[\d.,:-]*(?:(?:ms|[dhms])\d*)*\b")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Step:
    """A command that a `console` block shows, and what is shown of its output."""

    command: str
    output: tuple[str, ...]


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of one language, in their order."""
    return [text for marked, text in _BLOCK.findall(page.read_text(encoding="utf-8")) if marked == language]


def steps(page: Path) -> list[Step]:
    """The commands of all `console` blocks: the lines that begin with a `$`."""
    found = []
    for block in blocks(page, "console"):
        for part in block.removeprefix("$ ").split("\n$ "):
            command, *output = part.rstrip("\n").split("\n")
            found.append(Step(command, tuple(output)))
    return found


def quoted(page: Path) -> set[str]:
    """What stands between single backticks, and the lines of blocks without a language."""
    text = page.read_text(encoding="utf-8")
    lines = {line for block in blocks(page, "") for line in block.splitlines()}
    return set(_QUOTED.findall(_BLOCK.sub("", text))) | lines


def shape(line: str) -> str:
    """The line without its numbers and its columns' widths."""
    return _SPACES.sub(" ", _NUMBER.sub("#", line)).strip()
