"""A dead letter's record as lines of a terminal: a word and its value, long texts below their word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.job_table.queue_labels import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def lines(records: Sequence[str]) -> Iterator[Text]:
    """The records (JSON texts), with an empty line between two. Nothing is cut."""
    for number, record in enumerate(records):
        if number:
            yield Text()
        # Numbers are shown as they are written, not as a float would have them.
        found: dict[str, Any] = json.loads(record, parse_float=str, parse_int=str)
        age = found.pop("age_seconds")
        found["queue"] = shown(found["queue"])
        size = max(map(len, found))
        for word, value in found.items():
            first, *rest = _text(value)
            if word == "finished_at" or (word == "created_at" and "finished_at" not in found):
                first += "" if age is None else f"  ({ago(float(age))} ago)"
            yield Text.assemble((f"{word:<{size}}", "dim"), "  ", printable(first))
            yield from (Text(f"{' ' * size}  {printable(line)}") for line in rest)


def _text(value: Any) -> list[str]:  # noqa: ANN401 (whatever JSON holds)
    """The value's lines; at least one."""
    if value is None:
        return ["-"]
    if isinstance(value, str):
        return value.split("\n")
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "\n".join(value).split("\n")
    return json.dumps(value, ensure_ascii=False, indent=2).split("\n")
