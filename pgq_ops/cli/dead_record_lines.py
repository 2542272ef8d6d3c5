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


class _Number(str):
    """A number as it is written, which a float might not hold."""

    __slots__ = ()


def lines(records: Sequence[str]) -> Iterator[Text]:
    """The records (JSON texts), with an empty line between two. Nothing is cut."""
    for number, record in enumerate(records):
        if number:
            yield Text()
        found: dict[str, Any] = json.loads(record, parse_float=_Number, parse_int=_Number)
        age, since = found.pop("age_seconds"), found.pop("age_since")
        found["queue"] = shown(found["queue"])
        size = max(map(len, found))
        for word, value in found.items():
            first, *rest = _text(value, joined=word == "error")
            if word == since:
                first += f"  ({ago(float(age))} ago)"
            yield Text.assemble((f"{word:<{size}}", "dim"), "  ", printable(first))
            yield from (Text(f"{' ' * size}  {printable(line)}") for line in rest)


def _text(value: Any, *, joined: bool) -> list[str]:  # noqa: ANN401 (whatever JSON holds)
    """The value's lines, at least one: of a text its own, of texts in an array (`joined`) theirs, else JSON."""
    if value is None:
        return ["-"]
    if isinstance(value, str):
        return value.split("\n")
    if joined and isinstance(value, list) and value and all(type(part) is str for part in value):
        return "\n".join(value).split("\n")
    return _json(value, "").split("\n")


def _json(value: Any, indent: str) -> str:  # noqa: ANN401 (whatever JSON holds)
    """The value as JSON, indented by two spaces a level."""
    if isinstance(value, _Number):
        return str(value)
    if not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    deeper = f"{indent}  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {_json(part, deeper)}" for name, part in value.items()]
        opening, closing = "{", "}"
    else:
        parts = [_json(part, deeper) for part in value]
        opening, closing = "[", "]"
    lines = f",\n{deeper}".join(parts)
    return f"{opening}\n{deeper}{lines}\n{indent}{closing}"
